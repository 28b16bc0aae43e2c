"""GPU derivation. The tables hold cases of deployment_builder_test.go, model_accelerator_test.go and gpu_test.go."""

import pytest

from webhook.cluster.view import MemoryView
from webhook.facts.llmkube import FACTS, LayerSplit, accelerator_resource, parse_layer_split

READINESS = [
    ("cpu", "x.y/z", ""),
    ("", "", ""),
    ("metal", "x.y/z", ""),
    ("cuda", "", "nvidia.com/gpu"),
    ("cuda", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb"),
    ("rocm", "", "amd.com/gpu"),
    ("rocm", "squat.ai/dri-render", "squat.ai/dri-render"),
    ("intel", "", "gpu.intel.com/i915"),
    ("vulkan", "", "devic.es/dri-render"),
]

UNREADABLE = [
    "",
    "-",
    "5",
    "a-b",
    "9-0",
    "-1-5",
    "0--5",
    "0-5-9",
    "0-",
    "1.0-2",
    "0-9223372036854775808",
    "\u0660-\u0669",
]


@pytest.mark.parametrize(("accelerator", "name", "resource"), READINESS)
def test_readiness_looks_for_the_resource_of_the_accelerator(accelerator: str, name: str, resource: str) -> None:
    assert accelerator_resource(accelerator, name) == resource


@pytest.mark.parametrize("text", [*UNREADABLE, "9" * 5000 + "-" + "9" * 5000])
def test_an_unreadable_range_is_named(text: str) -> None:
    assert text[:20] in parse_layer_split(["0-1", text]).error


def test_leading_zeros_and_plus_signs_are_read_as_go_does() -> None:
    assert parse_layer_split(["+0-" + "0" * 5000 + "7", "8-15"]) == LayerSplit("", [], [])


def test_overlaps_and_gaps_are_found_in_any_order() -> None:
    assert parse_layer_split(["8-15", "0-9"]).overlaps == ["0-9 and 8-15"]
    assert parse_layer_split(["0-30", "1-2", "5-6"]).overlaps == ["0-30 and 1-2", "0-30 and 5-6"]
    assert parse_layer_split(["20-31", "4-15"]).gaps == ["0-3", "16-19"]
    assert parse_layer_split(["16-31", "0-15"]) == LayerSplit("", [], [])


ODD = [
    {},
    {"spec": None},
    {"spec": []},
    {"spec": {"source": 5, "hardware": 5}},
    {"spec": {"source": None, "hardware": {"gpu": {"sharding": {"layerSplit": "0-1"}}}}},
    {"spec": {"source": ["x"], "hardware": {"gpu": {"sharding": {"layerSplit": [None, 5, "0-1", {}]}}}}},
]


@pytest.mark.parametrize("model", ODD)
def test_facts_are_total(model: dict) -> None:
    for fact in FACTS["Model"].values():
        value = fact.compute(model, MemoryView())
        if fact.schema["type"] == "string":
            assert isinstance(value, str)
        else:
            assert set(fact.schema["properties"]) == set(value)


def test_the_fact_is_what_a_reader_should_know_of_the_split() -> None:
    sharding = {"layerSplit": ["1-9", "9-10"]}
    value = FACTS["Model"]["layerSplit"].compute({"spec": {"hardware": {"gpu": {"sharding": sharding}}}}, MemoryView())
    assert value == {"overlaps": ["1-9 and 9-10"], "gaps": ["0-0"]}
