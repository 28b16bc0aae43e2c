"""Where another manager writes the status, nothing is written."""

import copy

from tests.reconciler.looping import (
    EVENT,
    stored,
)
from tests.reconciler.models import model


def written_by(manager, obj, seconds):
    entry = {"manager": manager, "subresource": "status", "time": f"2099-01-01T00:00:0{seconds}Z"}
    changed = copy.deepcopy(obj)
    changed["metadata"]["managedFields"] = [*changed["metadata"].get("managedFields", ()), entry]
    return changed


def test_an_api_whose_status_another_manager_writes_is_held_back_and_that_is_said_once(acting):
    stored(acting, model())
    stored(acting, model("n"))
    acting.reconcile()
    foreign = written_by("llmkube", {**acting.obj(), "status": {"phase": "Pending"}}, 1)
    acting.server.requests.clear()
    acting.server.put("models", foreign)
    acting.reconcile()
    acting.server.put("models", written_by("llmkube", {**acting.obj(name="n"), "status": {"phase": "Pending"}}, 2))
    acting.reconcile()
    assert {path for _, path in acting.server.writes()} == {EVENT[1]}
    assert acting.events() == [("Warning", "HeldBack")]
    assert 'modelgate_held_back{api="llmkube",manager="llmkube"} 1.0' in acting.loop.metrics.text()


def test_who_creates_an_object_is_not_taken_for_a_writer_of_its_status(acting):
    obj = model()
    obj["metadata"]["managedFields"] = [{"manager": "kubectl-create", "time": "2099-01-01T00:00:00Z"}]
    acting.server.put("models", obj)
    acting.reconcile()
    assert acting.status()["phase"] == "Ready"
    assert acting.loop.guard.held == {}


def test_a_condition_that_another_manager_removes_twice_is_not_written_again(world):
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
