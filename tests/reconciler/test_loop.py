"""The loop against a small API server: what it reads, asks, writes, and when it keeps quiet. Time is virtual."""

from dataclasses import replace

import pytest

from reconciler import admission
from reconciler.conditions import find
from reconciler.llmkube import controller
from reconciler.loop import Loop
from reconciler.projection import Controller, Happening, Projection
from reconciler.resource import MODELS, APIResource, Key
from tests.reconciler.apiserver import ApiServer
from tests.reconciler.models import NOW, Time, model, node, stamp, volume_claim
from webhook.admission.stamp import ANNOTATION, UNSTAMPED, Stamp

KEY = Key("default", "m")
MODEL = MODELS.path("default", "m")
STATUS = ("PATCH", MODELS.path("default", "m", "status"))
ASK = ("PATCH", MODEL)
EVENT = ("POST", "/api/v1/namespaces/default/events")


class World:
    """A server, a loop on it that is stepped by hand, and a clock."""

    def __init__(self, server: ApiServer, time: Time, controlled: Controller) -> None:
        self.server = server
        self.time = time
        self._told: dict[Key, str] = {}
        self.loop = Loop(server.api(), controlled, now=lambda: NOW, clock=time)

    def settle(self) -> int:
        """Works off all that is due, telling the loop of every write as its source would; returns the steps."""
        steps = 0
        while (key := self.loop.queue.get(wait=False)) is not None:
            self.loop.step(key)
            self.loop.queue.done(key)
            steps += 1
            assert steps < 20, "it never comes to rest"
            self.notice()
        return steps

    def notice(self) -> None:
        """Tells the loop of every version once."""
        for obj in self.server.all("models"):
            key, version = Key.of(obj), obj["metadata"]["resourceVersion"]
            if self._told.get(key) != version:
                self._told[key] = version
                self.loop.changed(key, version)

    def reconcile(self) -> int:
        self.notice()
        return self.settle()

    def status(self) -> dict:
        return self.server.get("models", "m").get("status", {})

    def condition(self, type_: str) -> dict | None:
        return find(self.status().get("conditions", []), type_)

    def wait_of(self, seconds: float) -> int:
        self.time.seconds += seconds
        self.server.requests.clear()
        return self.settle()


@pytest.fixture
def world(server, time):
    server.admission = stamp
    return World(server, time, controller())


def test_a_stamped_model_gets_its_status(world):
    world.server.put("models", stamp(model()))
    world.reconcile()
    assert world.status()["phase"] == "Ready"
    assert world.condition("Available")["reason"] == "RuntimeResolved"
    assert world.condition("Normalised")["status"] == "True"
    assert world.server.writes() == [STATUS]


def test_our_own_writes_come_back_and_lead_to_nothing(world):
    world.server.put("models", stamp(model()))
    assert world.reconcile() == 1
    assert world.reconcile() == 0


def test_a_second_loop_finds_everything_done_and_writes_nothing(world):
    world.server.put("models", stamp(model()))
    world.reconcile()
    world.server.requests.clear()
    second = World(world.server, world.time, controller())
    assert second.reconcile() == 1
    assert world.server.writes() == []


def test_a_status_that_someone_spoiled_is_put_right(world):
    world.server.put("models", stamp(model()))
    world.reconcile()
    spoiled = world.server.get("models", "m")
    world.server.put("models", {**spoiled, "status": {**spoiled["status"], "phase": "Failed"}})
    world.reconcile()
    assert world.status()["phase"] == "Ready"


def test_a_state_that_has_ended_leaves_the_status(world):
    world.server.put("models", stamp(model(files=["a.gguf"])))
    world.reconcile()
    assert world.status()["stagedFiles"] == ["a.gguf"]
    world.server.put("models", stamp(model()))
    world.reconcile()
    assert "stagedFiles" not in world.status()


def test_fields_of_others_stay_in_the_status(world):
    world.server.put("models", {**stamp(model()), "status": {"sha256": "abc", "phase": "Pending"}})
    world.reconcile()
    assert world.status()["sha256"] == "abc"
    assert world.status()["phase"] == "Ready"
    assert world.reconcile() == 0


def test_an_unstamped_model_is_sent_through_the_gate_first_and_worked_on_as_it_comes_back(world):
    world.server.put("models", model())
    world.reconcile()
    stored = world.server.get("models", "m")
    assert Stamp.read(stored).matches(stored)
    assert stored["spec"]["refreshPolicy"] == "IfNotPresent"
    assert stored["status"]["phase"] == "Ready"
    assert {item["observedGeneration"] for item in stored["status"]["conditions"]} == {2}
    assert world.server.writes() == [ASK, STATUS]


def test_a_stamp_that_does_not_match_counts_as_absent(world):
    changed = stamp(model())
    changed["spec"]["source"] = "hf://other/repo"
    world.server.put("models", changed)
    world.reconcile()
    stored = world.server.get("models", "m")
    assert world.server.writes()[0] == ASK
    assert Stamp.read(stored).matches(stored)


def test_a_stamp_is_verified_once_and_again_when_it_changes(world):
    world.server.put("models", stamp(model()))
    world.reconcile()
    world.server.put("models", {**stamp(model()), "status": {"phase": "Pending"}})
    world.reconcile()
    assert world.server.dry_runs == [ASK]
    world.server.put("models", stamp(model(source="hf://other/repo")))
    world.reconcile()
    assert world.server.dry_runs == [ASK, ASK]


def test_a_forged_stamp_is_void_while_the_gate_is_missed(world):
    world.server.admission = lambda obj: obj
    world.server.put("models", stamp(model()))
    world.reconcile()
    assert world.condition("Normalised")["reason"] == "GateAbsent"
    assert world.status().keys() == {"conditions"}


def test_a_forged_stamp_on_an_object_without_defaults_is_replaced(world):
    forged = model()
    forged["metadata"]["annotations"] = {ANNOTATION: Stamp.of(forged, "catalog", {}).encode()}
    world.server.put("models", forged)
    world.reconcile()
    assert world.server.writes()[0] == ASK
    assert world.server.get("models", "m")["spec"]["refreshPolicy"] == "IfNotPresent"


def test_a_stamp_of_another_profile_is_replaced(world):
    audited = stamp(model())
    audited["metadata"]["annotations"][ANNOTATION] = Stamp.of(audited, "catalog", {}, "audit").encode()
    world.server.put("models", audited)
    world.reconcile()
    assert Stamp.read(world.server.get("models", "m")).profile == ""
    assert world.status()["phase"] == "Ready"


def test_a_refused_model_gets_a_condition_and_an_event_and_nothing_else(world):
    world.server.put("models", model(source="bad/source"))
    world.reconcile()
    condition = world.condition("Normalised")
    assert (condition["status"], condition["reason"]) == ("False", "Refused")
    assert "denied the request: spec.source: no" in condition["message"]
    assert world.status().keys() == {"conditions"}
    (event,) = world.server.all("events")
    assert (event["type"], event["reason"], event["involvedObject"]["name"]) == ("Warning", "Refused", "m")
    assert event["message"] == condition["message"]
    assert event["metadata"]["namespace"] == "default"


def test_a_refused_model_is_asked_about_again_after_a_minute_then_ever_more_rarely_and_silently(world):
    world.server.put("models", model(source="bad/source"))
    world.reconcile()
    assert world.wait_of(59) == 0
    for seconds in (1, 120, 240, 480, 960, 1920, 3600, 3600):
        assert world.wait_of(seconds - 0.5) == 0
        assert world.wait_of(0.5) == 1
        assert world.server.dry_runs.pop() == ASK
        assert world.server.writes() == []
    assert len(world.server.all("events")) == 1


def test_a_refused_model_is_processed_as_soon_as_it_is_corrected(world):
    world.server.put("models", model(source="bad/source"))
    world.reconcile()
    world.server.put("models", stamp(model()))
    world.reconcile()
    assert world.status()["phase"] == "Ready"
    assert world.condition("Normalised")["status"] == "True"


def test_a_ready_model_whose_edit_is_refused_keeps_its_status_beside_the_condition(world):
    world.server.put("models", stamp(model()))
    world.reconcile()
    before = world.status()
    edited = world.server.get("models", "m")
    world.server.put("models", {**edited, "spec": {"source": "bad/source"}})
    world.reconcile()
    assert world.condition("Normalised")["status"] == "False"
    assert world.condition("Normalised")["observedGeneration"] == 2
    assert world.condition("Available") == find(before["conditions"], "Available")
    assert world.status()["phase"] == "Ready"


def test_a_model_that_the_gate_only_tolerates_is_refused_to_us_with_all_the_reasons(world):
    """An update that changes nothing is never refused; the gate does not stamp what was wrong before, and says so."""
    world.server.admission = lambda obj: obj
    first, second = 'spec.source: Invalid value: "C:\\m": no (LK201)', "spec.files: … (LK202)"
    world.server.warnings = [UNSTAMPED + first, "spec.sha256: never verified (LK301)", UNSTAMPED + second]
    world.server.put("models", model())
    world.reconcile()
    condition = world.condition("Normalised")
    assert (condition["status"], condition["reason"]) == ("False", "Refused")
    assert condition["message"] == f"{first}\n{second}"
    assert world.wait_of(59) == 0
    assert world.wait_of(1) == 1


def test_without_a_gate_nothing_is_done_and_it_is_said(world):
    world.server.admission = lambda obj: obj
    world.server.put("models", model())
    world.reconcile()
    condition = world.condition("Normalised")
    assert (condition["status"], condition["reason"]) == ("False", "GateAbsent")
    assert world.status().keys() == {"conditions"}
    assert [event["reason"] for event in world.server.all("events")] == ["GateAbsent"]


def test_when_the_gate_comes_back_the_model_is_taken_up_within_seconds(world):
    world.server.admission = lambda obj: obj
    world.server.put("models", model())
    world.reconcile()
    assert world.wait_of(4.9) == 0
    world.server.admission = stamp
    assert world.wait_of(0.1) == 1
    assert world.status()["phase"] == "Ready"


def test_a_gate_that_fails_closed_is_absent_and_the_reason_is_kept(world):
    world.server.put("models", model())
    world.server.fail("PATCH", MODEL, 500, 'failed calling webhook "validate.modelgate.dev": connection refused')
    world.reconcile()
    assert world.condition("Normalised")["reason"] == "GateAbsent"
    assert "connection refused" in world.condition("Normalised")["message"]


def test_an_absent_gate_is_asked_at_most_every_five_minutes(world):
    world.server.admission = lambda obj: obj
    world.server.put("models", model())
    world.reconcile()
    for seconds in (5, 10, 20, 40, 80, 160, 300, 300):
        assert world.wait_of(seconds - 0.1) == 0
        assert world.wait_of(0.1) == 1
        assert world.server.dry_runs.pop() == ASK
        assert world.server.writes() == []


def test_that_we_may_not_patch_is_our_fault_and_not_said_of_the_model(world, caplog):
    world.server.put("models", model())
    world.server.fail("PATCH", MODEL, 403, 'models "m" is forbidden: User "x" cannot patch resource "models"')
    world.reconcile()
    assert world.status() == {}
    assert "cannot patch" in caplog.text
    assert world.wait_of(1) == 1
    assert world.status()["phase"] == "Ready"


def test_a_webhook_may_refuse_with_403_too(world):
    world.server.put("models", model())
    world.server.fail("PATCH", MODEL, 403, 'admission webhook "other" denied the request: no')
    world.reconcile()
    assert world.condition("Normalised")["reason"] == "Refused"


@pytest.mark.parametrize("code", [0, 409, 429, 500, 503])
@pytest.mark.parametrize(("method", "path"), [("GET", MODEL), STATUS])
def test_an_error_is_tried_again_with_growing_patience(world, caplog, code, method, path):
    world.server.put("models", stamp(model()))
    world.server.fail(method, path, code, times=3)
    world.reconcile()
    for seconds in (1, 2, 4):
        assert world.status() == {}
        assert world.wait_of(seconds) == 1
    assert world.status()["phase"] == "Ready"
    assert "retry in 4 s" in caplog.text


def test_after_a_success_patience_begins_anew(world, caplog):
    world.server.put("models", stamp(model()))
    world.server.fail("GET", MODEL, 500, times=2)
    world.reconcile()
    world.wait_of(1)
    world.wait_of(2)
    caplog.clear()
    world.server.fail("GET", MODEL, 500)
    world.server.put("models", stamp(model(source="hf://other/repo")))
    world.reconcile()
    assert "retry in 1 s" in caplog.text


def test_a_fault_in_one_projection_does_not_stop_the_others(world, caplog):
    def project(obj, *_):
        if obj["metadata"]["name"] == "m":
            raise ZeroDivisionError
        return Projection({"phase": "Ready"})

    world.loop._controller = replace(controller(), project=project)
    world.server.put("models", stamp(model("m")))
    world.server.put("models", stamp(model("n")))
    world.reconcile()
    assert world.server.get("models", "n")["status"]["phase"] == "Ready"
    assert "ZeroDivisionError" in caplog.text


def test_a_model_that_waits_for_its_volume_is_looked_at_again(world):
    world.server.put("models", stamp(model(source="pvc://c/m.gguf")))
    world.reconcile()
    assert world.condition("Degraded")["reason"] == "PVCNotFound"
    world.server.put("persistentvolumeclaims", volume_claim("c", "Pending"))
    assert world.wait_of(29) == 0
    assert world.wait_of(1) == 1
    assert world.status()["phase"] == "Pending"
    world.server.put("persistentvolumeclaims", volume_claim("c", "Bound"))
    assert world.wait_of(10) == 1
    assert world.status()["phase"] == "Ready"
    assert world.wait_of(3600) == 0


def test_looking_again_at_what_has_not_changed_writes_nothing(world):
    world.server.put("models", stamp(model(source="pvc://c/m.gguf")))
    world.reconcile()
    for _ in range(3):
        assert world.wait_of(30) == 1
        assert world.server.writes() == []
    assert len(world.server.all("events")) == 1


def test_an_event_before_its_time_does_not_make_us_forget_the_time(world):
    world.server.put("models", stamp(model(source="pvc://c/m.gguf")))
    world.reconcile()
    world.loop.queue.add(KEY)
    assert world.wait_of(10) == 1  # nothing has changed: it rests
    assert world.server.requests == [("GET", MODEL)]
    assert world.wait_of(20) == 1
    assert len(world.server.requests) == 2  # the model and its claim


def test_nodes_are_listed_once_for_many_models(world):
    world.server.put("nodes", node("n", **{"nvidia.com/gpu": "1"}))
    for name in "abc":
        world.server.put("models", stamp(model(name, hardware={"accelerator": "cuda"})))
    world.reconcile()
    assert world.server.requests.count(("GET", "/api/v1/nodes")) == 1
    assert all(obj["status"]["acceleratorReady"] for obj in world.server.all("models"))


def test_a_node_that_goes_is_noticed(world):
    world.server.put("nodes", node("n", **{"nvidia.com/gpu": "1"}))
    world.server.put("models", stamp(model(hardware={"accelerator": "cuda"})))
    world.reconcile()
    world.server.delete("nodes", "n", "")
    assert world.wait_of(300) == 1
    assert world.status()["acceleratorReady"] is False


def test_nodes_that_cannot_be_read_do_not_hold_a_model_back(world, caplog):
    world.server.put("models", stamp(model(hardware={"accelerator": "cuda"})))
    world.server.fail("GET", "/nodes", 403, "nodes is forbidden")
    world.reconcile()
    assert world.status()["acceleratorReady"] is True
    assert "cannot read Node list" in caplog.text


def test_a_model_that_is_being_deleted_is_left_alone(world):
    dying = stamp(model())
    dying["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    world.server.put("models", dying)
    world.reconcile()
    assert world.server.writes() == []


def test_a_model_that_is_gone_is_forgotten(world):
    world.server.put("models", stamp(model()))
    world.reconcile()
    world.server.delete("models", "m")
    world.loop.queue.add(KEY)
    world.settle()
    assert world.loop._settled == {}


def test_a_model_made_anew_under_the_same_name_is_not_mistaken_for_the_old_one(world):
    """Between our read and our write the model is deleted and made again: the write is refused and done over."""
    world.server.put("models", stamp(model()))

    def project(obj, facts, observed):
        if not world.status() and obj["metadata"]["uid"] == first:
            world.server.delete("models", "m")
            world.server.put("models", stamp(model(source="https://new/m")))
        return controller().project(obj, facts, observed)

    first = world.server.get("models", "m")["metadata"]["uid"]
    world.loop._controller = replace(controller(), project=project)
    world.reconcile()
    assert world.condition("Available")["reason"] == "WorkloadResolved"


@pytest.mark.parametrize("spec", [{"source": "hf://new/repo@v2"}, {"source": "word"}])
def test_a_change_between_our_read_and_our_write_is_not_taken_for_seen(world, spec):
    """The result of the write contains the change, too. If it were remembered, the change would never be processed."""
    world.server.put("models", stamp(model(source="hf://old/repo", files=["a.gguf"])))

    def project(obj, facts, observed):
        if obj["metadata"]["generation"] == 1:
            world.server.put("models", stamp({**obj, "spec": spec}))
        return controller().project(obj, facts, observed)

    world.loop._controller = replace(controller(), project=project)
    world.reconcile()
    world.wait_of(1)
    assert {item["observedGeneration"] for item in world.status()["conditions"]} == {2}
    assert "stagedFiles" not in world.status()


def test_an_event_that_cannot_be_written_is_a_line_in_the_log(world, caplog):
    world.server.put("models", stamp(model(source="word")))
    world.server.fail("POST", "/events", 403, "events is forbidden")
    world.reconcile()
    assert world.status()["phase"] == "Failed"
    assert "events is forbidden" in caplog.text
    assert world.reconcile() == 0


CONFIG_MAPS = APIResource("", "v1", "configmaps", "ConfigMap")


def with_child(data):
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}, "data": data}
    made = Happening("Normal", "Made", "a child")
    projection = Projection({"phase": "Ready"}, children=(child,), events=(made,))
    return replace(controller(), project=lambda *_: projection, children=(CONFIG_MAPS,))


def test_a_child_is_applied_in_the_namespace_of_its_owner_and_owned_by_it(world):
    world.loop._controller = with_child({"a": "1"})
    world.server.put("models", stamp(model()))
    world.reconcile()
    child = world.server.get("configmaps", "child")
    (reference,) = child["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"], reference["controller"]) == ("Model", "m", True)
    assert reference["uid"] == world.server.get("models", "m")["metadata"]["uid"]
    assert child["data"] == {"a": "1"}


def test_a_child_that_is_as_it_should_be_is_not_written(world):
    world.loop._controller = with_child({"a": "1"})
    world.server.put("models", stamp(model()))
    world.reconcile()
    child = world.server.get("configmaps", "child")
    world.server.put("configmaps", {**child, "data": {"a": "1", "theirs": "2"}, "immutable": False})
    world.server.requests.clear()
    second = World(world.server, world.time, world.loop._controller)
    second.reconcile()
    assert world.server.writes() == [EVENT]
    assert len(world.server.all("events")) == 1  # it was there already


@pytest.mark.parametrize("data", [{"a": "2"}, {}, {"b": "1"}])
def test_a_child_that_should_be_different_is_applied_again_and_loses_what_is_not_wanted(world, data):
    world.loop._controller = with_child({"a": "1"})
    world.server.put("models", stamp(model()))
    world.reconcile()
    second = World(world.server, world.time, with_child(data))
    second.reconcile()
    assert world.server.get("configmaps", "child")["data"] == data


def test_a_stamp_of_another_spec_does_not_help():
    obj = model(source="bad/source")
    obj["metadata"]["annotations"] = {ANNOTATION: Stamp.of(model(), "catalog", {}).encode()}
    assert not admission.stamped(obj)
