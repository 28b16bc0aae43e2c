"""From OpenAPI schemas to types: what exists for a rule, and how large it may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cel.types import DYN
from webhook.cel.typing.declarations import fields_of
from webhook.cel.typing.schematypes import MAX_REQUEST, declare, type_of_schema
from webhook.cel.values.nodes import escape, unescape

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "boolean"}, "bool"),
        ({"type": "integer"}, "int"),
        ({"type": "integer", "format": "int32"}, "int"),
        ({"type": "number"}, "double"),
        (TEXT, "string"),
        ({"type": "string", "format": "byte"}, "bytes"),
        ({"type": "string", "format": "duration"}, "google.protobuf.Duration"),
        ({"type": "string", "format": "date"}, "google.protobuf.Timestamp"),
        ({"type": "string", "format": "date-time"}, "google.protobuf.Timestamp"),
        ({"type": "string", "format": "datetime"}, "string"),
        ({"type": "string", "format": "uuid"}, "string"),
        ({"type": "string", "nullable": True}, "string"),
        ({"x-kubernetes-int-or-string": True}, "dyn"),
        ({"type": "array", "items": TEXT}, "list(string)"),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, "list(string)"),
        ({"type": "array", "items": {"type": "object"}}, "list(self.@idx)"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map(string, int)"),
        ({"type": "object", "additionalProperties": {"type": "object"}}, "map(string, self.@elem)"),
        ({"type": "object"}, "self"),
        ({"type": "object", "additionalProperties": True}, "self"),
    ],
)
def test_a_schema_has_its_cel_type(schema, expected):
    assert str(type_of_schema(schema, name="self")) == expected


@pytest.mark.parametrize(
    "schema", [{}, {"x-kubernetes-preserve-unknown-fields": True}, {"type": "array"}, {"type": "array", "items": {}}]
)
def test_what_has_no_type_does_not_exist_as_a_field(schema):
    assert declare(schema, name="self") is None
    assert type_of_schema(schema, name="self") == DYN
    parent = type_of_schema({"type": "object", "properties": {"child": schema, "text": TEXT}}, name="self")
    assert set(fields_of(parent)) == {"text"}


def test_fields_have_escaped_names_if_they_can_be_written():
    names = ["plain", "with-dash", "with.dot", "with/slash", "two__underscores", "namespace", "true", "1up", "@x", "ä"]
    declared = type_of_schema({"type": "object", "properties": dict.fromkeys(names, TEXT)}, name="self")
    assert list(fields_of(declared)) == [
        "plain",
        "with__dash__dash",
        "with__dot__dot",
        "with__slash__slash",
        "two__underscores__underscores",
        "__namespace__",
        "__true__",
    ]


@given(st.text(max_size=30))
def test_escaping_can_be_undone(name):
    escaped = escape(name)
    assert escaped is None or unescape(escaped) == name


def test_objects_are_named_by_their_place():
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"a-b": {"type": "object"}}}}
        },
    }
    items = fields_of(type_of_schema(schema, name="self"))["list"].params[0]
    assert (items.name, fields_of(items)["a__dash__b"].name) == ("self.list.@idx", "self.list.@idx.a__dash__b")


def test_a_resource_has_its_name_and_nothing_else_of_its_metadata():
    schema = {
        "type": "object",
        "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
    }
    for root in (
        type_of_schema(schema, is_root=True, name="self"),
        fields_of(
            type_of_schema(
                {"type": "object", "properties": {"embedded": {**schema, "x-kubernetes-embedded-resource": True}}},
                name="self",
            )
        )["embedded"],
    ):
        assert set(fields_of(root)) == {"apiVersion", "kind", "metadata"}
        assert set(fields_of(fields_of(root)["metadata"])) == {"name", "generateName"}
    assert set(fields_of(type_of_schema(schema, name="self"))) == {"metadata"}


@pytest.mark.parametrize(
    ("schema", "min_size", "max_elements"),
    [
        ({"type": "boolean"}, 4, 0),
        ({"type": "integer"}, 1, 0),
        (TEXT, 2, MAX_REQUEST - 2),
        ({"type": "string", "maxLength": 5}, 2, 20),
        ({"type": "string", "maxLength": -1}, 2, 0),
        ({"type": "string", "enum": ["a", "äbc"]}, 2, 4),
        ({"type": "string", "format": "byte", "maxLength": 5}, 2, 5),
        ({"type": "string", "format": "date"}, 12, 12),
        ({"type": "string", "format": "date-time"}, 21, 32),
        ({"type": "string", "format": "duration"}, 3, 32),
        ({"x-kubernetes-int-or-string": True, "maxLength": 5}, 1, 20),
        ({"type": "array", "items": TEXT}, 2, (MAX_REQUEST - 2) // 3),
        ({"type": "array", "items": TEXT, "maxItems": 5}, 2, 5),
        ({"type": "object", "additionalProperties": TEXT}, 2, (MAX_REQUEST - 2) // 8),
        ({"type": "object", "additionalProperties": TEXT, "maxProperties": 5}, 2, 5),
        ({"type": "object", "properties": {"ab": TEXT, "c": TEXT}, "required": ["ab"]}, 2 + 2 + 2 + 4, 0),
        ({"type": "object", "properties": {"ab": {**TEXT, "default": "x"}}, "required": ["ab"]}, 2, 0),
    ],
)
def test_a_schema_has_its_least_size_and_most_elements(schema, min_size, max_elements):
    declared = declare(schema, name="self")
    assert (declared.min_size, declared.max_elements) == (min_size, max_elements)


def test_how_often_a_value_occurs_in_a_request():
    assert declare({"type": "integer"}, name="self").occurrences == MAX_REQUEST // 2
