"""The gate follows Enforcements and PolicyExceptions: from the first list, at each change, and at each turn of time."""

import asyncio
import json
from contextlib import asynccontextmanager, contextmanager

import pytest

from tests.cluster.test_live import until
from tests.enforcement.policies import enforcement, exception
from tests.reconciler.apiserver import ApiServer
from tests.serve.test_app import a_review
from webhook import catalog
from webhook.admission.errors import NotReady
from webhook.cluster import informer as informers
from webhook.cluster import reflector
from webhook.cluster.api import Reader
from webhook.cluster.view import APIResource
from webhook.engine import Options
from webhook.serve import enforcement as following
from webhook.serve.enforcement import EnforcedPolicies
from webhook.serve.gate import Gate

NAMESPACES = APIResource("", "v1", "namespaces", "Namespace", False)
ENFORCEMENTS = APIResource("modelgate.dev", "v1alpha1", "enforcements", "Enforcement", False)
EXCEPTIONS = APIResource("modelgate.dev", "v1alpha1", "policyexceptions", "PolicyException", False)
LOADED = catalog.load()
DENY = enforcement("deny", action="deny", codes=["LK223"])
EXCEPT = exception("x", codes=["LK223"], names=["m"], until="2999-01-01T00:00:00Z")


class Clock:
    """A clock that a test sets."""

    now = 1_800_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    for module in (reflector, informers):
        monkeypatch.setattr(module, "FIRST_WAIT", 0.0)
    monkeypatch.setattr(informers, "DISCOVERY_SECONDS", 0.01)
    for name in ("TOGETHER", "SOON", "RETRY", "LOOK"):
        monkeypatch.setattr(following, name, 0.005)


@pytest.fixture
def server():
    with ApiServer() as started:
        started.serve(NAMESPACES)
        yield started


@pytest.fixture
def gate():
    found = Gate(catalog=LOADED, options=Options())
    found.events = []
    found.report = lambda *event: found.events.append(event)
    return found


def install(server):
    server.serve(ENFORCEMENTS, EXCEPTIONS)


@contextmanager
def followed(gate, server, clock=None, connect=None):
    """The gate, following, in a loop of its own thread."""
    enforced = EnforcedPolicies(gate, connect or (lambda: Reader(server.client())), lambda: 0.0, clock or Clock())
    gate.readiness.needs.append(enforced.unready)

    @asynccontextmanager
    async def running():
        async with enforced.following():
            yield

    loop = asyncio.new_event_loop()
    context = running()
    loop.run_until_complete(context.__aenter__())
    try:
        yield enforced
    finally:
        loop.run_until_complete(context.__aexit__(None, None, None))
        loop.close()


def labelled(**labels):
    """The namespace ``a``."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": labels}}


def outcome(gate, namespace="default"):
    """What comes of a Model with a fault (LK223)."""
    obj = {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "metadata": {"name": "m", "namespace": namespace},
        "spec": {"source": "hf://org/repo", "hardware": {"memoryFraction": 1.5}},
    }
    kind = {"group": "inference.llmkube.dev", "version": "v1alpha1", "kind": "Model"}
    resource = {"group": "inference.llmkube.dev", "version": "v1alpha1", "resource": "models"}
    review = a_review(kind=kind, resource=resource, name="m", namespace=namespace, object=obj)
    found = gate.reply_now("validate", json.dumps(review).encode(), None)
    answer, finish = found
    finish()
    response = json.loads(answer)["response"]
    if not response["allowed"]:
        return "deny"
    if any("LK223" in text for text in response.get("warnings", ())):
        return "warn"
    muted = response["auditAnnotations"].get("muted", "").split(",")
    return next((each for each in muted if each.startswith("LK223=")), "nothing")


def test_without_the_definitions_all_is_as_without_the_feature(gate, server):
    before = gate.state
    with followed(gate, server):
        until(lambda: not gate.unready())
        assert gate.state is before
        assert outcome(gate) == "warn"
    assert not any("namespaces" in path for _, path in server.requests)


def test_a_gate_is_not_ready_before_all_are_listed(gate, server):
    install(server)
    server.put("enforcements", DENY)
    server.fail("GET", "/policyexceptions", 500, times=10_000)
    with followed(gate, server):
        until(lambda: "modelgate.dev/PolicyException is not listed yet" in str(gate.unready()))
        server._faults.clear()
        until(lambda: not gate.unready())
        assert outcome(gate) == "deny"


def test_each_change_is_in_effect_soon(gate, server):
    install(server)
    with followed(gate, server):
        until(lambda: not gate.unready())
        for obj, plural, expected in (
            (DENY, "enforcements", "deny"),
            (EXCEPT, "policyexceptions", "LK223=except/x"),
            (
                exception("x", codes=["LK223"], names=["other"], until="2999-01-01T00:00:00Z"),
                "policyexceptions",
                "deny",
            ),
            (enforcement("deny", action="audit", codes=["LK2*"]), "enforcements", "LK223=audit/deny"),
            (enforcement("deny", action="off", codes=["LK223"]), "enforcements", "nothing"),
        ):
            server.put(plural, obj)
            until(lambda expected=expected: outcome(gate) == expected)
        server.delete("enforcements", "deny", "")
        until(lambda: outcome(gate) == "warn")


def test_a_label_of_a_namespace_tightens(gate, server):
    install(server)
    server.put("namespaces", labelled(team="a"))
    selected = {"matchLabels": {"team": "a"}}
    server.put("enforcements", enforcement("team", action="audit", namespaceSelector=selected))
    with followed(gate, server):
        until(lambda: outcome(gate, "a") == "LK223=audit/team")
        assert outcome(gate, "b") == "warn"
        labels = {"team": "a", "modelgate.dev/profile": "strict"}
        server.put("namespaces", labelled(**labels))
        until(lambda: outcome(gate, "a") == "deny")


def test_time_begins_and_ends_them(gate, server):
    install(server)
    server.put("enforcements", enforcement("later", action="deny", codes=["LK223"], from_="2027-01-16T00:00:00Z"))
    server.put("policyexceptions", exception("x", codes=["LK223"], names=["m"], until="2027-01-17T00:00:00Z"))
    clock = Clock()
    with followed(gate, server, clock):
        until(lambda: outcome(gate) == "LK223=except/x")
        clock.now = 1_800_144_001.0  # 2027-01-17T00:00:01Z
        until(lambda: outcome(gate) == "deny")
        clock.now = 1_800_000_000.0  # a clock that is set back
        until(lambda: outcome(gate) == "LK223=except/x")
        assert gate.metrics.exceptions._counts is not None


def test_one_that_cannot_be_read_keeps_its_last_good_state_which_is_said(gate, server):
    install(server)
    server.put("enforcements", DENY)
    with followed(gate, server):
        until(lambda: outcome(gate) == "deny")
        server.put("enforcements", enforcement("deny", action="Deny", codes=["LK223"]))
        until(lambda: "its last good state stays in force: spec.action" in gate.readiness.refused)
        assert outcome(gate) == "deny"
        assert gate.unready() == []
        until(lambda: [reason for reason, _ in gate.events] == ["EnforcementRefused"])
        assert b"modelgate_policies_refused 1.0" in gate.metrics.text()
        server.put("enforcements", enforcement("deny", action="audit", codes=["LK223"]))
        until(lambda: not gate.readiness.refused)
        assert outcome(gate) == "LK223=audit/deny"


def test_odd_words_are_said_once_and_the_rest_is_in_force(gate, server):
    install(server)
    server.put("enforcements", enforcement("deny", action="deny", codes=["LK223", "LK999"]))
    with followed(gate, server):
        until(lambda: outcome(gate) == "deny")
        until(lambda: gate.events)
        server.put("enforcements", enforcement("other", action="deny", codes=["LK205"]))
        until(lambda: len(gate.state.options.degrees.policies) == 2)
        ((reason, text),) = gate.events
        assert reason == "EnforcementOdd"
        assert '"LK999" is not a code of a rule; did you mean' in text


def test_definitions_that_go_and_come_while_the_gate_runs(gate, server):
    install(server)
    server.put("enforcements", DENY)
    with followed(gate, server) as enforced:
        until(lambda: outcome(gate) == "deny")
        server.unserve(ENFORCEMENTS)
        until(lambda: outcome(gate) == "warn")
        server.serve(ENFORCEMENTS)
        server.put("enforcements", DENY)
        enforced.appeared("enforcements.modelgate.dev")  # as the watch of the definitions tells
        until(lambda: outcome(gate) == "deny")


def test_without_the_right_to_read_them_the_gate_judges_by_its_profile_and_says_so(gate, server):
    install(server)
    server.put("enforcements", DENY)
    server.fail("GET", "/enforcements", 403, "no right", times=10_000)
    with followed(gate, server):
        until(lambda: not gate.unready())
        assert outcome(gate) == "warn"
        assert "modelgate.dev/Enforcement" in gate.readiness.refused
        assert "no right" in gate.readiness.refused
        server._faults.clear()
        until(lambda: outcome(gate) == "deny")
        until(lambda: not gate.readiness.refused)


def test_a_cluster_that_is_not_there_yet_is_waited_for(gate, server):
    attempts = []

    def connect():
        attempts.append(1)
        if len(attempts) < 3:
            raise NotReady("no token yet")
        return Reader(server.client())

    with followed(gate, server, connect=connect):
        until(lambda: not gate.unready())
    assert len(attempts) == 3


def test_many_changes_in_a_second_end_in_the_last(gate, server):
    install(server)
    with followed(gate, server):
        for action in ("deny", "warn") * 50:
            server.put("enforcements", enforcement("e", action=action, codes=["LK223"]))
        server.put("enforcements", enforcement("e", action="audit", codes=["LK223"]))
        until(lambda: outcome(gate) == "LK223=audit/e")
