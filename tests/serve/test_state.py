"""The parts of a gate's state, by themselves: why it is not ready, what it is known by, and what has no rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from tests.catalog.test_installed import changed, with_prefetch
from tests.serve.test_app import a_review
from tests.serve.test_pace import EVERYTHING, policies
from tests.vap.documents import binding, policy
from webhook import catalog
from webhook.admission import GroupVersionKind, review
from webhook.admission.errors import NotReady
from webhook.catalog import Catalog, Kinds
from webhook.engine import policyset
from webhook.ground.budget import Stretch
from webhook.serve.gate import Gate
from webhook.serve.gate import pace as paces
from webhook.serve.gate import state as states
from webhook.serve.gate.pace import OverrunError, Pace
from webhook.serve.gate.state import NativePolicies, Readiness
from webhook.serve.gate.uncovered import Uncovered
from webhook.serve.metrics import Metrics

LOADED = catalog.load()
EMPTY = Catalog(Kinds({}), "digest")
MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Seconds of CPU, which a test moves on; a review has half a second of each clock, a quarter with policies."""
    seconds = [5.0]
    monkeypatch.setattr(paces, "time", SimpleNamespace(thread_time=lambda: seconds[0]))
    monkeypatch.setattr(paces, "AT_ONCE", 0.5)
    monkeypatch.setattr(paces, "WITH_POLICIES", 0.25)
    return seconds


def test_a_review_has_so_much_time_by_the_clock_and_then_as_much_of_cpu(cpu: list[float]) -> None:
    pace = Pace(lambda: 0.0)
    pace.begin(1.0)
    cpu[0] = 3.0
    pace.look(1.5, "in time")
    cpu[0] = 9.0
    pace.look(1.75, "the first look: CPU counts from here")
    cpu[0] = 99.0
    pace.look(2.25, "not yet due")
    cpu[0] = 9.25
    pace.look(2.5, "the half is left")
    cpu[0] = 99.0
    pace.look(2.75, "not yet due")
    cpu[0] = 9.5
    with pytest.raises(OverrunError, match="rule X"):
        pace.look(3.0, "rule X")
    pace.begin(3.0)
    pace.look(4.0, "the next review begins anew")
    cpu[0] = 9.75
    pace.look(5.0, "a quarter")


def test_what_takes_long_at_a_stretch_is_not_begun_while_others_wait(cpu: list[float]) -> None:
    pace = Pace(lambda: 1.0)
    pace.begin(1.0)
    pace("Deployment")
    with pytest.raises(OverrunError, match="Deployment"):
        pace(Stretch("Deployment"))
    assert cpu == [5.0]


def test_with_policies_a_review_has_less_from_then_on_and_the_next_has_not(cpu: list[float]) -> None:
    now = [1.0]
    pace = Pace(lambda: now[0])
    pace.begin(1.0)
    now[0] = 1.25
    pace.hurry()
    for now[0], cpu[0], words in ((1.5, 5.75, "not due"), (1.75, 6.0, "begins the count"), (2.0, 6.125, "not due")):
        pace(words)
    cpu[0] = 6.25
    now[0] = 2.125
    with pytest.raises(OverrunError):
        pace("policies")
    pace.begin(3.0)
    pace.look(3.5, "the usual time")
    pace.look(3.75, "begins the count")
    cpu[0] = 6.5
    pace.look(4.5, "the usual time")


def test_a_kind_without_rules_is_said_once_and_twenty_of_them(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    uncovered = Uncovered(metrics.uncovered)
    for number in range(21):
        for _ in range(2):
            uncovered.add(GroupVersionKind("g", "v1", f"K{number}\n{'k' * 300}"), LOADED)
    assert len(uncovered.texts) == len(caplog.records) == 20
    named = [line for line in metrics.text().decode().splitlines() if line.startswith("modelgate_kind_without_rules{")]
    assert len(named) == 20
    assert all(line.endswith("} 1.0") for line in named)
    assert {len(line.partition('kind="')[2].partition('"')[0].replace("\\\\", "\\")) for line in named} == {200}
    uncovered.clear()
    assert uncovered.texts == ()
    assert "modelgate_kind_without_rules{" not in metrics.text().decode()
    first = GroupVersionKind("g", "v1", f"K0\n{'k' * 300}")
    uncovered.add(first, LOADED)
    assert (len(uncovered.texts), len(caplog.records)) == (1, 20)  # in the log it is already
    for _ in range(2):
        uncovered.clear()
    uncovered.add(first, LOADED)
    assert len(caplog.records) == 21


@pytest.mark.parametrize(
    ("gvk", "text"),
    [
        (
            GroupVersionKind("apps", "v1", "Deployment"),
            "nothing has rules for it; give its pack by --policies",
        ),
        (
            MODEL._replace(version="v9"),
            "only v1alpha1 of it has rules; add this version to its policies",
        ),
    ],
)
def test_what_is_said_of_a_kind_without_rules(gvk: GroupVersionKind, text: str) -> None:
    uncovered = Uncovered(Metrics().uncovered)
    uncovered.add(MODEL, LOADED)
    assert "Model.v1alpha1.inference.llmkube.dev is judged by its schema alone: only v1alpha1 of it has" in str(
        uncovered.texts
    )
    uncovered.clear()
    uncovered.add(gvk, LOADED)
    assert uncovered.texts == (f"called for {gvk}, which is allowed unread: {text}, or take it out of the webhooks",)


def test_a_gate_says_why_it_is_not_ready() -> None:
    gate = Gate(needs=[lambda: ["no certificate", "no keys"], list])
    assert gate.unready() == ["the catalog of kinds and rules is not loaded", "no certificate", "no keys"]
    with pytest.raises(NotReady, match="the catalog of kinds and rules is not loaded yet"):
        gate.state.ready()
    gate.use(EMPTY)
    assert gate.state.ready() is not None
    assert gate.unready() == ["no certificate", "no keys"]
    gate.refuse("rules", "rules: a is wrong")
    assert gate.state.waiting == frozenset()
    gate.refuse("policies", "policies: b is wrong", first=True)
    gate.replace(waiting=gate.state.waiting | {"extras"})
    assert gate.unready()[:2] == ["the extras are not loaded", "policies: b is wrong"]
    assert gate.readiness.refused == "rules: a is wrong; policies: b is wrong"
    with pytest.raises(NotReady, match="the extras and policies are not loaded yet"):
        gate.state.ready()
    gate.accept("policies")
    assert gate.unready()[0] == "the extras are not loaded"
    gate.accept("extras")
    gate.accept("never refused")
    assert gate.readiness.refused == "rules: a is wrong"
    assert gate.unready() == ["no certificate", "no keys"]
    gate.readiness.draining = True
    assert gate.unready()[-1] == "stopping: other replicas answer now"


def test_without_faults_a_gate_is_ready() -> None:
    gate = Gate(EMPTY)
    assert gate.unready() == []
    assert Readiness().refused == ""


def about(plural: str, subresource: str = "") -> Any:
    body = a_review()
    body["request"]["resource"]["resource"] = plural
    body["request"]["subResource"] = subresource
    return review.decode(orjson.dumps(body))[1]


def native(folder: Path) -> NativePolicies:
    policies(
        folder,
        "true",
        matchConstraints={"resourceRules": [{**EVERYTHING["resourceRules"][0], "resources": ["deployments"]}]},
    )
    return NativePolicies.of(EMPTY, policyset.load(folder))


def test_policies_are_asked_about_a_resource_once_and_a_thousand_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "CONCERNED", 3)
    found = native(tmp_path)
    assert found.affords("validate", about("deployments")) is not None
    assert found.affords("mutate", about("deployments")) is None
    assert found.affords("validate", about("others")) is None
    assert found.affords("validate", about("deployments", "scale")) is not None
    assert len(found.concerned) == 1, "the table was full, and begins anew"
    assert found.affords("validate", about("others")) is None
    assert len(found.concerned) == 2


def test_each_part_of_what_a_request_is_about_has_its_own_answer_which_is_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, request, asked = native(tmp_path), about("deployments"), []
    affordable = type(found.policies.policies).affordable

    def counted(self: Any, *given: Any, **more: Any) -> Any:
        asked.append(given)
        return affordable(self, *given, **more)

    monkeypatch.setattr(type(found.policies.policies), "affordable", counted)
    others = [
        replace(request, kind=request.kind._replace(group="g")),
        replace(request, kind=request.kind._replace(version="v")),
        replace(request, resource="r"),
        replace(request, resource_api=("g", "v")),
        replace(request, subresource="s"),
    ]
    for number, each in enumerate([request, *others], 1):
        for _ in range(2):
            found.affords("validate", each)
            assert len(asked) == number
    found.affords("mutate", request)
    assert len(asked) == 7


def test_a_policy_concerns_a_resource_in_either_call(tmp_path: Path) -> None:
    found = native(tmp_path)
    assert found.concerns(about("deployments"))
    assert not found.concerns(about("others"))
    rules = {"resourceRules": [{**EVERYTHING["resourceRules"][0], "resources": ["others"]}]}
    change = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    mutating = policy("q", mutating=True, matchConstraints=rules, mutations=[change]), binding("q", mutating=True)
    for document in mutating:
        (tmp_path / f"{document['kind']}.json").write_text(json.dumps(document))
    both = NativePolicies.of(EMPTY, policyset.load(tmp_path))
    assert both.concerns(about("others"))


def test_a_review_is_begun_beside_others_as_long_as_its_policies_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, request, body = native(tmp_path), about("deployments"), b"{}"
    hurried: list[int] = []
    pace = SimpleNamespace(hurry=lambda: hurried.append(1))
    afforded = found.affords("validate", request)
    assert afforded is not None
    found.allow("validate", about("others"), body, pace)  # type: ignore[arg-type]
    assert not hurried
    weight = [afforded]
    monkeypatch.setattr(type(found.policies.policies), "weight", lambda _self, _body: weight[0])
    found.allow("validate", request, body, pace)  # type: ignore[arg-type]
    assert hurried == [1]
    weight[0] += 1
    with pytest.raises(OverrunError, match="admission policies"):
        found.allow("validate", request, body, pace)  # type: ignore[arg-type]
    assert hurried == [1]


def test_policies_are_prepared_once_for_each_catalog_and_set(tmp_path: Path) -> None:
    gate = Gate(EMPTY)
    assert gate.state.native is None
    policies(tmp_path, "true")
    loaded = policyset.load(tmp_path)
    gate.use_policies(loaded)
    first = gate.state.native
    assert first is not None
    gate.replace(waiting=frozenset())
    assert gate.state.native is first
    gate.use_policies(policyset.load(tmp_path))
    assert gate.state.native is not first
    second = gate.state.native
    gate.use(Catalog(Kinds({}), "another"))
    assert gate.state.native is not second
    assert gate.state.native is not None
    gate.replace(loaded=None)
    assert (gate.state.native, gate.state.catalog, gate.state.deviations) == (None, None, ())


def test_a_new_state_believes_no_stamp_of_the_old_one_unless_it_is_given() -> None:
    gate = Gate(EMPTY)
    old = gate.state
    gate.replace(waiting=frozenset())
    assert gate.state.recent is not old.recent
    assert gate.state.options.written == gate.state.recent.take
    assert gate.state.options.checkpoint is gate.state.pace
    given = old.recent.anew()
    gate.replace(recent=given)
    assert gate.state.recent is given


def test_a_definition_that_differs_counts_at_once() -> None:
    gate, document = Gate(LOADED), changed("Model", with_prefetch)
    gate.replace(definitions=lambda: [document])
    assert str(MODEL) in {str(each.kind) for each in gate.state.deviations}


def test_the_definitions_that_a_catalog_needs_are_named() -> None:
    assert Gate().state.definition_names() == (frozenset(), frozenset())
    names, _ = Gate(LOADED).state.definition_names()
    assert "models.inference.llmkube.dev" in names
