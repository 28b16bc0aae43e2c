"""Faults are said once, hourly while they last, and when they are over; the clock of the API server is kept."""

from datetime import timedelta

import pytest

from certs.api import _ahead
from certs.errors import ApiServerError, ClockError, StoreError
from certs.report import Events, Reporter
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
    reporter = Reporter(to(said), to(said), Events(api, "ns", "ca"))
    for seconds in range(0, 3605, 5):
        reporter.tell([StoreError("spoiled")], NOW + seconds * SECOND)
    assert said == ["spoiled", "spoiled"]
    reporter.tell([], NOW + 2 * HOUR)
    assert said[2:] == ["over: spoiled"]
    assert len(api.events) == 2


def test_each_fault_has_an_event_of_its_own_reason(said):
    api = Recorder()
    Reporter(to(said), to(said), Events(api, "ns", "ca")).tell([ClockError("late" * 500), StoreError("spoiled")], NOW)
    assert [path for path, _ in api.events] == ["/apis/events.k8s.io/v1/namespaces/ns/events"] * 2
    assert [event["reason"] for _, event in api.events] == ["ClockWrong", "AuthorityUnusable"]
    assert len(api.events[0][1]["note"]) == 1024
    assert api.events[0][1]["regarding"] == {"apiVersion": "v1", "kind": "Secret", "namespace": "ns", "name": "ca"}


def test_without_the_right_to_create_events_the_fault_is_still_said(said):
    reporter = Reporter(to(said), to(said), Events(Recorder(ApiServerError(403, "HTTP 403: no")), "ns", "ca"))
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
