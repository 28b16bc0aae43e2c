"""The rules, written in CEL so that they are portable and know their node, agree with the facts, written in Python.

The reconciler acts on the facts: what they refuse the strict profile must refuse, and nothing more. Only revisions
work with the reconciler, and not with the operator before 0.9.7 (LK349).
"""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook import catalog, engine
from webhook.admission.decision import Decision, GroupVersionKind, Request
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.facts.llmkube import (
    accelerator_resource,
    classify_source,
    parse_layer_split,
    parse_source,
    resolve_fileset,
)
from webhook.golang.credentials import masked
from webhook.policy import Profile

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
STRICT = Options(profile=Profile.STRICT)

VENDORS = ("nvidia", "amd", "intel")
RUNTIMES = ("", "vulkan", "rocm")
ACCELERATORS = ("cuda", "rocm", "intel", "vulkan")

SOURCES = st.one_of(
    st.sampled_from(["pvc://", "hf://", "file://", "https://h/", "/", ""]).flatmap(
        lambda scheme: st.text("ab/@._- *", max_size=8).map(lambda rest: scheme + rest)
    ),
    st.from_regex(r"\A(hf://)?[a-c@/.-]{0,4}/[a-c@/.]{0,3}\Z"),
)
NAMES = st.one_of(st.sampled_from(["m.gguf", "d/m.gguf", ""]), st.text("ab./*?[]", max_size=4))


def decide(spec: dict[str, Any]) -> tuple[dict[str, Any], Decision]:
    obj = {
        "apiVersion": f"{MODEL.group}/{MODEL.version}",
        "kind": MODEL.kind,
        "metadata": {"name": "m", "namespace": "default"},
        "spec": spec,
    }
    request = Request(MODEL, "models", "CREATE", obj)
    mutated = engine.mutate(request, catalog.load(), MemoryView(), STRICT).object
    assert mutated is not None
    return mutated, engine.validate(replace(request, object=mutated), catalog.load(), MemoryView(), STRICT)


def codes(decision: Decision) -> set[str]:
    return {item.code for item in (*decision.causes, *decision.warnings)}


def requested(vendor: str, runtime: str) -> str:
    """The extended resource of pods, as the operator before 0.9.8 has it: ``runtime: rocm`` is the same as none."""
    if (vendor, runtime) == ("amd", "vulkan"):
        return "devic.es/dri-render"
    return {"amd": "amd.com/gpu", "intel": "gpu.intel.com/i915"}.get(vendor, "nvidia.com/gpu")


def gpu_spec(**gpu: Any) -> dict[str, Any]:
    return {key: value for key, value in gpu.items() if value}


@pytest.mark.parametrize(("vendor", "runtime", "name"), list(product(VENDORS, RUNTIMES, ("", "squat.ai/dri-render"))))
def test_the_resource_is_the_one_that_pods_request(vendor: str, runtime: str, name: str) -> None:
    gpu = gpu_spec(count=1, vendor=vendor, runtime=runtime, resourceName=name)
    obj, _ = decide({"source": "https://h/m.gguf", "hardware": {"accelerator": "cuda", "gpu": gpu}})
    filled = obj["spec"]["hardware"]["gpu"]
    assert filled["resourceName"] == filled["tolerationKey"] == name or requested(vendor, runtime)


@pytest.mark.parametrize(("accelerator", "vendor", "runtime"), list(product(ACCELERATORS, VENDORS, RUNTIMES)))
def test_a_divergence_is_where_readiness_looks_for_something_else(accelerator: str, vendor: str, runtime: str) -> None:
    gpu = gpu_spec(count=1, vendor=vendor, runtime=runtime)
    _, decision = decide({"source": "https://h/m.gguf", "hardware": {"accelerator": accelerator, "gpu": gpu}})
    diverges = accelerator_resource(accelerator) != requested(vendor, runtime)
    assert ("LK306" in codes(decision)) == diverges


@settings(deadline=None)
@given(SOURCES)
def test_a_source_that_cannot_be_parsed_is_refused_in_the_same_words(source: str) -> None:
    _, decision = decide({"source": source, "format": "safetensors"})
    fact = parse_source(source)
    refused = {code: cause.message for cause in decision.causes if (code := cause.code)}
    if not {"LK202", ""} & codes(decision):  # a space at the end and what the CRD refuses are refused already
        assert bool(fact.error) <= bool(refused.keys() & {"LK201", "LK204", "LK205", "LK349"})
        assert bool(refused.keys() & {"LK201", "LK204", "LK205"}) <= bool(fact.error)
        assert ("LK349" in refused) == ("@" in source and fact.kind == "hf-repo")
        assert all(masked(fact.error) in message for code, message in refused.items() if code in {"LK204", "LK205"})


@settings(deadline=None)
@given(SOURCES, st.lists(NAMES, max_size=3), NAMES)
def test_a_file_set_that_cannot_be_resolved_is_refused(source: str, files: list[str], mmproj: str) -> None:
    _, decision = decide({"source": source, "format": "custom", "files": files, "mmproj": mmproj})
    found = codes(decision)
    if {"LK202", ""} & found or not (files or mmproj):  # what is refused already
        return
    expected = bool(resolve_fileset(source, files, mmproj).error)
    refused = {"LK211", "LK212", "LK213", "LK214", "LK215", "LK216"}
    if classify_source(source) == "unclassified":
        refused.add("LK201")
    if parse_source(source).error:
        refused.add("LK349")
    assert expected == bool(found & refused)


@settings(deadline=None)
@given(st.text(" +-0129a", max_size=9))
def test_a_range_that_cannot_be_read_is_told(text: str) -> None:
    gpu = {"count": 2, "sharding": {"layerSplit": ["0-1", text]}}
    _, decision = decide({"source": "https://h/m.gguf", "hardware": {"accelerator": "cuda", "gpu": gpu}})
    assert bool(parse_layer_split([text]).error) == ("LK314" in codes(decision))
