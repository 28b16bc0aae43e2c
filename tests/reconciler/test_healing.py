"""Objects without a valid stamp, with the real engine as the gate of a small API server."""

from datetime import timedelta

import pytest

from reconciler.say.conditions import timestamp
from tests.reconciler.looping import ASK, BAD, CONDITION, stamped, stored
from tests.reconciler.models import NOW, model
from tests.reconciler.world import Gate, World, older, rules
from webhook.admission.stamp import ANNOTATION, Stamp


def test_an_object_without_a_stamp_is_healed_by_one_empty_patch(world):
    world.server.put("models", model())
    world.reconcile()
    obj = world.obj()
    assert Stamp.read(obj).matches(obj)
    assert obj["spec"]["refreshPolicy"] == "IfNotPresent"
    assert world.verdict() == ("True", "Stamped")
    assert world.condition()["observedGeneration"] == 2
    assert world.server.writes() == [ASK, CONDITION]
    assert world.events() == []


def test_a_stamped_object_gets_its_condition_and_nothing_else(world):
    stored(world, model())
    world.reconcile()
    assert world.server.requests == [CONDITION]
    assert world.server.dry_runs == []
    assert world.status().keys() == {"conditions"}


def test_what_was_written_comes_back_and_leads_to_nothing(world):
    world.server.put("models", model())
    world.reconcile()
    world.server.requests.clear()
    assert world.reconcile() == 0
    assert world.wait_of(3000) == 0
    assert world.server.requests == []


def test_a_second_loop_finds_everything_done_and_writes_nothing(world):
    world.server.put("models", model())
    world.reconcile()
    world.server.requests.clear()
    second = World(world.server, world.time, by=world.rules)
    assert second.reconcile() == 1
    assert world.server.requests == []


@pytest.mark.parametrize("days", [-4000, -1, 1, 4000])
def test_a_wall_clock_that_jumps_leads_to_no_write_and_stamps_what_changes_next(world, days):
    world.server.put("models", model())
    world.reconcile()
    then = NOW + timedelta(days=days)
    world.loop._now = lambda: then
    assert world.wait_of(4000) == 1
    assert world.server.requests == []
    assert world.condition()["lastTransitionTime"] == timestamp(NOW)
    world.server.put("models", {**world.obj(), "spec": model(**BAD)["spec"]})
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert world.condition()["lastTransitionTime"] == timestamp(then)


def test_every_object_is_judged_again_within_an_hour_or_so_and_nothing_is_written(world):
    stored(world, model())
    world.reconcile()
    assert world.wait_of(4000) == 1
    assert world.server.requests == []


def test_a_stamp_that_does_not_match_counts_as_absent(world):
    changed = stamped(world, model())
    changed["spec"]["source"] = "hf://other/repo"
    world.server.put("models", changed)
    world.reconcile()
    assert world.server.writes()[0] == ASK
    assert Stamp.read(world.obj()).matches(world.obj())


def forged(world):
    obj = model()
    stamp = Stamp.of(obj, world.rules.catalog.digest, {})
    obj["metadata"]["annotations"] = {ANNOTATION: stamp.encode()}
    obj["spec"]["hardware"] = {"gpu": {"enabled": True, "vendor": "amd", "runtime": "vulkan", "count": 1}}
    obj["metadata"]["annotations"] = {ANNOTATION: Stamp.of(obj, world.rules.catalog.digest, {}).encode()}
    return obj


def test_a_forged_stamp_on_an_object_without_its_defaults_is_replaced(world):
    world.server.put("models", forged(world))
    world.reconcile()
    assert world.server.dry_runs == [ASK]
    assert world.obj()["spec"]["hardware"]["gpu"]["resourceName"] == "devic.es/dri-render"
    assert world.verdict() == ("True", "Stamped")


def test_a_forged_stamp_is_not_believed_while_the_gate_is_missed(world):
    world.server.admission = lambda obj: obj
    world.server.put("models", forged(world))
    world.reconcile()
    assert world.verdict() == ("False", "GateAbsent")


def test_a_bad_object_with_a_forged_stamp_is_refused(world):
    obj = model(**BAD)
    obj["metadata"]["annotations"] = {ANNOTATION: Stamp.of(obj, world.rules.catalog.digest, {}).encode()}
    world.server.put("models", obj)
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert world.server.dry_runs == []


def test_stamps_of_other_rules_are_made_anew_at_a_pace(world):
    for number in range(50):
        stored(World(world.server, world.time, by=older(world.rules)), model(f"m{number}"))
    world.reconcile()
    assert catalogs(world).count(world.rules.catalog.digest) == 20
    world.time.seconds += 1
    world.reconcile()
    assert catalogs(world).count(world.rules.catalog.digest) == 40
    world.time.seconds += 1
    world.reconcile()
    assert set(catalogs(world)) == {world.rules.catalog.digest}
    assert all(each["status"]["conditions"][0]["reason"] == "Stamped" for each in world.server.all("models"))


def catalogs(world):
    """The catalogs that the stamps of all Models name."""
    return [Stamp.read(each).catalog for each in world.server.all("models")]


def test_another_profile_makes_no_stamp_anew(world):
    stored(World(world.server, world.time, by=rules("standard")), model())
    before = world.obj()["metadata"]["annotations"]
    world.reconcile()
    assert world.obj()["metadata"]["annotations"] == before
    assert world.server.dry_runs == []


def test_a_gate_with_other_rules_is_named_and_asked_again(world):
    world.server.admission = Gate(older(world.rules), world.view)
    world.server.put("models", model())
    world.reconcile()
    assert world.verdict() == ("False", "Outdated")
    assert f"by rules {older(world.rules).catalog.digest}" in world.condition()["message"]
    world.server.admission = Gate(world.rules, world.view)
    world.wait_of(5)
    assert world.verdict() == ("True", "Stamped")
    assert world.events() == [("Warning", "Outdated"), ("Normal", "Stamped")]
