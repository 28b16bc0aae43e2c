"""What the short way says of a new object, the exact one says, too."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.engine.test_screen import mutant
from tests.policies.test_cases import files, read, target
from webhook.cel import RUNTIME_BUDGET
from webhook.cli.cases import run
from webhook.engine.catalog import Catalog
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
}


@pytest.mark.parametrize(("spec", "holds"), SPECS.values(), ids=SPECS.keys())
def test_rules_hold_exactly_where_a_check_is_silent(spec: dict[str, Any], holds: bool):
    schema = Structural(RULES)
    obj = {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}, "spec": spec}
    assert schema.is_decoded(obj)
    assert schema.rules_hold(obj, RUNTIME_BUDGET) is holds
    assert (schema.check(obj) == ([], [])) is holds


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_an_object_of_the_cases_that_is_decoded_and_meets_the_rules_has_no_errors(file, loaded: Catalog):
    dice = random.Random(file.stem)
    for document in read(file):
        known = target(document, loaded)
        schema = known.schema
        for case in document.cases:
            given = run(case, known, loaded).request.object
            assert given is not None
            for obj in (given, *(mutant(given, dice) for _ in range(5))):
                if schema.is_decoded(obj):
                    assert schema.decode(obj) == (obj, [])
                    assert schema.rules_hold(obj, RUNTIME_BUDGET) == (schema.check(obj) == ([], []))


def test_rules_that_cost_more_than_the_limit_do_not_hold():
    schema = Structural(RULES)
    obj = {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}, "spec": {"low": 1, "high": 2}}
    assert schema.rules_hold(obj, RUNTIME_BUDGET)
    assert not schema.rules_hold(obj, 1)
