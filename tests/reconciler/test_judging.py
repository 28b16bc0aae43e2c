"""What is wrong with a stored object is said, and nothing else is done with it."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from reconciler.known import Known
from reconciler.metrics import Metrics
from reconciler.projections.llmkube import MODELS
from reconciler.resource import APIResource, Item, Key
from reconciler.say import reports
from reconciler.say.conditions import NORMALISED, Condition
from tests.reconciler.apiserver import PAUSE
from tests.reconciler.looping import ASK, BAD, EVENT, REPORTS, corrected, open_model, stored
from tests.reconciler.models import NOW, model
from tests.reconciler.world import MODEL, Gate, World, rules

SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
"""The names of objects: RFC 1123."""


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
    assert report["summary"]["pass"] > 20
    failed = next(each for each in report["results"] if each["result"] == "fail")
    assert failed["rule"].startswith("LK")
    assert failed["policy"] == failed["rule"]
    assert failed["category"] == "LLMKube"
    assert failed["timestamp"] == {"seconds": int(NOW.timestamp()), "nanos": 0}
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


def test_a_result_keeps_the_time_at_which_it_was_found(world):
    world.server.put("models", model(**BAD))
    world.reconcile()
    stored_model = world.obj()
    world.loop._speaker = replace(world.loop._speaker, now=lambda: NOW + timedelta(days=1))
    world.server.put("models", {**stored_model, "spec": {**stored_model["spec"], "format": "odd"}})
    world.reconcile()
    (report,) = world.server.all("reports")
    days = {each["rule"]: (each["timestamp"]["seconds"] - int(NOW.timestamp())) // 86400 for each in report["results"]}
    assert (days["LK223"], days["schema"]) == (0, 1)


@pytest.mark.parametrize(("passing", "results"), [(False, []), (True, [("all", "pass", "LLMKube")])])
def test_an_object_without_findings_has_a_report_on_request(server, time, passing, results):
    world = World(server, time, also=[REPORTS])
    world.loop._speaker = replace(world.loop._speaker, passing=passing)
    stored(world, model())
    world.reconcile()
    reports = server.all("reports")
    assert [(each["rule"], each["result"], each["category"]) for one in reports for each in one["results"]] == results
    assert all(one["summary"]["pass"] > 20 and one["summary"]["fail"] == 0 for one in reports)


def test_metrics_name_the_namespaces_with_most_refusals_and_the_objects_refused_longest_on_request(world):
    for name, namespace in (("a", "one"), ("b", "one"), ("c", "two")):
        known = world.loop._known[Item(MODEL, Key(namespace, name))] = Known("u")
        known.said, known.since = Condition(NORMALISED, False, "Refused", ""), float(ord(name))
    queue, guard = world.loop.queue, world.loop.guard
    assert "object_namespace" not in Metrics(queue, guard, world.loop._known).text()
    text = Metrics(queue, guard, world.loop._known, namespaces=1).text()
    counts = re.findall(r'^modelgate_objects{.*object_namespace="(\w+)".*} (\S+)$', text, re.MULTILINE)
    assert dict(counts) == {"one": "2.0", "other": "1.0"}
    since = re.findall(r'^modelgate_refused_since_seconds{.*,name="(\w)".*} (\S+)$', text, re.MULTILINE)
    assert dict(since) == {"a": "97.0", "b": "98.0", "c": "99.0"}


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


def test_a_change_that_concerns_many_objects_is_spread(world, monkeypatch):
    """A tenant can change what rules of all namespaces read, such as a service with a route, at any rate."""
    monkeypatch.setattr("reconciler.loop.SPREAD", 2.0)
    world.server.put("aimservicetemplates", template())
    for number in range(4):
        cache = cache_of()
        cache["metadata"]["name"] = f"m{number}"
        world.server.put("aimtemplatecaches", cache)
    world.reconcile()
    world.server.delete("aimservicetemplates", "t")
    world.reconcile()
    assert world.wait_of(1) == 0
    assert world.wait_of(1) >= 4


def test_a_change_of_the_defaults_of_ome_is_a_new_judgement(world):
    service = {
        "apiVersion": "ome.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"engine": {"runner": {"image": "i", "name": "ome-container"}}},
    }
    world.server.put("inferenceservices", service)
    world.reconcile()
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "inferenceservice-config", "namespace": "ome"},
    }
    world.server.put("configmaps", {**config, "data": {"deploy": '{"defaultDeploymentMode": "RawDeployment"}'}})
    world.notice()
    assert world.wait_of(1) == 1


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
    drain(world)
    drain(world)
    assert len(world.server.all("events")) == 100
    world.time.seconds += 3
    world.settle()
    assert len(world.server.all("events")) == 150
    assert all(each["status"]["conditions"] for each in world.server.all("models"))


def drain(world):
    """Work off what is due, without telling the loop of what it wrote."""
    while (item := world.loop.queue.get(wait=False)) is not None:
        world.loop.step(item)
        world.loop.queue.done(item)


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
    assert world.loop._known == {}
    assert 'verdict="' not in world.loop.metrics.text()


def test_an_event_that_cannot_be_written_is_a_line_in_the_log(world, caplog):
    world.server.put("models", model(**BAD))
    world.server.fail("POST", "/events", 403, "events is forbidden")
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert "events is forbidden" in caplog.text
    assert world.events() == []
    world.wait_of(2 * 3600)
    assert world.events() == [("Warning", "Refused")]
    world.wait_of(2 * 3600)
    assert world.events() == [("Warning", "Refused")]


@pytest.mark.parametrize("what", ["events", "reports"])
@pytest.mark.parametrize("code", [0, 429, 500, 503])
def test_what_an_api_server_could_not_take_is_said_later(world, what, code):
    """As while it starts again: neither the Event nor the Report is lost, and none is made twice."""
    world.server.put("models", model(**BAD))
    world.server.fail("POST", f"/{what}", code, "etcdserver: request timed out", times=2)
    world.reconcile()
    for _ in range(3):
        world.wait_of(10)
    assert world.verdict() == ("False", "Refused")
    assert world.events() == [("Warning", "Refused")]
    assert len(world.server.all("reports")) == 1


def test_an_api_server_with_too_much_to_do_is_left_alone_for_as_long_as_it_asks(world):
    world.server.put("models", model(**BAD))
    world.server.fail("POST", "/events", 429, "too many requests")
    world.reconcile()
    asked = len(world.server.writes())
    world.wait_of(PAUSE - 1)
    assert len(world.server.writes()) == 0 < asked
    world.wait_of(1)
    assert world.verdict() == ("False", "Refused")


@pytest.mark.parametrize("cut", "a.-")
def test_an_event_about_an_object_with_a_name_of_253_characters_has_a_valid_name(world, cut):
    name = f"{'n' * 199}{cut}{'n' * 53}"
    world.server.put("models", model(name, **BAD))
    world.reconcile()
    (event,) = world.server.all("events")
    assert event["involvedObject"]["name"] == name
    assert re.fullmatch(SUBDOMAIN, event["metadata"]["name"])
    assert len(event["metadata"]["name"]) <= 253


def test_another_webhook_for_events_holds_nothing_up(world, caplog):
    world.server.put("models", model(**BAD))
    world.server.fail("POST", "/events", 500, 'failed calling webhook "events.example.com": connection refused')
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert "failed calling webhook" in caplog.text


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
