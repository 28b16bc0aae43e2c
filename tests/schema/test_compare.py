"""Two schemas of one kind: what another definition lacks, adds and accepts."""

import pytest

from webhook.schema.compare import compare, is_same, lacks


def spec(**properties):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


TEXT = {"type": "string"}


def test_texts_and_the_order_of_required_fields_make_no_difference():
    ours = {**spec(a=TEXT, description=TEXT), "required": ["a", "b"]}
    theirs = {**spec(a={**TEXT, "description": "A."}, description=TEXT), "required": ["b", "a"], "title": "T"}
    assert is_same(ours, theirs)
    assert not is_same(ours, {**theirs, "required": ["a"]})
    assert not is_same(ours, spec(a=TEXT))


def test_a_path_stands_for_everything_below_it():
    ours = spec(a={"type": "object", "properties": {"b": TEXT}}, c={"type": "array", "items": spec(d=TEXT)})
    theirs = spec(c={"type": "array", "items": spec(e=TEXT)})
    found = compare(ours, theirs)
    assert found.lost == {("spec", "a"), ("spec", "c", "*", "spec", "d")}
    assert found.new == {("spec", "c", "*", "spec", "e")}
    assert not found.widened


@pytest.mark.parametrize(
    ("theirs", "lacking"),
    [
        (spec(a=TEXT, c={"type": "array", "items": spec(d=TEXT)}), False),
        (spec(a=TEXT, b=TEXT, c={"type": "array", "items": spec(d=TEXT, e=TEXT)}), False),
        (spec(c={"type": "array", "items": spec(d=TEXT)}), True),
        (spec(a=TEXT, c={"type": "array", "items": spec(e=TEXT)}), True),
        (spec(a=TEXT, c={"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}}), False),
        ({"type": "object"}, True),
    ],
)
def test_what_lacks_fields_has_lost_some(theirs, lacking):
    ours = spec(a=TEXT, c={"type": "array", "items": spec(d=TEXT)})
    assert lacks(theirs, ours) == lacking == bool(compare(ours, theirs).lost)


@pytest.mark.parametrize(
    ("ours", "theirs", "widened"),
    [
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, False),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, True),
        ({"enum": ["a"]}, {}, True),
        ({"enum": ["a", "b"]}, {"allOf": [{"enum": ["a", "c"]}, {"enum": ["a", "b", "c"]}]}, True),
        ({"enum": ["a", "b", "c"]}, {"allOf": [{"enum": ["a", "c"]}, {"enum": ["a", "b", "c"]}]}, False),
        ({}, {"enum": ["a"]}, False),
        ({"pattern": "^a"}, {"pattern": "^b"}, True),
        ({}, {"pattern": "^b"}, False),
        ({"minLength": 2}, {"minLength": 1}, True),
        ({"minLength": 2}, {}, True),
        ({"minLength": 1}, {"minLength": 2}, False),
        ({"maximum": 8}, {"maximum": 16}, True),
        ({"maximum": 8}, {"maximum": 4}, False),
        ({"type": "integer"}, {"type": "string"}, True),
        ({"type": "integer"}, {"x-kubernetes-int-or-string": True, "type": "integer"}, True),
        ({"format": "date-time"}, {}, True),
        ({"anyOf": [{"type": "integer"}]}, {"anyOf": [{"type": "string"}]}, True),
    ],
)
def test_a_field_is_widened_where_it_accepts_what_ours_refuses(ours, theirs, widened):
    assert compare(spec(a=ours), spec(a=theirs)).widened == ({("spec", "a")} if widened else set())
