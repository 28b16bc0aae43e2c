"""The rules of the Model by release: laws over anything that the schema allows, and what an upgrade changes."""

import copy
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, settings

from tests.policies.test_llmkube_agreement import ACCELERATORS, RUNTIMES, VENDORS, gpu_spec
from tests.policies.test_llmkube_laws import MODEL, SPECS, request
from webhook import catalog, engine
from webhook.admission.decision import Decision, Request
from webhook.catalog import Catalog, chosen
from webhook.cluster import MemoryView

LOADED = catalog.load()
KNOWN = ("0.8.18", "0.9.5", "0.9.7", "0.9.8", "0.9.9", "0.9.12", "0.9.13", "0.9.15", "0.9.19", "head")
DRI, AMD, INTEL, NVIDIA = "devic.es/dri-render", "amd.com/gpu", "gpu.intel.com/i915", "nvidia.com/gpu"


def under(release: str) -> Catalog:
    return LOADED.under(chosen(LOADED.packs, [("llmkube", release)]))


def mutated(of: Request, release: str) -> dict[str, Any]:
    obj = engine.mutate(of, under(release), MemoryView()).object
    assert obj is not None
    return obj


def judged(of: Request, release: str) -> Decision:
    return engine.validate(replace(of, object=mutated(of, release)), under(release), MemoryView())


def codes(decision: Decision) -> set[str]:
    return {item.code for item in (*decision.causes, *decision.warnings) if item.code}


def requested(vendor: str, runtime: str, release: str) -> str:
    """The extended resource that the pods of a Model without resourceName request, by §3 of the operator's code."""
    if vendor == "amd":
        return DRI if runtime == "vulkan" or (runtime == "rocm" and later(release)) else AMD
    return INTEL if vendor == "intel" else NVIDIA


def looked_for(accelerator: str, vendor: str, release: str) -> str:
    """The resource that makes the accelerator ready. The document of the older releases leaves out the vendor."""
    if accelerator == "cuda":
        return NVIDIA
    if accelerator == "intel" or (vendor == "intel" and later(release)):
        return INTEL
    return AMD if accelerator == "rocm" and not later(release) else DRI


def later(release: str) -> bool:
    return KNOWN.index(release) >= KNOWN.index("0.9.8")


@pytest.mark.parametrize("release", KNOWN)
def test_the_resource_is_the_one_that_pods_of_the_release_request(release: str) -> None:
    for vendor, runtime in product(VENDORS, RUNTIMES):
        gpu = gpu_spec(count=1, vendor=vendor, runtime=runtime)
        spec = {"source": "https://h/m.gguf", "hardware": {"accelerator": "cuda", "gpu": gpu}}
        filled = mutated(request(spec), release)["spec"]["hardware"]["gpu"]
        written = requested(vendor, runtime, release) if KNOWN.index(release) <= KNOWN.index("0.9.8") else None
        assert filled.get("resourceName") == filled.get("tolerationKey") == written


@pytest.mark.parametrize("release", KNOWN)
def test_a_divergence_is_where_readiness_of_the_release_looks_for_something_else(release: str) -> None:
    for accelerator, vendor, runtime in product(ACCELERATORS, VENDORS, RUNTIMES):
        gpu = gpu_spec(count=1, vendor=vendor, runtime=runtime)
        spec = {"source": "https://h/m.gguf", "hardware": {"accelerator": accelerator, "gpu": gpu}}
        diverges = looked_for(accelerator, vendor, release) != requested(vendor, runtime, release)
        assert ("LK306" in codes(judged(request(spec), release))) == diverges, (accelerator, vendor, runtime)


@settings(deadline=None)
@given(SPECS)
def test_an_unknown_release_is_told_only_what_is_true_of_all(spec: dict[str, Any]) -> None:
    """LK334 says what LK335 says, before 0.9.9. Where LK101 sets the accelerator, there is another Model to judge."""
    assume(not any(each.code == "LK101" for each in engine.mutate(request(spec), LOADED, MemoryView()).defaults))
    told = codes(judged(request(spec), "unknown"))
    for release in KNOWN:
        known = codes(judged(request(spec), release))
        assert told - known <= ({"LK335"} if "LK334" in known else set()), release


@settings(deadline=None)
@given(SPECS)
def test_an_unknown_release_gets_no_default(spec: dict[str, Any]) -> None:
    assert [each for each in engine.mutate(request(spec), under("unknown"), MemoryView()).defaults if each.code] == []


def stored(release: str, **gpu: Any) -> dict[str, Any]:
    """A Model as a gate for a release stores it."""
    hardware = {"accelerator": "rocm", "gpu": {"count": 1, "vendor": "amd", "runtime": "rocm", **gpu}}
    obj = mutated(request({"source": "https://h/m.gguf", "hardware": hardware}), release)
    obj["metadata"]["namespace"] = "default"
    return obj


def updated(obj: dict[str, Any], release: str) -> Decision:
    """What a gate for a release makes of an update that changes another field."""
    new = copy.deepcopy(obj)
    new["spec"]["quantization"] = "Q4_K_M"
    return engine.mutate(Request(MODEL, "models", "UPDATE", new, obj), under(release), MemoryView())


def gpu_of(decision: Decision) -> dict[str, Any]:
    assert decision.object is not None
    return {key: value for key, value in decision.object["spec"]["hardware"]["gpu"].items() if "/" in str(value)}


@pytest.mark.parametrize("release", ["0.9.9", "0.9.19", "head", "unknown"])
def test_an_upgrade_removes_what_the_gate_wrote(release: str) -> None:
    decision = updated(stored("0.9.5"), release)
    assert gpu_of(decision) == {}
    assert [(each.code, each.because, each.removed) for each in decision.defaults] == [
        ("LK102", "removed: not for this release", True),
        ("LK103", "removed: not for this release", True),
    ]
    again = updated(decision.object or {}, release)
    assert (gpu_of(again), again.defaults) == ({}, ())


def test_an_upgrade_follows_the_meaning_of_rocm_and_so_does_a_downgrade() -> None:
    upgraded = updated(stored("0.9.7"), "0.9.8")
    assert gpu_of(upgraded) == {"resourceName": DRI, "tolerationKey": DRI}
    assert gpu_of(updated(upgraded.object or {}, "0.9.7")) == {"resourceName": AMD, "tolerationKey": AMD}
    removed = updated(upgraded.object or {}, "0.9.19")
    assert gpu_of(updated(removed.object or {}, "0.9.7")) == {"resourceName": AMD, "tolerationKey": AMD}


def test_an_upgrade_keeps_what_a_user_wrote() -> None:
    obj = stored("0.9.5", resourceName="squat.ai/dri-render")
    assert gpu_of(updated(obj, "0.9.19")) == {"resourceName": "squat.ai/dri-render"}
    new = stored("0.9.5")
    fields = {"f:spec": {"f:hardware": {"f:gpu": {"f:resourceName": {}}}}}
    new["metadata"]["managedFields"] = [{"manager": "me", "operation": "Apply", "fieldsV1": fields}]
    assert gpu_of(updated(new, "0.9.19")) == {"resourceName": AMD}


@pytest.mark.parametrize("release", KNOWN)
def test_what_is_made_of_a_service_is_described_for_each_release(release: str) -> None:
    """A definition that lacks a field of the documented one does not hide what the operator makes."""
    known = under(release).kinds[MODEL._replace(kind="InferenceService")]
    made = {child.name for child in known.policy.children}
    assert {"claim", "deployment", "service", "autoscaler"} <= made


@pytest.mark.parametrize("release", KNOWN)
def test_a_label_that_cannot_be_is_found_under_each_release(release: str) -> None:
    service = {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "InferenceService",
        "metadata": {"name": "s", "namespace": "n"},
        "spec": {"modelRef": "m", "podAnnotations": {"a b": "c"}},
    }
    request = Request(MODEL._replace(kind="InferenceService"), "inferenceservices", "CREATE", service)
    decision = engine.validate(request, under(release), MemoryView())
    assert ("KP001", "spec.podAnnotations") in {(warning.code, warning.field) for warning in decision.warnings}
