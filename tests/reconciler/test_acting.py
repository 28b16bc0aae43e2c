"""Projections: the whole status, what wakes them, and what happens when one fails."""

from reconciler.projection import Happening, Projection
from reconciler.projections import llmaz
from reconciler.projections.llmkube import controller
from tests.reconciler.looping import BAD, STATUS, open_model, projecting, stamped, stored
from tests.reconciler.models import model, node, volume_claim
from tests.reconciler.world import Gate, World, rules


def test_a_status_is_written_whole_with_the_conditions_of_others(acting):
    before = stamped(acting, model(files=["a.gguf"]))
    theirs = {"type": "Theirs", "status": "True", "reason": "R", "message": ""}
    acting.server.put("models", {**before, "status": {"sha256": "abc", "path": "/old", "conditions": [theirs]}})
    acting.reconcile()
    assert acting.status()["phase"] == "Ready"
    assert acting.status().keys().isdisjoint({"sha256", "path"})
    types = [each["type"] for each in acting.status()["conditions"]]
    assert types == ["Available", "Progressing", "Degraded", "Theirs", "Normalised"]
    assert acting.server.writes() == [STATUS]
    assert acting.reconcile() == 0


def test_a_state_that_has_ended_leaves_the_status(acting):
    stored(acting, model(files=["a.gguf"]))
    acting.reconcile()
    assert acting.status()["stagedFiles"] == ["a.gguf"]
    stored(acting, {**acting.obj(), "spec": model()["spec"]})
    acting.reconcile()
    assert "stagedFiles" not in acting.status()


def test_a_refused_object_keeps_its_status_beside_the_condition(acting):
    stored(acting, model())
    acting.reconcile()
    obj = acting.obj()
    acting.server.put("models", {**obj, "spec": {**obj["spec"], **BAD}})
    acting.reconcile()
    assert acting.verdict() == ("False", "Refused")
    assert acting.status()["phase"] == "Ready"


def test_a_model_waits_for_its_volume_without_polling(acting):
    stored(acting, model(source="pvc://c/m.gguf"))
    acting.reconcile()
    assert acting.condition("Degraded")["reason"] == "PVCNotFound"
    assert acting.wait_of(600) == 0
    acting.server.put("persistentvolumeclaims", volume_claim("c", "Pending"))
    acting.reconcile()
    acting.wait_of(1)
    assert acting.status()["phase"] == "Pending"
    acting.server.put("persistentvolumeclaims", volume_claim("c", "Bound"))
    acting.reconcile()
    acting.wait_of(1)
    assert acting.status()["phase"] == "Ready"


def test_a_node_that_comes_or_goes_is_noticed(acting):
    acting.server.put("nodes", node("n", **{"nvidia.com/gpu": "1"}))
    stored(acting, model(hardware={"accelerator": "cuda"}))
    acting.reconcile()
    assert acting.status()["acceleratorReady"] is True
    acting.server.delete("nodes", "n", "")
    acting.reconcile()
    acting.wait_of(30)  # an upgrade replaces all nodes, one after the other
    assert acting.status()["acceleratorReady"] is False


def test_an_open_model_is_accepted_or_not_in_the_words_of_its_rules(server, time):
    world = World(server, time, llmaz.controller(), by=rules("strict"))
    server.admission = Gate(world.rules, world.view)
    good = open_model(modelHub={"modelID": "a/b"})
    del good["metadata"]["namespace"]
    server.put("openmodels", good)
    world.reconcile()
    server.put("openmodels", {**world.obj("openmodels", "m", ""), "spec": open_model(uri="gs://a/b")["spec"]})
    world.reconcile()
    accepted, normalised = world.obj("openmodels", "m", "")["status"]["conditions"]
    assert (accepted["type"], accepted["status"], accepted["reason"]) == ("Accepted", "False", "InvalidSource")
    assert (normalised["type"], normalised["status"]) == ("Normalised", "False")
    assert "URI with unsupported protocol" in accepted["message"]


def test_a_projection_that_raises_is_an_event_and_the_others_go_on(world, caplog):
    def project(obj, _):
        if obj["metadata"]["name"] == "m":
            raise ZeroDivisionError("no")
        return Projection({"phase": "Ready"})

    projecting(world, project)
    stored(world, model("m"))
    stored(world, model("n"))
    world.reconcile()
    assert world.obj(name="n")["status"]["phase"] == "Ready"
    assert ("Warning", "ProjectionFailed") in world.events()
    assert "ZeroDivisionError" in caplog.text


def test_an_object_made_anew_under_the_same_name_is_not_mistaken_for_the_old_one(world):
    stored(world, model())
    first = world.obj()["metadata"]["uid"]

    def project(obj, observed):
        if obj["metadata"]["uid"] == first and world.obj()["metadata"]["uid"] == first:
            world.server.delete("models", "m")
            stored(world, model(source="https://new.example/m"))
        return controller().project(obj, observed)

    projecting(world, project)
    world.reconcile()
    world.wait_of(1)
    assert world.condition("Available")["reason"] == "WorkloadResolved"


def test_happenings_of_a_projection_are_events(world):
    stored(world, model())
    projecting(world, Projection(None, events=(Happening("Normal", "Made", "a child"),))).reconcile()
    assert world.events() == [("Normal", "Made")]
