"""Decoding as in the API server: default, prune, drop nulls, coerce metadata."""

from __future__ import annotations

import copy

import pytest

from webhook.schema import CoerceError, DecodeError, Structural

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
ANY = {"x-kubernetes-preserve-unknown-fields": True}
META = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"}}


def schema(**properties):
    return Structural({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})


def decode(structural, spec, **how):
    decoded, unknown, _ = structural.decode({**META, "spec": spec}, **how)
    return decoded["spec"], unknown


DEFAULTS = {
    "absent": ({"a": WHOLE | {"default": 1}}, {}, {"a": 1}),
    "present": ({"a": WHOLE | {"default": 1}}, {"a": 0}, {"a": 0}),
    "null counts as absent": ({"a": WHOLE | {"default": 1}}, {"a": None}, {"a": 1}),
    "null of a nullable field stays": ({"a": WHOLE | {"default": 1, "nullable": True}}, {"a": None}, {"a": None}),
    "default null is none": ({"a": WHOLE | {"default": None}}, {}, {}),
    "no parent is made for a nested default": (
        {"p": {"type": "object", "properties": {"a": WHOLE | {"default": 1}}}},
        {},
        {},
    ),
    "a default object gets nested defaults": (
        {"p": {"type": "object", "default": {}, "properties": {"a": WHOLE | {"default": 1}}}},
        {},
        {"p": {"a": 1}},
    ),
    "items of lists": (
        {"l": {"type": "array", "items": {"type": "object", "properties": {"a": WHOLE | {"default": 1}}}}},
        {"l": [{}, {"a": 2}]},
        {"l": [{"a": 1}, {"a": 2}]},
    ),
    "a null entry takes the default of additionalProperties": (
        {"m": {"type": "object", "additionalProperties": WHOLE | {"default": 7}}},
        {"m": {"x": None}},
        {"m": {"x": 7}},
    ),
    "unknown fields of a default are pruned first": (
        {"p": {"type": "object", "default": {"a": 1, "b": 2}, "properties": {"a": WHOLE}}},
        {},
        {"p": {"a": 1}},
    ),
}


@pytest.mark.parametrize(("properties", "spec", "wanted"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults_are_filled_in(properties, spec, wanted):
    assert decode(schema(**properties), spec)[0] == wanted


PRUNED = {
    "unknown field": ({"a": WHOLE}, {"a": 1, "b": 1}, {"a": 1}, ["spec.b"]),
    "inside items": (
        {"s": {"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}}},
        {"s": [{"a": "x", "t": 1}]},
        {"s": [{"a": "x"}]},
        ["spec.s[0].t"],
    ),
    "inside additionalProperties": (
        {"m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": TEXT}}}},
        {"m": {"k": {"b": 1}}},
        {"m": {"k": {}}},
        ["spec.m.k.b"],
    ),
    "preserved": ({"p": ANY}, {"p": {"x": {"y": [1]}}}, {"p": {"x": {"y": [1]}}}, []),
    "preserving is not inherited by specified children": (
        {"p": ANY | {"type": "object", "properties": {"c": {"type": "object", "properties": {"a": TEXT}}}}},
        {"p": {"x": 1, "c": {"a": "1", "b": 1}}},
        {"p": {"x": 1, "c": {"a": "1"}}},
        ["spec.p.c.b"],
    ),
    "null of a field that is not nullable is dropped": ({"a": WHOLE}, {"a": None}, {}, []),
    "null in a list stays": ({"l": {"type": "array", "items": WHOLE}}, {"l": [None]}, {"l": [None]}, []),
}


@pytest.mark.parametrize(("properties", "spec", "wanted", "paths"), PRUNED.values(), ids=PRUNED)
def test_unknown_fields_are_pruned_and_reported(properties, spec, wanted, paths):
    assert decode(schema(**properties), spec) == (wanted, paths)


def test_the_objects_own_type_and_metadata_are_never_pruned():
    obj = {**META, "metadata": {"name": "x", "unheardOf": 1}, "more": 1}
    decoded, unknown, _ = Structural({"type": "object"}).decode(obj)
    assert decoded == {**META, "metadata": {"name": "x", "unheardOf": 1}}
    assert unknown == ["more"]


def test_a_fresh_object_gets_its_metadata_decoded():
    obj = {**META, "metadata": {"name": "x", "unheardOf": 1, "creationTimestamp": None}}
    decoded, unknown, _ = Structural({"type": "object"}).decode_file(obj)
    assert decoded["metadata"] == {"name": "x"}
    assert unknown == ["metadata.unheardOf"]


EMBEDDED = {"e": ANY | {"type": "object", "x-kubernetes-embedded-resource": True}}


def test_metadata_of_embedded_resources_keeps_the_fields_of_object_meta():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "unheardOf": 1}, "spec": {"a": 1}}
    spec, unknown = decode(schema(**EMBEDDED), {"e": pod})
    assert spec == {"e": {**pod, "metadata": {"name": "x"}}}
    assert unknown == ["spec.e.metadata.unheardOf"]


def test_malformed_metadata_of_an_embedded_resource_is_refused():
    with pytest.raises(CoerceError, match=r"spec\.e\.metadata: .*ObjectMeta\.labels of type string"):
        decode(schema(**EMBEDDED), {"e": {"metadata": {"labels": {"a": 1}}}})


def test_malformed_metadata_of_a_stored_object_is_dropped():
    spec, _ = decode(schema(**EMBEDDED), {"e": {"kind": 5, "metadata": {"name": "x", "labels": 5}}}, drop_invalid=True)
    assert spec == {"e": {"metadata": {"name": "x"}}}


def test_an_unchanged_object_is_returned_by_identity():
    structural = schema(a=WHOLE | {"default": 1})
    obj = {**META, "spec": {"a": 5}}
    assert structural.decode(obj)[0] is obj
    assert structural.default(obj) is obj
    assert structural.prune(obj)[0] is obj
    assert structural.drop_nulls(obj) is obj


def test_a_changed_object_shares_unchanged_parts_and_the_original_does_not_change():
    structural = schema(a=WHOLE | {"default": 1}, p=ANY)
    obj = {**META, "spec": {"p": {"deep": [1]}, "unknown": 1}}
    before = copy.deepcopy(obj)
    decoded = structural.decode(obj).object
    assert obj == before
    assert decoded["metadata"] is obj["metadata"]
    assert decoded["spec"]["p"] is obj["spec"]["p"]


def test_two_objects_do_not_share_a_default():
    structural = schema(p={"type": "object", "default": {}, **ANY})
    first, second = (structural.default({**META, "spec": {}}) for _ in range(2))
    first["spec"]["p"]["changed"] = True
    assert second["spec"]["p"] == {}


def _nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [(_nested(5000), "nested too deeply"), (float("nan"), "out of range"), (10**400, "out of range")],
    ids=["deep", "NaN", "huge"],
)
def test_values_that_go_cannot_decode_are_refused(value, why):
    structural = schema(a=ANY)
    with pytest.raises(DecodeError, match=why):
        structural.decode({**META, "spec": {"a": value, "unknown": 1}})


def test_integers_beyond_64_bits_are_floats():
    decoded, _ = decode(schema(a={"type": "number"}), {"a": 2**63})
    assert isinstance(decoded["a"], float)


def test_many_unknown_fields_are_dropped_in_one_pass():
    spec, unknown = decode(schema(), {f"k{i}": 1 for i in range(100_000)})
    assert spec == {}
    assert len(unknown) == 100_000
