"""The gate with a view of a real cluster, with the rights of the chart and no more."""

from __future__ import annotations

import json

import pytest

from tests.e2e.processes import wait_until

pytestmark = pytest.mark.usefixtures("seeing")


def a_model(name, kind="BaseModel"):
    spec = {"modelFormat": {"name": "safetensors"}, "storage": {"storageUri": "hf://org/model"}}
    return {"apiVersion": "ome.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def a_service(name, model):
    """A service that brings its own engine, so that it needs a model and no runtime."""
    runner = {"name": "ome-container", "image": "registry.example/engine:1"}
    engine = {"minReplicas": 1, "maxReplicas": 1, "runner": runner}
    return {
        "apiVersion": "ome.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": name},
        "spec": {"model": {"name": model}, "engine": engine},
    }


def test_a_reference_that_leads_nowhere_is_refused_and_named(kubectl):
    refusal = kubectl.refusal("create", a_service("early", "nowhere"))
    assert 'spec.model.name: Invalid value: "nowhere": referenced model "nowhere" not found in namespace' in refusal


def test_objects_that_are_applied_together_find_each_other(kubectl):
    objects = [
        each
        for number in range(20)
        for each in (a_model(f"model-{number}"), a_service(f"service-{number}", f"model-{number}"))
    ]
    kubectl.send_all("apply", objects)
    assert len(kubectl.json("get", "inferenceservices.ome.io")["items"]) == 20


def test_what_was_refused_is_accepted_once_its_model_is_there(kubectl):
    kubectl.refusal("create", a_service("late", "soon"))
    kubectl.send("create", a_model("soon"))
    wait_until(lambda: kubectl.run("create", "-f", "-", stdin=json.dumps(a_service("late", "soon"))).code == 0, "it")


def test_a_model_of_the_cluster_serves_every_namespace_and_one_of_another_namespace_none(plane, kubectl):
    plane.kubectl.send("apply", a_model("shared", "ClusterBaseModel"))
    plane.kubectl.within("default").send("apply", a_model("theirs"))
    kubectl.send("create", a_service("one", "shared"))
    assert "not found" in kubectl.refusal("create", a_service("two", "theirs"))


def test_a_model_that_is_deleted_is_forgotten(kubectl):
    kubectl.send("create", a_model("leaving"))
    kubectl.send("create", a_service("before", "leaving"))
    kubectl("delete", "basemodel", "leaving")
    late = json.dumps(a_service("after", "leaving"))
    wait_until(
        lambda: "not found" in kubectl.run("create", "-f", "-", "--dry-run=server", stdin=late).err,
        "it to be forgotten",
    )


def test_the_chart_gave_every_right_that_was_needed_and_nothing_went_wrong(seeing):
    """Last of all: what the gate has logged so far."""
    assert "forbidden" not in seeing.log()
    assert "Traceback" not in seeing.log()
