"""The reconciler judges by Enforcements and PolicyExceptions: Reports, and Events before an exception ends and then."""

import threading

import pytest

from reconciler.process import Process
from reconciler.resource import EVENTS, LEASES, APIResource
from reconciler.say.exceptions import Exceptions
from tests.enforcement.policies import NOW, degrees, enforcement, exception
from tests.reconciler.models import model
from tests.reconciler.test_process import OTHERS, running
from tests.reconciler.world import Gate, World, rules
from webhook.cluster.definitions import DEFINITIONS
from webhook.cluster.view import MemoryView
from webhook.enforcement import PolicyObject

FOREVER = "2999-01-01T00:00:00Z"
BAD = {"source": "hf://org/repo", "format": "safetensors", "hardware": {"memoryFraction": 1.5}}
REPORTS = APIResource("openreports.io", "v1alpha1", "reports", "Report")
OWN = (
    APIResource("", "v1", "namespaces", "Namespace", False),
    APIResource("modelgate.dev", "v1alpha1", "enforcements", "Enforcement", False),
    APIResource("modelgate.dev", "v1alpha1", "policyexceptions", "PolicyException", False),
)
EXCEPT = exception("legacy", codes=["LK223"], names=["m"], until=FOREVER)
ENDS = exception("legacy", codes=["LK223"], names=["m"], until="2027-01-15T08:00:00Z")
DENY = enforcement("deny", action="deny", codes=["LK223"])
AUDIT = enforcement("quiet", action="audit", codes=["LK223"])


def results(server):
    """What the Report says of LK223."""
    (report,) = server.all("reports")
    return [
        (each["result"], {key: each["properties"].get(key) for key in ("exception", "enforcement")})
        for each in report["results"]
        if each["rule"] == "LK223"
    ]


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([], [("warn", {"exception": None, "enforcement": None})]),
        ([DENY], [("fail", {"exception": None, "enforcement": None})]),
        ([DENY, EXCEPT], [("skip", {"exception": "legacy", "enforcement": None})]),
        ([AUDIT], [("warn", {"exception": None, "enforcement": "quiet"})]),
    ],
)
def test_a_report_says_what_comes_of_a_finding_and_by_what(server, time, policies, expected):
    by = rules().by_degrees(degrees(*policies))
    world = World(server, time, by=by, also=[REPORTS])
    server.put("models", model(**BAD))
    server.admission = Gate(rules(), MemoryView())
    world.reconcile()
    assert results(server) == expected


def test_a_change_of_how_strict_the_rules_are_writes_no_object(server, time):
    world = World(server, time, also=[REPORTS])
    server.admission = Gate(rules(), MemoryView())
    server.put("models", model(**BAD))
    world.reconcile()
    stored = server.get("models", "m")["metadata"]["annotations"]
    for policies in ([AUDIT], [EXCEPT], [DENY], []):
        server.requests.clear()
        world.loop.use(rules().by_degrees(degrees(*policies)))
        world.reconcile()
        assert server.get("models", "m")["metadata"]["annotations"] == stored
        assert [path for verb, path in server.requests if verb != "GET" and path.endswith("/models/m")] == []


def test_the_process_follows_them(server):
    server.serve(*rules().kinds(), DEFINITIONS, EVENTS, LEASES, REPORTS, *OTHERS, *OWN)
    server.admission = Gate(rules(), MemoryView())
    server.put("models", model(**BAD))
    server.put("policyexceptions", EXCEPT)
    with running(Process(server.api(), rules(), [])):
        server.wait(lambda: server.all("reports") and results(server)[0][0] == "skip")
        server.delete("policyexceptions", "legacy", "")
        server.put("enforcements", DENY)
        server.wait(lambda: results(server)[0][0] == "fail")


def test_the_process_judges_nothing_before_it_knows_how_strict_to_be(server):
    server.serve(*rules().kinds(), DEFINITIONS, EVENTS, LEASES, REPORTS, *OTHERS, *OWN)
    server.admission = Gate(rules(), MemoryView())
    server.put("models", model(**BAD))
    server.put("policyexceptions", EXCEPT)
    server.fail("GET", "/policyexceptions", 500, times=2)
    written = []
    seen = threading.Event()
    with running(Process(server.api(), rules(), [])):
        server.wait(lambda: server.all("reports") or seen.is_set())
        written += [result for result, _ in results(server)]
    assert written == ["skip"]


DAY = 86_400


@pytest.mark.parametrize(
    ("now", "events"),
    [
        (NOW - DAY - 1, []),
        (NOW - DAY, [("Warning", "ExceptionEnds")]),
        (NOW - 1, [("Warning", "ExceptionEnds")]),
        (NOW, [("Normal", "ExceptionEnded")]),
        (NOW + 3_600, []),
    ],
)
def test_events_come_a_day_before_an_exception_ends_and_when_it_has_ended(server, now, events):
    obj = server.put("policyexceptions", ENDS)
    exceptions = Exceptions(server.api())
    for _ in range(3):
        exceptions.tell([DENY, obj], [PolicyObject.read(each) for each in (DENY, obj)], now)
    written = server.all("events")
    assert [(each["type"], each["reason"]) for each in written] == events
    assert all(each["involvedObject"]["name"] == "legacy" for each in written)
    assert all("2027-01-15T08:00:00Z" in each["message"] for each in written)


def test_an_event_that_cannot_be_written_now_is_written_later(server):
    obj = server.put("policyexceptions", ENDS)
    exceptions = Exceptions(server.api())
    server.fail("POST", "/events", 503)
    for count in (0, 1, 1):
        exceptions.tell([obj], [PolicyObject.read(obj)], NOW)
        assert len(server.all("events")) == count
