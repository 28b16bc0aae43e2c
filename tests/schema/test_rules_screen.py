"""Where one function says that all rules of a schema hold, the exact walk finds no error."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.engine.test_screen import mutant
from tests.policies.test_cases import files, read, target
from webhook.catalog import Catalog
from webhook.cel import RUNTIME_BUDGET
from webhook.cli.cases import run
from webhook.policy import Policy, Prepared
from webhook.schema import Structural

RULES = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "low": {"type": "integer"},
                "high": {"type": "integer"},
                "name": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
                "items": {
                    "type": "array",
                    "maxItems": 5,
                    "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]},
                },
                "part": {
                    "type": "object",
                    "nullable": True,
                    "properties": {"a": {"type": "integer"}},
                    "x-kubernetes-validations": [{"rule": "has(self.a)"}, {"rule": "self.a != 3"}],
                },
                "map": {
                    "type": "object",
                    "additionalProperties": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'b'"}]},
                },
            },
            "x-kubernetes-validations": [{"rule": "!has(self.low) || !has(self.high) || self.low <= self.high"}],
        }
    },
}
SPECS = {
    "nothing": ({}, True),
    "the rules of the object": ({"low": 1, "high": 2}, True),
    "a rule of the object that fails": ({"low": 3, "high": 2}, False),
    "a transition rule does not apply": ({"name": "x"}, True),
    "items that meet their rule": ({"items": [1, 2]}, True),
    "an item that does not": ({"items": [1, 0]}, False),
    "a null part": ({"part": None}, True),
    "a part that meets its rules": ({"part": {"a": 1}}, True),
    "a part that meets the first only": ({"part": {"a": 3}}, False),
    "a part whose rule cannot be evaluated": ({"part": {}}, False),
    "values that meet their rule": ({"map": {"x": "a"}}, True),
    "a value that does not": ({"map": {"x": "a", "y": "b"}}, False),
}
CHANGES = {
    "nothing to something": ({}, {"name": "x"}, True),
    "the same name": ({"name": "x"}, {"name": "x", "low": 1}, True),
    "another name": ({"name": "x"}, {"name": "y"}, False),
    "the same name, but a rule of the object fails": ({"name": "x"}, {"name": "x", "low": 3, "high": 2}, False),
}


def prepared(schema: Structural) -> Prepared:
    found = Prepared(Policy("", {}, (), ()), schema)
    found.prepare()
    return found


def whole(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}, "spec": spec}


@pytest.mark.parametrize(("spec", "holds"), SPECS.values(), ids=SPECS.keys())
def test_rules_hold_exactly_where_a_check_is_silent(spec: dict[str, Any], holds: bool):
    schema = Structural(RULES)
    obj = whole(spec)
    assert schema.decode(obj).is_clean
    assert prepared(schema).schema_rules_hold(obj, None, RUNTIME_BUDGET) is holds
    assert (schema.check(obj).errors == []) is holds


@pytest.mark.parametrize(("old", "new", "holds"), CHANGES.values(), ids=CHANGES.keys())
def test_transition_rules_hold_exactly_where_a_check_is_silent(old: dict[str, Any], new: dict[str, Any], holds: bool):
    schema = Structural(RULES)
    assert prepared(schema).schema_rules_hold(whole(new), whole(old), RUNTIME_BUDGET) is holds
    assert (schema.check(whole(new), whole(old)).errors == []) is holds


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_rules_that_hold_for_an_object_of_the_cases_give_no_error(file, loaded: Catalog):
    dice = random.Random(file.stem)
    for document in read(file):
        known = target(document, loaded)
        schema = known.schema
        loaded.prepared(known).prepare()
        for case in document.cases:
            given = run(case, known, loaded).request.object
            assert given is not None
            for obj in (given, *(mutant(given, dice) for _ in range(5))):
                decoded = schema.decode(obj)
                if decoded.is_clean:
                    checked = schema.check(decoded.object)
                    assert checked.of_schema == []
                    holds = loaded.prepared(known).schema_rules_hold(decoded.object, None, RUNTIME_BUDGET)
                    assert holds == (checked.errors == [])


def test_rules_that_cost_more_than_the_limit_do_not_hold():
    rules = prepared(Structural(RULES))
    obj = whole({"low": 1, "high": 2})
    assert rules.schema_rules_hold(obj, None, RUNTIME_BUDGET)
    assert not rules.schema_rules_hold(obj, None, 1)


@pytest.mark.parametrize("rule", [{"rule": "self ==", "message": "m"}, {"rule": "true", "optionalOldSelf": True}])
def test_a_schema_with_a_rule_that_needs_a_walk_has_no_function(rule: dict[str, Any]):
    schema = Structural({**RULES, "x-kubernetes-validations": [rule]})
    assert schema.rules_screen is None
    assert not prepared(schema).schema_rules_hold(whole({}), None, RUNTIME_BUDGET)
