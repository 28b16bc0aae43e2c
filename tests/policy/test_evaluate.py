"""What is computed while rules run: no more than they read, and each evaluation with what it saw."""

import gc
import weakref
from typing import Any

from webhook import catalog
from webhook.admission.decision import GroupVersionKind
from webhook.cel.program import Budget
from webhook.manifests import documents
from webhook.policy import Inputs, Policy, PolicyScope, Prepared, compile_policy, parse_policy

MODEL = catalog.load().kinds[GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")]
POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: p}
spec:
  target: {group: inference.llmkube.dev, versions: [v1alpha1], kind: Model}
  variables:
  - {name: wanted, expression: "object.spec.source == 'x'"}
  - {name: dear, expression: "facts.dear == 'y'"}
  - {name: both, expression: "variables.wanted && variables.dear"}
  validations:
  - {code: XX201, at: spec.source, rule: variables.both, message: m, docs: d}
  - {code: XX202, at: "spec.files[*]", rule: "self.matches('^[a-z]+$')", message: m, docs: d}
"""


def policy() -> Policy:
    (document,) = documents.parse(POLICY, "p.yaml")
    return compile_policy(parse_policy(document), document, Inputs(MODEL.schema, {"dear": {"type": "string"}}))


def scope(spec: dict[str, Any], budget: Budget) -> tuple[PolicyScope, list[str]]:
    asked: list[str] = []

    def fact(name: str) -> str:
        asked.append(name)
        return "y"

    prepared = Prepared(policy(), MODEL.schema)
    return PolicyScope(prepared, {"object": {"spec": spec}, "oldObject": None}, fact, budget), asked


def test_what_is_not_reached_is_not_computed():
    here, asked = scope({"source": "z"}, Budget())
    rule = policy().validations[0].rule
    assert here.value(rule, here.at("z")) is False
    assert asked == []


def test_what_is_reached_is_computed_once():
    here, asked = scope({"source": "x"}, Budget())
    rule = policy().validations[0].rule
    assert [here.value(rule, here.at("x")) for _ in range(2)] == [True, True]
    assert asked == ["dear"]


def test_costs_are_counted_with_what_each_evaluation_saw():
    """They are settled later, when another node's turn has come long since."""
    rule = policy().validations[1].rule
    files = ["a", "b" * 400, "c"]
    exact = 0
    for each in files:
        alone = Budget()
        here, _ = scope({}, alone)
        here.value(rule, here.at(each))
        exact += alone.spent
    together = Budget()
    here, _ = scope({}, together)
    for each in files:
        here.value(rule, here.at(each))
    assert together.spent == exact


def test_costs_are_counted_before_very_much_is_remembered():
    rule = policy().validations[1].rule
    budget = Budget()
    here, _ = scope({}, budget)
    remembered = set()
    for _ in range(25_000):
        here.value(rule, here.at("a"))
        remembered.add(len(budget.noted))
    assert max(remembered) == 10_001
    alone = Budget()
    here, _ = scope({}, alone)
    here.value(rule, here.at("a"))
    assert budget.spent == 25_000 * alone.spent


def test_nothing_of_a_request_outlives_it():
    """A circle would wait for the collector, which comes by rarely, with the largest object that there was."""
    here, _ = scope({"source": "x"}, Budget())
    rule = policy().validations[0].rule
    gc.disable()
    try:
        here.value(rule, here.at("x"))
        gone = weakref.ref(here)
        del here
        assert gone() is None
    finally:
        gc.enable()
