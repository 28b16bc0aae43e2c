"""A gate without a server: which reviews it answers at once, what it counts, and what a judgement says of itself."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from tests.enforcement.policies import degrees, enforcement, exception
from tests.serve.test_app import a_review
from tests.serve.test_noted import review as of_model
from tests.serve.test_pace import EVERYTHING, policies
from webhook import catalog, engine
from webhook.admission import Cause, Decision, GroupVersionKind
from webhook.admission.errors import DeadlineExceeded, Malformed, NotReady, TooLarge, Unavailable
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog, Kinds
from webhook.cluster import MemoryView
from webhook.enforcement import Degrees
from webhook.engine import Options, policyset
from webhook.engine.policyset import PolicySet
from webhook.policy import Profile
from webhook.serve.gate import Gate
from webhook.serve.gate import judgement as judgements
from webhook.serve.gate import pace as paces
from webhook.serve.gate.judgement import Judgement, judge, portable
from webhook.serve.gate.pace import OverrunError
from webhook.serve.metrics import Metrics

RULE = EVERYTHING["resourceRules"][0]
EMPTY = Catalog(Kinds({}), "digest")
LOADED = catalog.load()
STRANGER = orjson.dumps(a_review())
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def model(spec: Any) -> bytes:
    review = of_model()
    review["request"]["object"] = {**review["request"]["object"], "spec": spec}
    return orjson.dumps(review)


GOOD, BAD = model({"source": "https://example.com/m.gguf"}), model({"source": 1})


def judged(body: bytes, of: Catalog | None = LOADED, call: Any = "validate", **parts: Any) -> Judgement:
    return judge(Gate(of, **parts).state, call, body, {}, None)


def text(gate: Gate) -> str:
    return gate.metrics.text().decode()


@pytest.mark.parametrize(("patience", "answered"), [(None, True), (5.0, True), (1.0, True), (0.99, False)])
def test_a_caller_that_waits_a_second_or_more_is_answered_at_once(patience: float | None, answered: bool) -> None:
    assert (Gate(EMPTY).reply_now("validate", STRANGER, patience) is not None) == answered


def test_what_is_large_or_fails_is_not_answered_at_once_and_not_counted() -> None:
    gate = Gate(EMPTY)
    for body in (STRANGER + b" " * 300_000, b"{"):
        assert gate.reply_now("validate", body, 5) is None
    assert Gate().reply_now("validate", STRANGER, 5) is None
    assert not gate._lengthy
    assert 'modelgate_requests_total{call="validate"' not in text(gate)
    answer = gate.reply_now("validate", STRANGER, 5)
    assert answer is not None
    reply, count = answer
    assert orjson.loads(reply)["response"]["allowed"]
    assert 'modelgate_requests_total{call="validate"' not in text(gate)
    count()
    assert 'modelgate_requests_total{call="validate",kind="other",operation="CREATE",outcome="untouched"} 1.0' in text(
        gate
    )
    assert 'modelgate_kind_without_rules{kind="Deployment.v1.apps"} 1.0' in text(gate)


def test_an_answer_by_rules_that_are_replaced_meanwhile_is_counted_but_says_nothing_of_the_new_ones() -> None:
    gate = Gate(EMPTY)
    answer = gate.reply_now("validate", STRANGER, 5)
    assert answer is not None
    gate.use(LOADED)
    answer[1]()
    assert gate.uncovered.texts == ()
    assert 'outcome="untouched"} 1.0' in text(gate)


def test_of_what_the_short_way_gave_up_sixty_four_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    def decide(*_: object) -> Decision:
        raise OverrunError("rule X")

    monkeypatch.setattr(engine, "validate", decide)
    gate = Gate(EMPTY)
    for number in range(70):
        assert gate.reply_now("validate", orjson.dumps(a_review(uid=str(number))), 5) is None
    assert [*gate._lengthy] == [orjson.dumps(a_review(uid=str(number))) for number in range(6, 70)]


def test_an_error_is_counted_with_its_outcome_and_raised() -> None:
    gate = Gate(EMPTY)
    with pytest.raises(Malformed):
        asyncio.run(gate.reply("mutate", b"{", None))
    assert 'modelgate_requests_total{call="mutate",kind="",operation="",outcome="malformed"} 1.0' in text(gate)
    assert 'modelgate_request_seconds_count{call="mutate"} 1.0' in text(gate)


def test_a_review_without_time_ends_with_what_its_caller_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(paces, "time", SimpleNamespace(thread_time=lambda: 0.0))

    def decide(_request: object, _catalog: object, _view: object, options: Options) -> Decision:
        options.checkpoint("rule A")
        now[0] += 1.901
        options.checkpoint("rule B")
        raise AssertionError

    monkeypatch.setattr(engine, "validate", decide)
    gate = Gate(EMPTY, clock=lambda: now[0])
    with pytest.raises(DeadlineExceeded, match="no time left before rule B: the caller waits 2s"):
        asyncio.run(gate.reply("validate", STRANGER, 2))


def test_what_only_a_policy_is_about_has_a_verdict_and_what_none_is_about_has_not(tmp_path: Path) -> None:
    gate = Gate(EMPTY)
    policies(tmp_path, "false", matchConstraints={"resourceRules": [{**RULE, "resources": ["others"]}]})
    gate.use_policies(policyset.load(tmp_path))
    resource = {"group": "apps", "version": "v1", "resource": "others"}
    about, aside = orjson.dumps(a_review(resource=resource)), STRANGER
    assert [judge(gate.state, "validate", body, {}, None).outcome for body in (about, aside)] == ["denied", "untouched"]
    assert judge(gate.state, "validate", about, {}, None).uncovered is None
    assert gate.state.policies is not None
    assert f'modelgate_admission_policies_info{{digest="{gate.state.policies.digest}"}} 1.0' in text(gate)


def test_a_catalog_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "modelgate")
    metrics = Metrics()
    gate = Gate(metrics=metrics)
    assert gate.metrics is metrics
    for _ in range(2):
        gate.use(EMPTY)
        told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("catalog ")]
        assert told == [f"catalog {EMPTY.digest}: 0 kinds"]


def test_a_judgement_says_what_it_is_about() -> None:
    stranger = judged(STRANGER)
    assert (stranger.kind, stranger.operation, stranger.outcome) == ("other", "CREATE", "untouched")
    assert (stranger.uncovered, stranger.noted, stranger.namespace) == (DEPLOYMENT, None, "n")
    assert orjson.loads(judged(GOOD).reply)["response"]["auditAnnotations"].keys() == {"catalog", "decision"}
    assert "decision" not in orjson.loads(stranger.reply)["response"].get("auditAnnotations", {})
    assert judged(orjson.dumps(a_review(subResource="scale"))).uncovered is None
    good = judged(GOOD)
    assert (good.kind, good.outcome, good.uncovered, good.findings, good.unread) == ("Model", "allowed", None, (), ())
    assert good.made is not None
    assert good.made[0].name == "m"


@pytest.mark.parametrize(
    ("level", "noted"), [("DEBUG", (True, True)), ("INFO", (False, True)), ("WARNING", (False, False))]
)
def test_a_judgement_is_noted_as_the_log_wants_it(
    level: str, noted: tuple[bool, bool], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(level, "modelgate")
    assert tuple(judged(body).noted is not None for body in (GOOD, BAD)) == noted
    if noted[1]:
        line = judged(BAD).noted
        assert line is not None
        assert (line.call, line.outcome, line.kind) == ("validate", "denied", "Model")
        assert line.decision == orjson.loads(judged(BAD).reply)["response"]["auditAnnotations"]["decision"]


def test_findings_are_counted_by_what_came_of_them() -> None:
    spec = {"source": "hf://org/repo", "hardware": {"memoryFraction": 1.5}, "format": "none"}
    found = judged(
        model(spec), options=Options(degrees=degrees(exception(codes=["LK223"], names=["m"]), namespaces={}))
    )
    assert found.outcome == "denied"
    assert {("schema", "deny"), ("LK223", "except")} <= {*found.findings}
    assert [len(name) for name in found.exceptions] == [1]
    gate = Gate(LOADED, options=Options(degrees=degrees(exception(codes=["LK223"], names=["m"]))))
    asyncio.run(gate.reply("validate", model(spec), 30))
    assert f'modelgate_exceptions_used_total{{exception="{found.exceptions[0][0]}"}} 1' in text(gate)
    audited = judged(model(spec), options=Options(degrees=degrees(enforcement(action="audit", codes=["LK223"]))))
    assert ("LK223", "audit") in audited.findings
    assert audited.exceptions == ()
    assert ("LK223", "warn") in judged(model(spec)).findings


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Malformed("a"), "malformed"),
        (TooLarge("a"), "malformed"),
        (NotReady("a"), "unavailable"),
        (ValueError(), "fault"),
    ],
)
def test_an_error_has_an_outcome(error: Exception, outcome: str) -> None:
    found = Judgement.failed(error, "K", "CREATE")
    assert (found.outcome, found.kind, found.operation, found.error) == (outcome, "K", "CREATE", error)


def test_an_error_on_the_way_keeps_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(GOOD, None).kind == ""
    monkeypatch.setattr(engine, "validate", lambda *_: 1 / 0)
    found = judged(GOOD)
    assert (found.kind, found.operation, found.outcome) == ("Model", "CREATE", "fault")


def test_a_reply_may_have_exactly_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(judged(STRANGER).reply)
    monkeypatch.setattr(judgements, "REPLY_LIMIT", size)
    assert judged(STRANGER).error is None
    monkeypatch.setattr(judgements, "REPLY_LIMIT", size - 1)
    assert isinstance(judged(STRANGER).error, TooLarge)


def test_for_another_process_only_a_known_error_stays_as_it_is() -> None:
    good = judged(GOOD)
    assert portable(good) == good._replace(made=None)
    known = Judgement.failed(Unavailable("a"))
    assert portable(known) == known
    with pytest.raises(MemoryError):
        portable(Judgement.failed(MemoryError()))
    odd = portable(Judgement.failed(ValueError("secret")))
    assert str(odd.error) == "ValueError in a large review: see the log of the gate"
    assert "ValueError: secret" in odd.trace


def seen_options(monkeypatch: pytest.MonkeyPatch, call: Any = "validate", checkpoint: Any = None, **parts: Any) -> Any:
    """The view and the options that the engine is given."""
    given: list[Any] = []
    for name in ("validate", "mutate"):
        monkeypatch.setattr(
            engine, name, lambda *arguments, name=name: given.append((name, *arguments)) or Decision({})
        )
    judge(Gate(EMPTY, **parts).state, call, STRANGER, {}, checkpoint)
    return given[0]


def test_the_engine_is_asked_for_the_call_with_the_options_of_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    view, options = MemoryView(), Options(Profile.STRICT, steps=7)
    name, _, _, seen, given = seen_options(monkeypatch, "mutate", view=view, options=options)
    assert (name, seen, given.profile, given.steps) == ("mutate", view, Profile.STRICT, 7)
    checkpoint = [].append
    name, _, _, _, other = seen_options(monkeypatch, checkpoint=checkpoint, view=view, options=options)
    assert (name, other.profile, other.steps, other.checkpoint) == ("validate", Profile.STRICT, 7, checkpoint)
    assert given.checkpoint is not checkpoint


CODES = ["LK223"]
SOME = enforcement(action="warn"), enforcement("b", action="off", codes=CODES), exception(codes=CODES, names=["m"])


def test_degrees_are_taken_where_they_differ_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "modelgate")
    gate = Gate(EMPTY)
    first = gate.state
    gate.enforce(Degrees())
    assert gate.state is first, "none are as none"
    some = degrees(*SOME, namespaces={"a": {"modelgate.dev/profile": "strict"}})
    gate.enforce(some)
    assert gate.state.options.degrees is some
    for kind, number in (("Enforcement", 2), ("PolicyException", 1)):
        assert f'modelgate_policies_in_force{{kind="{kind}"}} {number}.0' in text(gate)
    assert text(gate).count("modelgate_enforcement_info{") == 1
    assert f'digest="{some.digest}"' in text(gate)
    second = gate.state
    gate.enforce(degrees(*SOME, namespaces={"a": {"modelgate.dev/profile": "strict"}}))
    assert gate.state is second
    gate.enforce(Degrees())
    assert gate.state.options.degrees is not some
    for kind in ("Enforcement", "PolicyException"):
        assert f'modelgate_policies_in_force{{kind="{kind}"}} 0.0' in text(gate)
    assert text(gate).count("modelgate_enforcement_info{") == 1


def test_admission_policies_need_a_catalog() -> None:
    with pytest.raises(NotReady, match="admission policies need the catalog of kinds and rules"):
        Gate().use_policies(PolicySet.__new__(PolicySet))
    Gate().prepare_screens()


def test_a_catalog_is_counted_once_and_without_the_apis_that_are_left_out() -> None:
    gate = Gate(without=["ome.io"])
    gate.use(LOADED)
    found = gate.state.catalog
    assert found is not None
    assert {gvk.group for gvk in LOADED.kinds} - {gvk.group for gvk in found.kinds} == {"ome.io"}
    lines = [line for line in text(gate).splitlines() if line.startswith("modelgate_catalog_info{")]
    assert lines == [f'modelgate_catalog_info{{digest="{found.digest}",packs=""}} 1.0']
    gate.use(EMPTY)
    assert [line for line in text(gate).splitlines() if line.startswith("modelgate_catalog_info{")] != lines
    assert text(gate).count("modelgate_catalog_info{") == 1


def test_of_an_operator_that_no_rules_are_about_no_release_is_counted() -> None:
    gate = Gate()
    gate.use(LOADED)
    assert "modelgate_release_info{" in text(gate)
    gate.use(EMPTY)
    assert "modelgate_release_info{" not in text(gate)


def test_a_refusal_alone_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "validate", lambda *_: Decision({}, (Cause("f", "FieldValueInvalid", "a", "XX101"),)))
    assert judged(STRANGER).findings == (("XX101", "deny"),)


def test_only_what_the_mutation_wrote_is_remembered_as_a_stamp() -> None:
    """A user may send any stamp to the validation."""
    gate, forged = Gate(LOADED), of_model()
    forged["request"]["object"] = {
        **forged["request"]["object"],
        "metadata": {"name": "m", "namespace": "n", "annotations": {ANNOTATION: "{}"}},
    }
    asyncio.run(gate.reply("validate", orjson.dumps(forged), 30))
    assert gate.state.recent._stamps == {}
    asyncio.run(gate.reply("mutate", GOOD, 30))
    assert len(gate.state.recent._stamps) == 1
