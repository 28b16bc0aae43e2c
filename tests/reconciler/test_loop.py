"""The loop against a small API server, with the real engine as its gate: what it judges, heals, says and leaves."""

import copy
from dataclasses import replace

import pytest

from reconciler.projection import Controller, Happening, Projection
from reconciler.projections import llmaz
from reconciler.projections.llmkube import controller
from reconciler.resource import MODELS, APIResource, Item, Key, Kind
from reconciler.say import reports
from tests.reconciler.models import model, node, volume_claim
from tests.reconciler.world import MODEL, Gate, World, rules
from webhook.admission.stamp import ANNOTATION, UNSTAMPED, Stamp

ITEM = Item(MODEL, Key("default", "m"))
PATH = MODELS.path("default", "m")
ASK = ("PATCH", PATH)
CONDITION = ("PATCH", MODELS.path("default", "m", "status"))
STATUS = ("PUT", MODELS.path("default", "m", "status"))
EVENT = ("POST", "/api/v1/namespaces/default/events")
BAD = {"hardware": {"memoryFraction": 1.5}}
REPORTS = APIResource("openreports.io", "v1alpha1", "reports", "Report")
CONFIG_MAPS = APIResource("", "v1", "configmaps", "ConfigMap")


@pytest.fixture
def world(server, time):
    found = World(server, time, by=rules("strict"), also=[REPORTS])
    server.admission = Gate(found.rules, found.view)
    return found


@pytest.fixture
def acting(server, time):
    """A world in which the status of Models is projected."""
    found = World(server, time, controller(), by=rules("strict"))
    server.admission = Gate(found.rules, found.view)
    return found


def stamped(world, obj):
    """The object as the gate stores it."""
    return Gate(world.rules, world.view)(obj)


def stored(world, obj, plural="models"):
    return world.server.put(plural, stamped(world, obj))


def corrected(world):
    stored(world, {**world.obj(), "spec": model()["spec"]})
    world.reconcile()


# Heal.


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
    stamp = Stamp.of(obj, world.rules.catalog.digest, {}, "strict")
    obj["metadata"]["annotations"] = {ANNOTATION: stamp.encode()}
    obj["spec"]["hardware"] = {"gpu": {"enabled": True, "vendor": "amd", "runtime": "vulkan", "count": 1}}
    obj["metadata"]["annotations"] = {ANNOTATION: Stamp.of(obj, world.rules.catalog.digest, {}, "strict").encode()}
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
    obj["metadata"]["annotations"] = {ANNOTATION: Stamp.of(obj, world.rules.catalog.digest, {}, "strict").encode()}
    world.server.put("models", obj)
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert world.server.dry_runs == []


def test_stamps_of_other_rules_are_made_anew_at_a_pace(world):
    for number in range(50):
        stored(World(world.server, world.time, by=rules("standard")), model(f"m{number}"))
    world.reconcile()
    profiles = [Stamp.read(each).profile for each in world.server.all("models")]
    assert profiles.count("strict") == 20
    world.time.seconds += 1
    world.reconcile()
    assert [Stamp.read(each).profile for each in world.server.all("models")].count("strict") == 40
    world.time.seconds += 1
    world.reconcile()
    assert {Stamp.read(each).profile for each in world.server.all("models")} == {"strict"}
    assert all(each["status"]["conditions"][0]["reason"] == "Stamped" for each in world.server.all("models"))


def test_a_gate_with_other_rules_is_named_and_asked_again(world):
    world.server.admission = Gate(rules("standard"), world.view)
    world.server.put("models", model())
    world.reconcile()
    assert world.verdict() == ("False", "Outdated")
    assert "profile standard" in world.condition()["message"]
    world.server.admission = Gate(world.rules, world.view)
    world.wait_of(5)
    assert world.verdict() == ("True", "Stamped")
    assert world.events() == [("Warning", "Outdated"), ("Normal", "Stamped")]


# Judge.


def test_a_bad_object_gets_a_condition_an_event_and_a_report_and_no_patch(world):
    world.server.put("models", model(**BAD))
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    message = world.condition()["message"]
    assert "spec.hardware.memoryFraction: " in message
    assert world.status().keys() == {"conditions"}
    (event,) = world.server.all("events")
    assert (event["type"], event["reason"], event["involvedObject"]["name"]) == ("Warning", "Refused", "m")
    assert event["message"] == message
    assert ASK not in world.server.requests


def test_the_report_names_rule_field_and_reason_belongs_to_the_object_and_goes_with_the_findings(world):
    world.server.put("models", model(**BAD))
    world.reconcile()
    (report,) = world.server.all("reports")
    assert report["scope"] == {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "name": "m",
        "namespace": "default",
        "uid": world.obj()["metadata"]["uid"],
    }
    assert report["summary"]["fail"] == 1
    failed = next(each for each in report["results"] if each["result"] == "fail")
    assert failed["rule"].startswith("LK")
    assert failed["properties"]["field"] == "spec.hardware.memoryFraction"
    assert failed["properties"]["because"]
    assert [each["name"] for each in report["metadata"]["ownerReferences"]] == ["m"]
    world.server.requests.clear()
    world.reconcile()
    assert world.wait_of(4000) == 1
    assert world.server.requests == []
    corrected(world)
    assert world.server.all("reports") == []
    assert world.verdict() == ("True", "Stamped")


def test_a_report_that_cannot_be_written_does_not_hold_up_the_condition(world, caplog):
    world.server.put("models", model(**BAD))
    world.server.fail("POST", "/reports", 403, "reports is forbidden")
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert "reports is forbidden" in caplog.text


def test_a_rule_that_refuses_what_is_stored_is_applied_without_a_touch_and_what_is_corrected_is_cleared(world):
    lenient = World(world.server, world.time, by=rules("standard"))
    world.server.admission = Gate(lenient.rules, lenient.view)
    stored(lenient, model(**BAD))
    lenient.reconcile()
    assert lenient.verdict() == ("True", "Stamped")
    lenient.loop.use(rules("strict"))
    world.server.admission = Gate(rules("strict"), world.view)
    lenient.settle()
    assert lenient.verdict() == ("False", "Refused")
    corrected(lenient)
    assert lenient.verdict() == ("True", "Stamped")
    assert lenient.events() == [("Warning", "Refused"), ("Normal", "Stamped")]


def template(name="t"):
    spec = {"aimImageName": "llama", "runtimeConfigName": "default"}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": "AIMServiceTemplate", "metadata": metadata, "spec": spec}


def cache_of(name="t"):
    metadata = {"name": "m", "namespace": "default"}
    api = {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": "AIMTemplateCache", "metadata": metadata}
    return {**api, "spec": {"templateRef": name, "runtimeConfigName": "default"}}


def cache_verdict(world):
    (found,) = [c for c in world.obj("aimtemplatecaches")["status"]["conditions"] if c["type"] == "Normalised"]
    return found["status"], found["reason"]


def test_an_object_that_vanishes_is_a_verdict_on_what_refers_to_it_and_so_is_its_return(world):
    world.server.put("aimservicetemplates", template())
    world.server.put("aimtemplatecaches", cache_of())
    world.reconcile()
    assert cache_verdict(world) == ("True", "Stamped")
    world.server.delete("aimservicetemplates", "t")
    world.reconcile()
    world.wait_of(1)
    assert cache_verdict(world) == ("False", "Refused")
    world.server.put("aimservicetemplates", template())
    world.reconcile()
    world.wait_of(1)
    assert cache_verdict(world) == ("True", "Stamped")


def test_a_change_of_an_object_that_no_judgement_has_read_wakes_nothing(world):
    stored(world, model())
    world.reconcile()
    world.server.put("aimservicetemplates", template())
    assert world.reconcile() == 1
    assert world.wait_of(2) == 0


def test_an_event_is_written_for_each_change_of_the_verdict_and_once_over_restarts(world):
    world.server.put("models", model(**BAD))
    world.reconcile()
    World(world.server, world.time, by=world.rules).reconcile()
    assert world.events() == [("Warning", "Refused")]
    world.server.put("models", {**world.obj(), "spec": {"source": "hf://a/b", "hardware": {"memoryFraction": 2.5}}})
    world.reconcile()
    assert world.events() == [("Warning", "Refused")] * 2


def test_events_about_many_objects_come_at_a_pace(world):
    for number in range(150):
        world.server.put("models", model(f"m{number}", **BAD))
    world.notice()
    for _ in range(2):
        while (item := world.loop.queue.get(wait=False)) is not None:
            world.loop.step(item)
            world.loop.queue.done(item)
    assert len(world.server.all("events")) == 100
    world.time.seconds += 3
    world.settle()
    assert len(world.server.all("events")) == 150
    assert all(each["status"]["conditions"] for each in world.server.all("models"))


def test_of_a_kind_without_conditions_only_event_and_report_tell(world):
    spec = {"modelFormat": {"name": "safetensors"}, "modelParameterSize": "8b", "storage": {"storageUri": "hf://a/b"}}
    metadata = {"name": "m", "namespace": "default"}
    world.server.put(
        "basemodels", {"apiVersion": "ome.io/v1beta1", "kind": "BaseModel", "metadata": metadata, "spec": spec}
    )
    world.reconcile()
    assert world.events() == [("Warning", "Refused")]
    assert len(world.server.all("reports")) == 1
    assert "status" not in world.obj("basemodels")
    assert {path for _, path in world.server.writes()} == {
        EVENT[1],
        "/apis/openreports.io/v1alpha1/namespaces/default/reports",
    }


def open_model(**source):
    metadata = {"name": "m", "namespace": "default"}
    api = {"apiVersion": "llmaz.io/v1alpha1", "kind": "OpenModel", "metadata": metadata}
    return {**api, "spec": {"familyName": "llama3", "source": source}}


def test_a_condition_in_an_atomic_list_is_written_unless_others_write_there(world):
    bad = open_model(uri="gs://bucket/path")
    theirs = {"type": "Theirs", "status": "True", "reason": "R", "message": ""}
    world.server.put("openmodels", {**bad, "status": {"conditions": [theirs]}})
    world.reconcile()
    conditions = world.obj("openmodels")["status"]["conditions"]
    assert [each["type"] for each in conditions] == ["Theirs", "Normalised"]
    written = world.obj("openmodels")
    entry = {"manager": "llmaz", "subresource": "status", "time": "2026-11-21T12:00:00Z"}
    written["metadata"]["managedFields"] = [entry]
    written["status"]["conditions"] = [theirs]
    World(world.server, world.time, by=world.rules)
    world.server.put("openmodels", written)
    second = World(world.server, world.time, by=world.rules)
    second.reconcile()
    assert world.obj("openmodels")["status"]["conditions"] == [theirs]


def test_an_object_that_is_being_deleted_is_left_alone(world):
    dying = model()
    dying["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    world.server.put("models", dying)
    world.reconcile()
    assert world.server.requests == []


def test_an_object_that_is_gone_is_forgotten(world):
    stored(world, model())
    world.reconcile()
    world.server.delete("models", "m")
    world.reconcile()
    assert world.loop._settled == {}
    assert world.loop._ahead == {}
    assert 'verdict="' not in world.loop.metrics.text()


# The gate's answers.


def test_without_a_gate_nothing_is_done_and_it_is_reported(acting):
    acting.server.admission = lambda obj: obj
    acting.server.put("models", model())
    acting.reconcile()
    assert acting.verdict() == ("False", "GateAbsent")
    assert acting.status().keys() == {"conditions"}
    assert acting.events() == [("Warning", "GateAbsent")]


def test_an_absent_gate_is_asked_at_growing_intervals_of_at_most_five_minutes(acting):
    acting.server.admission = lambda obj: obj
    acting.server.put("models", model())
    acting.reconcile()
    for seconds in (5, 10, 20, 40, 80, 160, 300, 300):
        assert acting.wait_of(seconds - 0.1) == 0
        assert acting.wait_of(0.1) == 1
        assert acting.server.writes() == [ASK]
    acting.server.admission = Gate(acting.rules, acting.view)
    acting.wait_of(300)
    assert acting.status()["phase"] == "Ready"


def test_a_gate_that_fails_closed_is_absent_and_the_reason_is_kept(world):
    world.server.put("models", model())
    world.server.fail("PATCH", PATH, 500, 'failed calling webhook "validate.modelgate.dev": connection refused')
    world.reconcile()
    assert world.verdict() == ("False", "GateAbsent")
    assert "connection refused" in world.condition()["message"]


def test_a_refusal_by_another_policy_is_named_as_such(world):
    world.server.put("models", model())
    world.server.fail("PATCH", PATH, 403, 'admission webhook "other.example" denied the request: no')
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert world.condition()["message"].startswith("another admission policy refuses")
    assert "other.example" in world.condition()["message"]
    assert world.wait_of(59.9) == 0
    assert world.wait_of(0.1) == 1
    assert world.verdict() == ("True", "Stamped")


def test_what_the_gate_only_tolerates_is_refused_with_all_the_reasons(world):
    world.server.admission = lambda obj: obj
    first, second = "spec.source: no (LK201)", "spec.files: … (LK202)"
    world.server.warnings = [UNSTAMPED + first, "spec.sha256: never verified (LK301)", UNSTAMPED + second]
    world.server.put("models", model())
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert world.condition()["message"] == f"{first}\n{second}"


def test_a_missing_right_to_patch_is_not_said_of_the_object(world, caplog):
    world.server.put("models", model())
    world.server.fail("PATCH", PATH, 403, 'models "m" is forbidden: User "x" cannot patch resource "models"')
    world.reconcile()
    assert world.status() == {}
    assert "cannot patch" in caplog.text
    world.wait_of(1)
    assert world.verdict() == ("True", "Stamped")


@pytest.mark.parametrize("code", [0, 409, 429, 500, 503])
@pytest.mark.parametrize(("method", "path"), [ASK, STATUS])
def test_an_error_is_tried_again_at_growing_intervals(acting, caplog, code, method, path):
    acting.server.put("models", model())
    acting.server.fail(method, path, code, times=3)
    acting.reconcile()
    for seconds in (1, 2, 4):
        assert acting.status() == {}
        assert acting.wait_of(seconds) >= 1
    assert acting.status()["phase"] == "Ready"
    assert "retry in 4 s" in caplog.text


def test_after_a_success_the_intervals_begin_anew(acting, caplog):
    acting.server.put("models", model())
    acting.server.fail("PATCH", PATH, 500, times=2)
    acting.reconcile()
    acting.wait_of(1)
    acting.wait_of(2)
    caplog.clear()
    acting.server.fail("PATCH", PATH, 500)
    acting.server.put("models", model(source="hf://other/repo"))
    acting.reconcile()
    assert "retry in 1 s" in caplog.text


def test_an_object_deleted_between_judgement_and_write_is_not_an_error(world, caplog):
    world.server.put("models", model())
    world.server.fail("PATCH", PATH, 404)
    world.reconcile()
    assert caplog.text == ""


# Act.


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
    acting.wait_of(1)
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


def projecting(world, projection, children=()):
    made = projection if callable(projection) else lambda *_: projection
    world.loop._controllers = {MODEL: Controller(MODELS, "llmkube", made, children=children)}
    return world


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


def child(name="child", **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture
def parent(world):
    world.view.resources[Kind("", "ConfigMap")] = CONFIG_MAPS
    stored(world, model())
    return world


def wanting(world, *children):
    return projecting(world, Projection({"phase": "Ready"}, children), (CONFIG_MAPS,))


def test_a_child_is_created_in_the_namespace_of_its_owner_and_owned_by_it(parent):
    wanting(parent, child(a="1")).reconcile()
    made = parent.obj("configmaps", "child")
    (reference,) = made["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"], reference["controller"]) == ("Model", "m", True)
    assert made["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "modelgate"}
    parent.server.requests.clear()
    parent.wait_of(4000)
    assert parent.server.writes() == []


@pytest.mark.parametrize("data", [{"a": "2"}, {"b": "1"}])
def test_a_child_that_should_be_different_is_changed(parent, data):
    wanting(parent, child(a="1")).reconcile()
    wanting(parent, child(**data)).wait_of(4000)
    assert parent.obj("configmaps", "child")["data"].items() >= data.items()


def test_a_child_that_is_not_wanted_any_more_is_deleted_and_others_are_not(parent):
    wanting(parent, child(a="1"), child("other")).reconcile()
    parent.server.put("configmaps", {**child("theirs"), "metadata": {"name": "theirs", "namespace": "default"}})
    wanting(parent, child("other")).wait_of(4000)
    assert {each["metadata"]["name"] for each in parent.server.all("configmaps")} == {"other", "theirs"}


def test_a_child_of_another_owner_is_not_touched_and_that_is_said(parent):
    theirs = {**child(a="theirs"), "metadata": {"name": "child", "namespace": "default"}}
    before = parent.server.put("configmaps", theirs)
    wanting(parent, child(a="1")).reconcile()
    assert parent.obj("configmaps", "child") == before
    assert ("Warning", "ChildConflict") in parent.events()


def test_a_child_deleted_by_hand_comes_back(parent):
    wanting(parent, child(a="1")).reconcile()
    parent.server.delete("configmaps", "child")
    parent.reconcile()
    parent.wait_of(1)
    assert parent.obj("configmaps", "child")["data"] == {"a": "1"}


def test_a_namespace_that_is_being_deleted_is_not_an_error(parent, caplog):
    message = 'configmaps "child" is forbidden: unable to create new content in namespace default because it is being '
    parent.server.fail("POST", "/configmaps", 403, f"{message}terminated")
    wanting(parent, child(a="1")).reconcile()
    assert caplog.text == ""
    assert parent.status()["phase"] == "Ready"


def test_an_event_that_cannot_be_written_is_a_line_in_the_log(world, caplog):
    world.server.put("models", model(**BAD))
    world.server.fail("POST", "/events", 403, "events is forbidden")
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert "events is forbidden" in caplog.text


def test_happenings_of_a_projection_are_events(world):
    stored(world, model())
    projecting(world, Projection(None, events=(Happening("Normal", "Made", "a child"),))).reconcile()
    assert world.events() == [("Normal", "Made")]


def test_metrics_count_objects_findings_and_writes(world):
    world.server.put("models", model("good"))
    world.server.put("models", model(**BAD))
    world.reconcile()
    text = world.loop.metrics.text()
    assert 'modelgate_objects{group="inference.llmkube.dev",kind="Model",verdict="Refused"} 1.0' in text
    assert 'verdict="Stamped"} 1.0' in text
    assert 'modelgate_object_findings{code="LK' in text
    assert "modelgate_queue_depth 0.0" in text


def test_the_older_api_of_reports_is_used_where_it_is_the_only_one(server, time):
    older = APIResource("wgpolicyk8s.io", "v1alpha2", "policyreports", "PolicyReport")
    world = World(server, time, by=rules("strict"), also=[older])
    server.put("models", model(**BAD))
    world.reconcile()
    (report,) = server.all("policyreports")
    assert report["kind"] == "PolicyReport"
    assert reports.resource_for(world.view, replace(MODELS, namespaced=False)) is None
