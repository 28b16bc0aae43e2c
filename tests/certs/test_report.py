"""Faults are said once, hourly while they last, and when they are over; the clock of the API server is kept."""

from datetime import timedelta

import pytest

from certs.api import _ahead
from certs.errors import ApiServerError, ClockError, DirectoryError, PublishError, StoreError
from certs.publish import Configuration
from certs.report import Events, Note, Reporter
from tests.certs.material import HOUR, NOW

SECOND = timedelta(seconds=1)


class Recorder:
    """The API server's part: takes Events, or refuses them."""

    def __init__(self, refusal=None):
        self.events, self.refusal = [], refusal

    def create(self, path, body):
        if self.refusal:
            raise self.refusal
        self.events.append((path, body))


@pytest.fixture
def said():
    return []


def to(lines):
    return lambda form, value: lines.append(form % value)


def test_a_fault_is_said_once_and_hourly_and_its_end_is_said(said):
    api = Recorder()
    reporter = Reporter(to(said), to(said), Events(api, "ns", "gate-0", "1"))
    for seconds in range(0, 3605, 5):
        reporter.tell([StoreError("spoiled")], NOW + seconds * SECOND)
    assert said == ["spoiled", "spoiled"]
    reporter.tell([], NOW + 2 * HOUR)
    assert said[2:] == ["over: spoiled"]
    assert len(api.events) == 2


SECRET = "/api/v1/namespaces/ns/secrets/ca"
FAULTS = [
    (StoreError("spoiled", SECRET), "AuthorityUnusable", "v1", "Secret", "ca"),
    (ApiServerError(403, "no", SECRET), "ApiRefused", "v1", "Secret", "ca"),
    (ApiServerError(403, "no", "/api/v1/namespaces/ns/secrets"), "ApiRefused", "v1", "Pod", "gate-0"),
    (
        ApiServerError(403, "no", "/api/v1/namespaces/ns/serviceaccounts/view/token"),
        *("ApiRefused", "v1", "ServiceAccount", "view"),
    ),
    (
        PublishError("absent", Configuration("validating", "gate").path),
        *("BundleNotPublished", "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "gate"),
    ),
    (DirectoryError("directory /tls: No space left on device"), "DirectoryUnusable", "v1", "Pod", "gate-0"),
    (ClockError("behind"), "ClockWrong", "v1", "Pod", "gate-0"),
]


@pytest.mark.parametrize(("fault", "reason", "version", "kind", "name"), FAULTS)
def test_each_fault_is_an_event_about_the_object_that_is_at_fault(said, fault, reason, version, kind, name):
    api = Recorder()
    reporter = Reporter(to(said), to(said), Events(api, "ns", "gate-0", "1"))
    reporter.tell([fault], NOW)
    reporter.tell([fault], NOW + timedelta(minutes=2))
    ((path, event),) = api.events
    assert path == "/apis/events.k8s.io/v1/namespaces/ns/events"
    assert (event["reason"], event["type"]) == (reason, "Warning")
    pod = {"uid": "1"} if kind == "Pod" else {}
    assert event["regarding"] == {"apiVersion": version, "kind": kind, "name": name, "namespace": "ns", **pod}


@pytest.mark.parametrize("status", [401, 403])
def test_a_right_that_is_missing_is_an_event_when_it_has_lasted_for_two_minutes(said, status):
    """A pod that drains may lose its rights before it ends."""
    api = Recorder()
    reporter = Reporter(to(said), to(said), Events(api, "ns", "gate-0", "1"))
    for seconds in range(0, 120, 5):
        reporter.tell([ApiServerError(status, "no")], NOW + seconds * SECOND)
    assert (said, api.events) == (["no"], [])
    reporter.tell([ApiServerError(status, "no")], NOW + 120 * SECOND)
    assert len(api.events) == 1


def test_the_note_of_an_event_is_as_long_as_kubernetes_allows(said):
    api = Recorder()
    Reporter(to(said), to(said), Events(api, "ns")).tell([ClockError("late" * 500)], NOW)
    assert len(api.events[0][1]["note"]) == 1024


def test_what_was_done_is_a_line_and_with_a_reason_an_event_that_does_not_warn(said):
    api = Recorder()
    reporter = Reporter(to(said), to(said), Events(api, "ns"))
    reporter.note(Note("issued"), NOW)
    reporter.note(Note("made a CA", "AuthorityChanged", SECRET), NOW)
    assert said == ["issued", "made a CA"]
    assert [(each["type"], each["reason"], each["regarding"]["kind"]) for _, each in api.events] == [
        ("Normal", "AuthorityChanged", "Secret")
    ]


def test_without_the_right_to_create_events_the_fault_is_still_said(said):
    reporter = Reporter(to(said), to(said), Events(Recorder(ApiServerError(403, "HTTP 403: no")), "ns"))
    reporter.tell([StoreError("spoiled")], NOW)
    assert said == ["spoiled", "no Event was created: HTTP 403: no"]


@pytest.mark.parametrize(
    ("date", "ahead"),
    [
        ("Tue, 06 May 2031 07:08:07 GMT", timedelta(0)),
        ("Sun, 04 May 2031 07:08:09 GMT", timedelta(days=2)),
        ("Thu, 08 May 2031 07:08:09 GMT", timedelta(days=-2)),
        ("yesterday", timedelta(hours=3)),
        (None, timedelta(hours=3)),
    ],
)
def test_the_clock_of_the_api_server_is_read_from_its_answers(date, ahead):
    assert _ahead({} if date is None else {"Date": date}, NOW, before=timedelta(hours=3)) == ahead
