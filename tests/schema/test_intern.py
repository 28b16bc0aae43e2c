"""Interning: equal parts of a schema become one object; the schema stays equal."""

from datetime import date
from typing import Any

import pytest

from tests.definitions import definitions
from webhook.schema.load import load_crd
from webhook.schema.node import build, distinct, intern_json
from webhook.schema.structural import Structural

PORT = {"type": "object", "properties": {"number": {"type": "integer", "default": 80}}}
TWICE = {"type": "object", "properties": {"a": PORT, "b": {"type": "array", "items": dict(PORT)}}}


def test_equal_parts_become_one():
    shared = intern_json(TWICE)
    assert shared == TWICE
    assert shared["properties"]["a"] is shared["properties"]["b"]["items"]
    assert TWICE["properties"]["a"] is not TWICE["properties"]["b"]["items"]


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0, False), (0.0, -0.0), ("1", 1), (None, "null")])
def test_parts_that_are_equal_only_in_python_stay_distinct(one, other):
    shared = intern_json([{"default": one}, {"default": other}])
    assert [repr(part["default"]) for part in shared] == [repr(one), repr(other)]


def _nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"properties": {"x": value}}
    return value


@pytest.mark.parametrize("value", [{"a": date(2026, 1, 1)}, {"a": 2**70}, {1: "a"}, {"a": "\ud800"}, _nested(150)])
def test_a_value_that_orjson_cannot_write_is_returned_unchanged(value):
    assert intern_json(value) is value


def test_a_schema_at_two_places_is_one_node():
    root = build(TWICE)
    assert root.properties["a"] is root.properties["b"].items
    assert len([*distinct(root)]) == 4  # the object, the list, the port, its number


def test_a_shared_default_is_pruned_for_each_place():
    """Equal schemas share a node, but a place with preserve-unknown-fields keeps more of the default."""
    leaf = {"type": "object", "default": {"known": 1, "more": 2}, "properties": {"known": {"type": "integer"}}}
    preserving = {**leaf, "x-kubernetes-preserve-unknown-fields": True}
    schema = Structural({"type": "object", "properties": {"a": leaf, "b": dict(leaf), "c": preserving}})
    assert schema.default({}) == {"a": {"known": 1}, "b": {"known": 1}, "c": {"known": 1, "more": 2}}


def test_the_installed_definitions_are_small_in_memory():
    """OME's CRDs contain a dozen pods: forty thousand schemas, of which a few hundred differ."""
    for document in definitions():
        for version in load_crd(document, trusted=True).versions.values():
            assert sum(1 for _ in distinct(version.schema.root)) < 600
