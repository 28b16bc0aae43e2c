"""Leading in turn: two candidates on one Lease, in virtual time."""

import threading

import pytest

from reconciler.lease import Lease
from tests.reconciler.models import NOW, Time


@pytest.fixture
def candidates(server, time):
    return [Lease(server.api(), "ns", "l", identity, clock=time, now=lambda: NOW) for identity in ("a", "b")]


def lease(server):
    return server.get("leases", "l", "ns")


def test_the_first_to_come_leads_and_the_other_waits(server, candidates):
    a, b = candidates
    assert a.attempt()
    assert not b.attempt()
    assert lease(server)["spec"] == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-11-21T12:00:00.000000Z",
        "renewTime": "2026-11-21T12:00:00.000000Z",
        "leaseTransitions": 0,
    }


def test_a_leader_that_renews_stays_and_one_that_is_silent_is_followed(server, candidates, time):
    a, b = candidates
    a.attempt()
    for second in range(30):
        time.seconds += 1
        a.now = lambda second=second: NOW.replace(second=second)
        assert a.attempt()
        assert not b.attempt()
    time.seconds += 14.9
    assert not b.attempt()
    time.seconds += 0.1
    assert b.attempt()
    assert lease(server)["spec"]["leaseTransitions"] == 1
    assert not a.attempt()


def test_a_newcomer_waits_a_whole_duration_whatever_the_times_in_the_lease_say(candidates, time):
    """Clocks of two machines may differ by any amount: only what was seen to change counts."""
    a, b = candidates
    a.now = lambda: NOW.replace(year=2000)
    a.attempt()
    assert not b.attempt()
    time.seconds += 14
    assert not b.attempt()


def test_a_released_lease_is_free_at_once(candidates):
    a, b = candidates
    a.attempt()
    a.release()
    assert b.attempt()
    a.release()  # not ours any more: nothing happens
    assert not a.attempt()


def test_of_two_that_write_at_the_same_time_one_wins(server, candidates):
    a, b = candidates
    server.fail("POST", "/leases", 409)
    assert not a.attempt()
    assert b.attempt()
    server.fail("PUT", "/leases", 409, times=2)
    assert not b.attempt()
    assert b.attempt()


@pytest.mark.parametrize("spec", [{}, {"holderIdentity": None}, {"holderIdentity": ""}])
def test_a_lease_without_a_holder_is_taken(server, candidates, spec):
    server.put(
        "leases",
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "l", "namespace": "ns"},
            "spec": spec,
        },
    )
    assert candidates[0].attempt()
    assert lease(server)["spec"]["leaseTransitions"] == 1


class Steps(threading.Event):
    """A stop event whose waiting passes virtual time, and which is set after some of it."""

    def __init__(self, time: Time, seconds: float) -> None:
        super().__init__()
        self._time = time
        self._end = time.seconds + seconds

    def wait(self, timeout=None):
        self._time.seconds += timeout
        if self._time.seconds >= self._end:
            self.set()
        return self.is_set()


def test_holding_ends_in_order_when_asked_to(candidates, time):
    a, _ = candidates
    a.attempt()
    assert a.hold(Steps(time, 60))


def test_a_leader_that_cannot_renew_gives_up_before_another_may_begin(server, candidates, time, caplog):
    a, _ = candidates
    a.attempt()
    began = time.seconds
    server.fail("PUT", "/leases", 503, times=100)
    server.fail("GET", "/leases", 503, times=100)
    assert not a.hold(Steps(time, 600))
    assert time.seconds - began < a.duration - a.period
    assert "is lost" in caplog.text


def test_the_time_that_taking_the_lease_took_is_part_of_the_patience(server, candidates, time):
    a, _ = candidates
    began = time.seconds

    def slow(obj):
        time.seconds += 2.4
        return obj

    server.admission = slow
    assert a.acquire(threading.Event())
    server.fail("PUT", "/leases", 503, times=100)
    server.fail("GET", "/leases", 503, times=100)
    assert not a.hold(Steps(time, 600))
    assert time.seconds - began <= a.deadline


def test_a_short_outage_costs_nothing(server, candidates, time, caplog):
    a, _ = candidates
    a.attempt()
    server.fail("PUT", "/leases", 0)
    server.fail("GET", "/leases", 0)
    assert a.hold(Steps(time, 60))
    assert "Unreachable" in caplog.text


def test_a_leader_whose_lease_was_taken_gives_up(candidates, time):
    a, b = candidates
    a.attempt()
    b.attempt()
    time.seconds += 20
    b.attempt()
    assert not a.hold(Steps(time, 600))


def test_who_waits_asks_once_and_then_watches(server, candidates):
    """However long it waits: the watch brings each renewal."""
    a, b = candidates
    a.attempt()
    stop = threading.Event()
    b.period = 0.01
    thread = threading.Thread(target=b.acquire, args=(stop,))
    thread.start()
    for _ in range(5):
        assert a.attempt()
        version = lease(server)["metadata"]["resourceVersion"]
        server.wait(
            lambda version=version: (b._watched or {"metadata": {}})["metadata"].get("resourceVersion") == version
        )
    one = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"
    assert server.requests.count(("GET", one)) <= 4, "of a, and before b's watch began"
    a.release()
    thread.join(10)
    assert lease(server)["spec"]["holderIdentity"] == "b"
    stop.set()


def test_a_leader_that_renews_writes_and_does_not_read(server, candidates):
    a, _ = candidates
    a.attempt()
    server.requests.clear()
    assert all(a.attempt() for _ in range(5))
    assert {verb for verb, _ in server.requests} == {"PUT"}


def test_waiting_to_lead_ends_when_asked_to(candidates, time):
    a, b = candidates
    a.attempt()
    assert not b.acquire(Steps(time, 10))


def test_waiting_to_lead_ends_when_the_leader_is_gone(candidates, time):
    a, b = candidates
    a.attempt()
    assert b.acquire(Steps(time, 60))


def test_a_candidate_does_not_lead_while_the_api_server_is_unreachable(server, candidates, caplog):
    a, _ = candidates
    server.fail("GET", "/leases", 500, times=2)
    assert not a.attempt()
    a.release()
    assert "is not released" in caplog.text


def test_a_leader_whose_lease_another_process_holds_ends_at_once(server, candidates):
    """A lease that is deleted is free: the next process then leads at once."""
    a, b = candidates
    a.attempt()
    server.delete("leases", "l", "ns")
    assert b.attempt()
    a.renewal = 0.0
    assert not a.hold(threading.Event())


@pytest.mark.parametrize(
    "spec", [None, {}, {"leaseTransitions": (1 << 31) - 1}, {"renewTime": "9999-12-31T23:59:59.999999Z"}]
)
def test_a_lease_that_something_else_has_written_is_taken_when_it_is_free(server, candidates, spec):
    a, _ = candidates
    a.attempt()
    odd = {key: value for key, value in lease(server).items() if key != "spec"}
    server.put("leases", odd if spec is None else {**odd, "spec": {**spec, "holderIdentity": ""}})
    assert a.attempt()
    assert lease(server)["spec"]["holderIdentity"] == "a"
    assert lease(server)["spec"]["leaseTransitions"] < 1 << 31
