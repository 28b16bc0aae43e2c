"""What a user writes stays, also where it equals what the gate had filled in: on a real API server, by every way in.

The gate is told by the API server who has written what; tests/engine/test_ownership.py states what it makes of it.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field

import pytest

from tests.e2e.gate import STAMP
from tests.e2e.kubectl import Object
from webhook.engine.filling.ownership import LAST_APPLIED
from webhook.policy import MISSING, Path

pytestmark = pytest.mark.usefixtures("gate")

CLIENT_SIDE: tuple[str, ...] = ()
SERVER_SIDE = ("--server-side",)
WAYS = pytest.mark.parametrize("way", [CLIENT_SIDE, SERVER_SIDE], ids=["client-side", "server-side"])


@dataclass(frozen=True)
class Flow:
    """A value that the gate derives from ``spec`` at ``path``, and a ``change`` after which it derives ``other``."""

    api: str
    kind: str
    spec: Object
    path: str
    change: Object = field(default_factory=dict)
    other: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"

    def file(self, name: str) -> Object:
        return {"apiVersion": self.api, "kind": self.kind, "metadata": {"name": name}, "spec": self.spec}

    def changed(self, obj: Object) -> Object:
        return {**obj, "spec": merged(obj["spec"], self.change)}

    def pinned(self, obj: Object, value: object) -> Object:
        return Path.parse(self.path).set(obj, value)

    def at(self, obj: Object) -> object:
        found = Path.parse(self.path).get(obj)
        return None if found is MISSING else found


LLMKUBE, LLMAZ, OME = "inference.llmkube.dev/v1alpha1", "llmaz.io/v1alpha1", "ome.io/v1beta1"
SOURCE = {"source": "https://example.com/models/llama-3.1-8b.Q4_K_M.gguf"}
ONE_GPU = {**SOURCE, "hardware": {"gpu": {"count": 1}}}
VULKAN = {**SOURCE, "hardware": {"gpu": {"enabled": True, "count": 1, "vendor": "amd", "runtime": "vulkan"}}}
AMD = {"hardware": {"gpu": {"vendor": "amd"}}}
ROCM = {"hardware": {"gpu": {"runtime": "rocm"}}}
RUNNER = {"runner": {"name": "ome-container", "image": "example.com/engine:1"}}
FLOWS = [
    Flow(LLMKUBE, "Model", ONE_GPU, "spec.hardware.gpu.resourceName", AMD, "amd.com/gpu"),
    Flow(LLMKUBE, "Model", ONE_GPU, "spec.hardware.gpu.tolerationKey", AMD, "amd.com/gpu"),
    Flow(LLMKUBE, "Model", VULKAN, "spec.hardware.accelerator", ROCM, "rocm"),
    Flow(
        OME,
        "InferenceService",
        {"engine": {**RUNNER, "minReplicas": 1}},
        "metadata.annotations['ome.io/deploymentMode']",
        {"decoder": RUNNER},
        "PDDisaggregated",
    ),
]
EVERY = pytest.mark.parametrize("flow", FLOWS, ids=str)
NEVER_DERIVED_ANEW = [
    Flow(OME, "InferenceService", {"engine": {**RUNNER, "minReplicas": 1}}, "spec.engine.maxReplicas"),
    Flow(LLMAZ, "OpenModel", {"familyName": "llama3", "source": {"modelHub": {"modelID": "a/b"}}}, "spec.createdAt"),
]


def merged(value: Object, change: Object) -> Object:
    found = deepcopy(value)
    for key, item in change.items():
        found[key] = merged(found.get(key, {}), item) if isinstance(item, dict) else item
    return found


def defaulted(obj: Object) -> Object:
    return json.loads(obj["metadata"]["annotations"][STAMP])["defaulted"]


@EVERY
@WAYS
def test_the_same_file_applied_twice_gives_the_same_object(kubectl, flow, way):
    derived = flow.at(kubectl.send("apply", flow.file("same"), *way))
    assert derived is not None
    file = flow.pinned(flow.changed(flow.file("same")), derived)
    once = kubectl.send("apply", file, *way)
    assert flow.at(once) == derived
    assert flow.path not in defaulted(once)
    again = kubectl.send("apply", file, *way)
    assert again["metadata"]["resourceVersion"] == once["metadata"]["resourceVersion"]


@EVERY
@WAYS
def test_what_is_written_before_its_inputs_change_stays(kubectl, flow, way):
    derived = flow.at(kubectl.send("apply", flow.file("pinned"), *way))
    file = flow.pinned(flow.file("pinned"), derived)
    kubectl.send("apply", file, *way)
    assert flow.at(kubectl.send("apply", flow.changed(file), *way)) == derived


@pytest.mark.parametrize("flow", NEVER_DERIVED_ANEW, ids=str)
@WAYS
def test_a_value_that_no_input_changes_can_be_written_too(kubectl, flow, way):
    derived = flow.at(kubectl.send("apply", flow.file("constant"), *way))
    assert derived is not None
    file = flow.pinned(flow.file("constant"), derived)
    once = kubectl.send("apply", file, *way)
    again = kubectl.send("apply", file, *way)
    assert flow.at(once) == flow.at(again) == derived
    assert again["metadata"]["resourceVersion"] == once["metadata"]["resourceVersion"]


@EVERY
@WAYS
def test_what_no_file_holds_follows_its_inputs(kubectl, flow, way):
    kubectl.send("apply", flow.file("follows"), *way)
    assert flow.at(kubectl.send("apply", flow.changed(flow.file("follows")), *way)) == flow.other


@EVERY
def test_what_another_manager_applies_is_that_managers(kubectl, flow):
    derived = flow.at(kubectl.send("apply", flow.file("shared"), *SERVER_SIDE))
    part = flow.pinned(flow.file("shared"), derived)
    if flow.path.startswith("spec."):
        part["spec"] = flow.pinned({**part, "spec": {}}, derived)["spec"]
    kubectl.send("apply", part, *SERVER_SIDE, "--field-manager=other")
    moved = kubectl.send("apply", flow.changed(flow.file("shared")), *SERVER_SIDE)
    assert flow.at(moved) == derived


@EVERY
@pytest.mark.parametrize("first", ["create", "apply"])
def test_a_replacement_after_a_get_follows_its_inputs(kubectl, flow, first):
    stored = kubectl.send(first, flow.file("replaced"))
    assert flow.at(kubectl.send("replace", flow.changed(stored))) == flow.other


@EVERY
def test_a_patch_of_the_inputs_is_followed_and_a_value_that_it_writes_stays(kubectl, flow):
    resource = f"{flow.kind.lower()}s.{flow.api.partition('/')[0]}"  # two groups have InferenceServices
    derived = flow.at(kubectl.send("apply", flow.file("patched")))
    assert flow.at(kubectl.patch(resource, "patched", {"spec": flow.change})) == flow.other
    back = kubectl.patch(resource, "patched", flow.pinned({}, derived))
    assert flow.at(back) == derived
    assert flow.path not in defaulted(back)


def test_nothing_that_the_gate_fills_in_belongs_to_a_manager(kubectl):
    """What the gate relies on: a webhook's changes are in no entry of managedFields."""
    kubectl.send("apply", FLOWS[0].file("unowned"))
    kubectl.patch("models", "unowned", {"spec": AMD})
    stored = kubectl.json("get", "model", "unowned", "--show-managed-fields")
    assert FLOWS[0].at(stored) == "amd.com/gpu"
    assert "f:resourceName" not in json.dumps(stored["metadata"]["managedFields"])
    assert "resourceName" not in stored["metadata"]["annotations"][LAST_APPLIED]
