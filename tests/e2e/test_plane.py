"""The gate in front of a real API server: what kubectl prints, and what is stored."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.e2e.gate import NAMESPACE, STAMP
from tests.e2e.kubectl import Refused
from tests.e2e.models import FINALIZER, bad_model, model, with_vendor
from tests.e2e.processes import wait_until
from tests.e2e.recorder import Recorder

pytestmark = pytest.mark.usefixtures("gate")


def gpu(obj):
    return obj["spec"]["hardware"]["gpu"]


def derived(obj):
    """What the gate made of a GPU: its resource, its toleration, the accelerator."""
    return gpu(obj)["resourceName"], gpu(obj)["tolerationKey"], obj["spec"]["hardware"]["accelerator"]


def test_a_server_side_dry_run_prints_what_would_be_stored_and_stores_nothing(kubectl):
    printed = kubectl("create", "-f", "-", "--dry-run=server", "-o=yaml", stdin=json.dumps(model("dry")))
    assert derived(yaml.safe_load(printed)) == ("devic.es/dri-render", "devic.es/dri-render", "vulkan")
    assert kubectl.find("model", "dry") is None


def test_apply_stores_what_the_dry_run_printed(kubectl):
    dry = kubectl.send("create", model("real"), "--dry-run=server")
    kubectl.send("apply", model("real"))
    assert kubectl.find("model", "real")["spec"] == dry["spec"]


def test_an_applied_model_is_stamped_with_what_was_filled_in(kubectl):
    stored = kubectl.send("apply", model("stamped"))
    stamp = json.loads(stored["metadata"]["annotations"][STAMP])
    assert stamp["defaulted"]["spec.hardware.gpu.resourceName"] == "devic.es/dri-render"


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_applying_the_same_again_changes_nothing(kubectl, flags):
    first = kubectl.send("apply", model("same"), *flags)
    again = kubectl.send("apply", model("same"), *flags)
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_a_changed_vendor_moves_the_derived_fields(kubectl, flags):
    kubectl.send("apply", model("moving"), *flags)
    moved = kubectl.send("apply", with_vendor(model("moving"), "nvidia"), *flags)
    assert derived(moved)[:2] == ("nvidia.com/gpu", "nvidia.com/gpu")
    back = kubectl.send("apply", model("moving"), *flags)
    assert derived(back) == ("devic.es/dri-render", "devic.es/dri-render", "vulkan")


def test_a_resource_name_that_the_user_wrote_stays(kubectl):
    written = model("written", gpu={"resourceName": "example.com/gpu"})
    kubectl.send("apply", written)
    moved = kubectl.send("apply", with_vendor(written, "nvidia"))
    assert derived(moved)[:2] == ("example.com/gpu", "example.com/gpu")


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_kubectl_prints_every_cause_of_a_denial_with_its_field(kubectl, verb):
    printed = kubectl.refusal(verb, bad_model("refused"))
    assert "spec.source: " in printed
    assert "spec.hardware.memoryFraction: " in printed
    assert kubectl.find("model", "refused") is None


def test_a_refused_dry_run_says_what_the_refused_request_says(kubectl):
    dry = kubectl.refusal("create", bad_model("refused"), "--dry-run=server")
    assert dry == kubectl.refusal("create", bad_model("refused"))


def test_kubectl_prints_the_warnings_about_a_model_that_works_otherwise_than_it_reads(kubectl):
    ignored = model("warned", gpu={"sharding": {"strategy": "layer"}})
    answer = kubectl.run("create", "-f", "-", stdin=json.dumps(ignored))
    assert answer.code == 0
    assert answer.err.startswith("Warning: spec.hardware.gpu.sharding: ")


def test_what_the_schema_refuses_is_refused_by_the_api_server_as_ever(kubectl):
    unknown = model("unknown", gpu={"vendor": "acme"})
    assert 'Unsupported value: "acme": supported values: "nvidia", "amd", "intel"' in kubectl.refusal("create", unknown)


def test_an_invalid_object_older_than_the_gate_can_be_deleted(kubectl, gate):
    with gate.absent():
        kubectl.send("create", bad_model("old", finalizers=[FINALIZER]))
    kubectl("delete", "model", "old", "--wait=false")
    assert "deletionTimestamp" in kubectl.find("model", "old")["metadata"]
    kubectl.patch("model", "old", {"metadata": {"finalizers": None}})
    kubectl("wait", "--for=delete", "model/old", "--timeout=30s")


def test_an_invalid_object_older_than_the_gate_can_be_labelled_but_not_made_worse(kubectl, gate):
    with gate.absent():
        kubectl.send("create", bad_model("old"))
    assert kubectl.patch("model", "old", {"metadata": {"labels": {"team": "blue"}}})["metadata"]["labels"]
    with pytest.raises(Refused, match=r"spec\.source: "):
        kubectl.patch("model", "old", {"spec": {"source": "pvc://other"}})
    kubectl.patch("model", "old", {"spec": {"source": "pvc://weights/model.gguf"}})


def test_a_status_is_written_without_asking_the_gate(kubectl):
    kubectl.send("create", model("observed"))
    status = {"phase": "Pending"}
    assert kubectl.patch("model", "observed", {"status": status}, "--subresource=status")["status"] == status


def test_without_the_gate_models_are_refused_and_everything_else_is_untouched(kubectl, gate):
    kubectl.send("create", model("before"))
    gate.stop()
    try:
        assert "validate.modelgate.dev" in kubectl.refusal("create", model("after"))
        kubectl("create", "configmap", "untouched")
        kubectl("delete", "model", "before")
    finally:
        gate.start()
    kubectl.send("create", model("after"))


def test_what_was_derived_stays_ours_when_another_webhook_changes_the_object_after_us(kubectl, gate, plane, tmp_path):
    with gate.absent():
        kubectl.send("create", model("shared"))
    change = [{"op": "replace", "path": "/spec/source", "value": "https://example.com/mirror/model.gguf"}]
    with Recorder(tmp_path, change) as other:
        mutating, _ = other.configurations()
        plane.kubectl.send("create", mutating)
        try:
            wait_until(lambda: called(kubectl, other), "the API server to call the other webhook")
            changed = kubectl.patch("model", "shared", {"spec": {"quantization": "Q4_K_M"}})
        finally:
            plane.kubectl("delete", "mutatingwebhookconfiguration", mutating["metadata"]["name"])
    assert changed["spec"]["source"] == change[0]["value"]
    moved = kubectl.send("replace", with_vendor(changed, "nvidia"))
    assert derived(moved)[:2] == ("nvidia.com/gpu", "nvidia.com/gpu")


def called(kubectl, other):
    kubectl.send("create", model("probe"), "--dry-run=server")
    return other.take()


def test_the_gate_can_be_called_by_url(kubectl, gate):
    gate.uninstall()
    gate.install(gate.by_url())
    try:
        assert derived(kubectl.send("create", model("by-url")))[0] == "devic.es/dri-render"
    finally:
        gate.uninstall()
        gate.install(gate.by_service())


@pytest.mark.parametrize("namespace", ["default", "kube-system", "kube-public", NAMESPACE])
def test_an_object_is_refused_in_every_namespace_of_the_system(plane, namespace):
    """Those that clusters and tools like to exempt, and the gate's own."""
    within = plane.kubectl.within(namespace)
    assert "spec.hardware.memoryFraction: " in within.refusal("create", bad_model("exempt"), "--dry-run=server")
    assert STAMP in within.send("create", model("exempt"), "--dry-run=server")["metadata"]["annotations"]
