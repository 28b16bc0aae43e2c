"""What takes long, or may do so, is not judged while others wait: by the clock, and by what admission policies cost."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.serve.test_app import a_review
from webhook import engine
from webhook.admission.errors import DeadlineExceeded
from webhook.catalog import Catalog, Kinds
from webhook.engine import Options, policyset
from webhook.serve.gate import Gate
from webhook.serve.gate import pace as paces
from webhook.serve.gate.state import AFFORDED

EVERYTHING = {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]}
API = "admissionregistration.k8s.io/v1"
CHEAP = "object.spec.?containers.orValue([]).all(c, c.image.matches('^registry.example/'))"
DEAR = (
    "object.metadata.annotations['a'].split(',').all(x, object.metadata.annotations['a'].split(',').exists(y, y == x))"
)


def policies(folder: Path, *expressions: str, **spec: Any) -> None:
    """A policy with these validations, and its binding."""
    validations = [{"expression": each} for each in expressions]
    policy = {"metadata": {"name": "p"}, "spec": {"matchConstraints": EVERYTHING, "validations": validations, **spec}}
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    for kind, document in (("ValidatingAdmissionPolicy", policy), ("ValidatingAdmissionPolicyBinding", binding)):
        (folder / f"{kind}.json").write_text(json.dumps({"apiVersion": API, "kind": kind, **document}))


def gate(folder: Path) -> Gate:
    made = Gate(catalog=Catalog(Kinds({}), "digest"))
    made.use_policies(policyset.load(folder))
    return made


def body(items: int = 3) -> bytes:
    review = a_review()
    review["request"]["object"]["metadata"]["annotations"] = {"a": ",".join(map(str, range(items)))}
    return orjson.dumps(review)


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each child."""
    found: list[int] = []
    fork = os.fork

    def counted() -> int:
        found.append(1)
        return fork()

    monkeypatch.setattr(os, "fork", counted)
    return found


def allowed(made: Gate, review: bytes) -> bool:
    return bool(orjson.loads(asyncio.run(made.reply("validate", review, 30)))["response"]["allowed"])


@pytest.mark.parametrize(
    "spec",
    [
        {"expressions": [DEAR]},
        {"expressions": ["variables.v"], "variables": [{"name": "v", "expression": DEAR}]},
        {"expressions": ["true"], "matchConditions": [{"name": "c", "expression": DEAR}]},
        {
            "expressions": ["variables.l.all(a, variables.l.all(b, a + b != '3'))"],
            "variables": [{"name": "l", "expression": "object.metadata.annotations['a'].split(',')"}],
        },
        {"expressions": ["true"], "auditAnnotations": [{"key": "k", "valueExpression": f"{DEAR} ? 'a' : 'b'"}]},
    ],
    ids=["validation", "variable", "condition", "nested", "annotation"],
)
def test_a_review_that_policies_make_expensive_is_judged_in_a_child_and_others_are_not(
    tmp_path: Path, children: list[int], spec: dict[str, Any]
) -> None:
    policies(tmp_path, *spec.pop("expressions"), **spec)
    made = gate(tmp_path)
    assert made.reply_now("validate", body(), 5) is not None
    assert allowed(made, body())
    assert not children
    assert made.reply_now("validate", body(600), 5) is None
    asyncio.run(made.reply("validate", body(600), 30))
    assert children


def test_a_loop_without_calls_that_holds_another_is_given_up_too(tmp_path: Path) -> None:
    lists = "object.spec.l.all(a, object.spec.l.all(b, object.spec.l.all(c, a != 1 || b != 1 || c != 1)))"
    policies(tmp_path, lists)
    review = json.loads(body())
    review["request"]["object"]["spec"] = {"l": [0] * 1500}
    assert gate(tmp_path).reply_now("validate", orjson.dumps(review), 5) is None


def test_what_no_interrupt_ends_is_not_begun(tmp_path: Path) -> None:
    words = "object.metadata.annotations['a'].split(',')"
    policies(tmp_path, f"!sets.contains(['x', 'y', 'z'], {words})")
    made = gate(tmp_path)
    made.clock = lambda: 0.0
    assert made.reply_now("validate", body(), 5) is not None
    assert made.reply_now("validate", body(10_000), 5) is None


def test_policies_about_other_resources_cost_nothing(tmp_path: Path, children: list[int]) -> None:
    other = {"resourceRules": [{**EVERYTHING["resourceRules"][0], "resources": ["other"]}]}
    policies(tmp_path, DEAR, matchConstraints=other)
    assert allowed(gate(tmp_path), body())
    assert not children


def test_the_child_decides_as_the_gate_does(tmp_path: Path) -> None:
    policies(tmp_path, DEAR, "object.metadata.annotations['a'] != '0'")
    made = gate(tmp_path)
    assert (allowed(made, body(30)), allowed(made, body(1))) == (True, False)


def slow(step: str):
    """A decision that takes until its checkpoint gives up."""

    def decide(_request: Any, _catalog: object, _view: object, options: Options) -> Any:
        for _ in range(50_000_000):
            options.checkpoint(step)
        raise AssertionError("the checkpoint never gives up")

    return decide


def test_a_review_that_takes_long_gets_its_deadline_in_a_child(
    monkeypatch: pytest.MonkeyPatch, children: list[int]
) -> None:
    monkeypatch.setattr(engine, "validate", slow("rule X"))
    made = Gate(catalog=Catalog(Kinds({}), "digest"))
    assert made.reply_now("validate", body(), 5) is None
    with pytest.raises(DeadlineExceeded, match="no time left"):
        asyncio.run(made.reply("validate", body(), 0.5))
    assert len(children) == 1


def test_what_the_short_way_has_given_up_is_not_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def decide(*given: Any) -> Any:
        begun.append(os.getpid())
        return slow("rule X")(*given)

    monkeypatch.setattr(engine, "validate", decide)
    made = Gate(catalog=Catalog(Kinds({}), "digest"))
    assert made.reply_now("validate", body(), 5) is None
    with pytest.raises(DeadlineExceeded):
        asyncio.run(made.reply("validate", bytes(bytearray(body())), 0.5))
    assert begun == [os.getpid()]
    with pytest.raises(DeadlineExceeded):
        asyncio.run(made.reply("validate", body(4), 0.5))
    assert begun == [os.getpid()] * 2, "another body is begun"


def test_the_time_of_one_review_does_not_count_for_the_next(children: list[int], loaded: Catalog) -> None:
    now = [0.0]
    made = Gate(catalog=loaded, clock=lambda: now[0])
    for _ in range(3):
        assert made.reply_now("validate", body(), 5) is not None
        asyncio.run(made.reply("validate", body(), 30))
        now[0] += 10 * paces.AT_ONCE
    assert not children


def test_the_bound_of_what_is_judged_at_once_is_low() -> None:
    assert AFFORDED <= 100_000
