"""Where another manager writes the status, nothing is written for a time. A tenant's claim concerns no other object."""

import copy
from datetime import timedelta

import pytest

from reconciler.guard import HOLD, LONGEST_HOLD, Guard, Sign
from reconciler.known import Known
from reconciler.loop import Loop
from reconciler.resource import Item, Key
from reconciler.say.conditions import timestamp
from tests.reconciler.looping import EVENT, stored
from tests.reconciler.models import NOW, Time, model
from tests.reconciler.world import MODEL

FUTURE = "2099-01-01T00:00:00Z"
TEAMS = ("a", "b", "c")


def entry(manager, moment=NOW):
    return {
        "manager": manager,
        "subresource": "status",
        "time": moment if isinstance(moment, str) else timestamp(moment),
    }


def written_by(world, manager, phase, namespace="default", name="m", moment=NOW, entries=True):
    """The object after another manager has written its status."""
    obj = copy.deepcopy(world.obj(name=name, namespace=namespace))
    obj["status"] = {"phase": phase}
    if entries:
        obj["metadata"]["managedFields"] = [*obj["metadata"].get("managedFields", ()), entry(manager, moment)]
    world.server.put("models", obj)
    world.server.requests.clear()
    world.reconcile()


def claimed(world, *entries, namespace="default"):
    """The object after its tenant has written managedFields, and nothing else."""
    obj = copy.deepcopy(world.obj(namespace=namespace))
    obj["metadata"]["managedFields"] = [*entries]
    obj["metadata"]["labels"] = {"turn": str(len(world.server.requests))}
    world.server.put("models", obj)
    world.server.requests.clear()
    world.reconcile()


def restarted(world):
    """The same world with a new process, which remembers nothing."""
    old = world.loop
    world.loop = Loop(world.server.api(), world.view, world.rules, old._controllers, now=old._now, clock=world.time)
    world.view.told.clear()
    world.server.requests.clear()


def status_writes(world):
    return [path for _, path in world.server.writes() if path.endswith("/status")]


def told(world):
    return sorted(reason for _, reason in world.events())


@pytest.fixture
def teams(acting):
    """A Model of each of three teams, with its status."""
    for each in TEAMS:
        obj = model()
        obj["metadata"]["namespace"] = each
        stored(acting, obj)
    acting.reconcile()
    return acting


def test_an_object_whose_status_another_manager_writes_is_held_back_alone_and_that_is_said_once(acting):
    stored(acting, model())
    stored(acting, model("n"))
    acting.reconcile()
    written_by(acting, "llmkube", "Pending")
    assert acting.server.writes() == [EVENT]
    written_by(acting, "llmkube", "Failed")
    assert acting.server.writes() == []
    assert acting.loop.guard.held == {}
    changed = acting.obj(name="n")
    changed["spec"]["hardware"] = {"gpu": {"enabled": True}}
    stored(acting, changed)
    acting.reconcile()
    assert any("/n/status" in path for path in status_writes(acting))
    assert acting.events() == [("Warning", "HeldBack")]
    assert 'modelgate_held_back_objects{api="llmkube"} 1.0' in acting.loop.metrics.text()


def test_an_api_is_held_back_when_three_namespaces_show_another_manager_and_that_is_said_once(teams):
    other = model("other")
    other["metadata"]["namespace"] = "d"
    for each in TEAMS[:2]:
        written_by(teams, "llmkube", "Pending", each)
    assert teams.loop.guard.held == {}
    written_by(teams, "llmkube", "Pending", TEAMS[2])
    assert told(teams) == ["HeldBack"] * 4
    assert 'modelgate_held_back{api="llmkube",manager="llmkube"} 1.0' in teams.loop.metrics.text()
    stored(teams, other)
    teams.server.requests.clear()
    teams.reconcile()
    assert status_writes(teams) == []


def test_three_objects_of_one_namespace_hold_back_no_other(acting):
    for name in ("m", "n", "o", "p"):
        stored(acting, model(name))
    acting.reconcile()
    for name in ("m", "n", "o"):
        written_by(acting, "llmkube", "Pending", name=name)
    assert acting.loop.guard.held == {}
    assert acting.loop.guard.objects() == {("llmkube",): 3}


def test_a_hold_is_lifted_when_the_other_manager_stops_and_that_is_said(teams):
    for each in TEAMS:
        written_by(teams, "llmkube", "Pending", each)
    teams.wait_of(HOLD - 1)
    assert status_writes(teams) == []
    teams.wait_of(2)
    assert len(status_writes(teams)) == 3
    assert teams.loop.guard.held == {}
    assert told(teams) == ["HeldBack"] * 4 + ["HoldLifted"] * 4
    assert {teams.obj(namespace=each)["status"]["phase"] for each in TEAMS} == {"Ready"}


def test_a_hold_lasts_while_the_other_manager_writes(acting):
    stored(acting, model())
    acting.reconcile()
    for turn in range(4):
        written_by(acting, "llmkube", f"Pending-{turn}")
        acting.wait_of(HOLD * 0.9)
        assert status_writes(acting) == []


def test_a_hold_that_follows_another_one_is_twice_as_long_up_to_a_day():
    time, item = Time(), Item(MODEL, Key("a", "m"))
    guard, lengths = Guard(lambda: NOW, time), []
    for _ in range(12):
        left, _ = guard.check("llmkube", item, Sign("llmkube", proven=True))
        lengths.append(left)
        time.seconds += left + 1
        assert guard.check("llmkube", item, None)[0] == 0.0
    assert lengths[:3] == [HOLD, 2 * HOLD, 4 * HOLD]
    assert lengths[-1] == LONGEST_HOLD
    time.seconds += 2 * LONGEST_HOLD
    assert guard.check("llmkube", item, Sign("llmkube", proven=True))[0] == HOLD


@pytest.mark.parametrize(
    "entries",
    [
        [entry("foreign", FUTURE)],
        [entry("foreign")],
        [entry("modelgate", "2001-01-01T00:00:00Z"), entry("foreign")],
        [entry(f"m{number}", FUTURE) for number in range(500)],
        [{"manager": "foreign", "subresource": "status"}],
        [],
    ],
)
def test_what_a_tenant_claims_in_managed_fields_stops_nothing_where_the_status_is_as_it_was(teams, entries):
    for each in TEAMS:
        claimed(teams, *entries, namespace=each)
    changed = teams.obj(namespace="a")
    changed["spec"]["source"] = "https://example.com/other.gguf"
    stored(teams, changed)
    teams.server.requests.clear()
    teams.reconcile()
    assert [path for path in status_writes(teams) if "/namespaces/a/" in path]
    assert teams.loop.guard.held == {}
    assert "HeldBack" not in told(teams)


def test_after_a_restart_a_claim_in_the_future_counts_for_nothing(teams):
    claimed(teams, entry("foreign", FUTURE), namespace="a")
    restarted(teams)
    teams.reconcile()
    assert teams.loop.guard.objects() == {}


def test_after_a_restart_claims_hold_back_their_own_objects_until_they_are_old_and_no_api(teams):
    for each in TEAMS:
        claimed(teams, entry("modelgate", NOW - timedelta(seconds=60)), entry("foreign", NOW), namespace=each)
    free = model()
    free["metadata"]["namespace"] = "d"
    stored(teams, free)
    restarted(teams)
    teams.reconcile()
    assert teams.loop.guard.objects() == {("llmkube",): 3}
    assert teams.loop.guard.held == {}
    assert [path for path in status_writes(teams) if "/namespaces/d/" in path]
    teams.wait_of(HOLD + 1)
    assert told(teams) == ["HeldBack"] * 3 + ["HoldLifted"] * 3


def test_after_a_restart_a_manager_that_has_written_since_the_last_own_write_is_not_overwritten(acting):
    stored(acting, model())
    acting.reconcile()
    obj = acting.obj()
    obj["metadata"]["managedFields"] = [entry("modelgate", NOW - timedelta(seconds=60)), entry("llmkube")]
    acting.server.put("models", {**obj, "status": {"phase": "Pending"}})
    restarted(acting)
    acting.reconcile()
    assert status_writes(acting) == []
    assert told(acting) == ["HeldBack"]


def test_a_manager_that_was_there_before_the_process_and_has_left_holds_back_nothing():
    guard, known = Guard(lambda: NOW, Time()), Known("u")
    obj = {"metadata": {"managedFields": [entry("llmkube", NOW - timedelta(days=1))]}, "status": {"phase": "Ready"}}
    assert guard.sign(obj, known) is None


def test_a_writer_that_shows_no_name_is_noticed_at_its_second_write(acting):
    """A second Modelgate has the same name, and a tenant with a right to the status can remove the entries."""
    stored(acting, model())
    acting.reconcile()
    written_by(acting, "", "Pending", entries=False)
    assert len(status_writes(acting)) == 1
    written_by(acting, "", "Pending", entries=False)
    assert status_writes(acting) == []
    assert told(acting) == ["HeldBack"]


def test_a_hold_goes_with_its_object(acting):
    stored(acting, model())
    acting.reconcile()
    written_by(acting, "llmkube", "Pending")
    acting.server.delete("models", "m")
    acting.reconcile()
    assert acting.loop.guard.objects() == {}


def test_who_creates_an_object_is_not_taken_for_a_writer_of_its_status(acting):
    obj = model()
    obj["metadata"]["managedFields"] = [{"manager": "kubectl-create", "time": FUTURE}]
    acting.server.put("models", obj)
    acting.reconcile()
    assert acting.status()["phase"] == "Ready"
    assert acting.loop.guard.objects() == {}


def test_a_condition_that_another_manager_removes_twice_is_not_written_again_for_a_time(world):
    stored(world, model())
    world.reconcile()
    world.server.put("models", {**world.obj(), "status": {"phase": "Pending"}})
    world.reconcile()
    assert world.verdict() == ("True", "Stamped")
    world.server.put("models", {**world.obj(), "status": {"phase": "Ready"}})
    world.server.requests.clear()
    world.reconcile()
    assert world.status() == {"phase": "Ready"}
    assert world.server.writes() == [EVENT]
    world.wait_of(HOLD + 1)
    assert world.verdict() == ("True", "Stamped")
    world.server.put("models", {**world.obj(), "status": {"phase": "Ready"}})
    world.server.requests.clear()
    world.reconcile()
    assert status_writes(world) == []
