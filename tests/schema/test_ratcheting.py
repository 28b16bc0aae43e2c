"""Ratcheting: an update may keep unchanged parts that are invalid."""

from __future__ import annotations

import pytest

from webhook.cel.program import Budget
from webhook.schema import Structural

MAPS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {
        "type": "object",
        "required": ["k"],
        "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 5}},
    },
}
ATOMIC = {"type": "array", "items": {"type": "integer", "maximum": 5}}
SETS = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}
PAIR = {
    "type": "object",
    "properties": {"x": {"type": "integer", "maximum": 5}, "y": {"type": "integer"}},
    "allOf": [{"properties": {"x": {"maximum": 4}}}],
}
GROW = {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "may only grow"}]}
EVEN = {"type": "integer", "x-kubernetes-validations": [{"rule": "self % 2 == 0", "message": "must be even"}]}


def check(node, new, old):
    return Structural({"type": "object", "properties": {"a": node, "b": {"type": "integer"}}}).check(new, old)[:2]


SCHEMA_ERRORS = {
    "changed": ({"type": "integer", "maximum": 5}, {"a": 8}, {"a": 9}, ["a"]),
    "unchanged": ({"type": "integer", "maximum": 5}, {"a": 9, "b": 1}, {"a": 9}, []),
    "1 and 1.0 are a change": ({"type": "number", "maximum": 0}, {"a": 1}, {"a": 1.0}, ["a"]),
    "an item of a map list, by its key": (
        MAPS,
        {"a": [{"k": "y", "v": 1}, {"k": "x", "v": 9}]},
        {"a": [{"k": "x", "v": 9}]},
        [],
    ),
    "a reordered map list is unchanged": (
        MAPS | {"maxItems": 1},
        {"a": [{"k": "y"}, {"k": "x"}]},
        {"a": [{"k": "x"}, {"k": "y"}]},
        [],
    ),
    "an item of an atomic list that changed": (ATOMIC, {"a": [9, 1]}, {"a": [9]}, ["a[0]"]),
    "an atomic list that did not change": (ATOMIC, {"a": [9], "b": 1}, {"a": [9]}, []),
    "nothing ratchets inside allOf of a changed object": (
        PAIR,
        {"a": {"x": 5, "y": 1}},
        {"a": {"x": 5, "y": 0}},
        ["<nil>", "a.x"],
    ),
    "allOf of an unchanged object": (PAIR, {"a": {"x": 5}, "b": 1}, {"a": {"x": 5}}, []),
    "duplicates, if there were any before": (SETS, {"a": [1, 1, 2]}, {"a": [3, 3]}, []),
    "duplicates, if there were none": (SETS, {"a": [1, 1]}, {"a": [1]}, ["a[1]"]),
}


@pytest.mark.parametrize(("node", "new", "old", "fields"), SCHEMA_ERRORS.values(), ids=SCHEMA_ERRORS)
def test_errors_of_the_schema(node, new, old, fields):
    errors, warnings = check(node, new, old)
    assert sorted(error.field for error in errors) == fields
    assert warnings == []


RULES = {
    "a failed rule of an unchanged value is a warning": (EVEN, {"a": 3, "b": 1}, {"a": 3}, [], ["a"]),
    "a failed rule of a changed value": (EVEN, {"a": 5}, {"a": 3}, ["a"], []),
    "a transition rule never ratchets": (GROW, {"a": 1}, {"a": 2}, ["a"], []),
    "a transition rule needs an old value": (GROW, {"a": 1}, {}, [], []),
    "no old value in an atomic list": (
        {"type": "array", "items": EVEN},
        {"a": [3, 2]},
        {"a": [3]},
        ["a[0]"],
        [],
    ),
    "old entries of a map": (
        {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": GROW},
        {"a": {"x": 1, "y": 1}},
        {"a": {"x": 2}},
        ["a[x]"],
        [],
    ),
}


@pytest.mark.parametrize(("node", "new", "old", "fields", "warned"), RULES.values(), ids=RULES)
def test_errors_of_rules(node, new, old, fields, warned):
    errors, warnings = check(node, new, old)
    assert [error.field for error in errors] == fields
    assert [warning.partition(":")[0] for warning in warnings] == warned


def rule(text, **more):
    return {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": text, **more}],
    }


MESSAGES = {
    "the rule itself": (rule(" self.x > 1 "), "a: Invalid value: failed rule: self.x > 1"),
    "a message": (rule("self.x > 1", message=" too small "), "a: Invalid value: too small"),
    "an expression": (rule("self.x > 1", messageExpression="'x is ' + string(self.x)"), "a: Invalid value: x is 1"),
    "an expression that fails": (
        rule("self.x > 1", message="too small", messageExpression="string(1 / (self.x - 1))"),
        "a: Invalid value: too small",
    ),
    "a reason and a path": (
        rule("self.x > 1", reason="FieldValueForbidden", fieldPath=".x"),
        "a.x: Forbidden: failed rule: self.x > 1",
    ),
    "a run-time error": (
        rule("1 / (self.x - 1) > 0"),
        'a: Invalid value: "object": division by zero evaluating rule: 1 / (self.x - 1) > 0',
    ),
}


@pytest.mark.parametrize(("node", "wanted"), MESSAGES.values(), ids=MESSAGES)
def test_the_error_of_a_failed_rule_has_its_message_and_reason(node, wanted):
    errors, _ = check(node, {"a": {"x": 1}}, None)
    assert [*map(str, errors)] == [wanted]


def test_rules_do_not_run_on_an_object_of_the_wrong_shape():
    errors, _ = check(EVEN, {"a": "x"}, None)
    assert [error.type for error in errors] == ["FieldValueTypeInvalid", "FieldValueInvalid"]
    assert "some validation rules were not checked" in errors[1].detail


def test_rules_stop_when_the_budget_is_spent():
    structural = Structural({"type": "object", "properties": {"a": EVEN, "b": EVEN}})
    errors = structural.check({"a": 1, "b": 1}, budget=Budget(1)).errors
    assert [*map(str, errors)] == [
        (
            'a: Invalid value: "integer": validation failed due to running out of cost budget, '
            "no further validation rules will be run"
        )
    ]
