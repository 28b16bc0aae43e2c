"""GPU derivation. The tables hold cases of deployment_builder_test.go, model_accelerator_test.go and gpu_test.go."""

import pytest

from webhook.cluster.view import MemoryView
from webhook.facts.llmkube import (
    FACTS,
    LayerSplit,
    accelerator_resource,
    gpu_count,
    gpu_resource,
    parse_layer_split,
    split_mode,
    tensor_split,
)

RESOURCES = [
    ("nvidia", "", "", "nvidia.com/gpu"),
    ("", "", "", "nvidia.com/gpu"),
    ("nvidia", "vulkan", "", "nvidia.com/gpu"),
    ("unknown", "", "", "nvidia.com/gpu"),
    ("amd", "", "", "amd.com/gpu"),
    ("AMD ", " Vulkan", "", "devic.es/dri-render"),
    ("amd", "vulkan", "", "devic.es/dri-render"),
    ("amd", "rocm", "", "amd.com/gpu"),  # devic.es/dri-render from 0.9.8 on
    ("intel", "", "", "gpu.intel.com/i915"),
    ("intel", "vulkan", "", "gpu.intel.com/i915"),
    ("amd", "vulkan", "amd.com/gpu", "amd.com/gpu"),
    ("intel", "", " squat.ai/dri-render ", "squat.ai/dri-render"),
]

READINESS = [
    ("cpu", "nvidia", "x.y/z", ""),
    ("", "nvidia", "", ""),
    ("metal", "nvidia", "x.y/z", ""),
    ("cuda", "amd", "", "nvidia.com/gpu"),
    ("cuda", "nvidia", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb"),
    ("rocm", "nvidia", "", "amd.com/gpu"),
    ("rocm", "amd", "squat.ai/dri-render", "squat.ai/dri-render"),
    ("intel", "nvidia", "", "gpu.intel.com/i915"),
    ("vulkan", "amd", "", "devic.es/dri-render"),
    ("vulkan", "intel", "", "gpu.intel.com/i915"),
]

COUNTS = [(2, 1, 2), (0, 3, 3), (0, 0, 0), (1, 0, 1)]

SPLITS = [
    (2, ["0-24", "25-39"], (5, 3)),
    (2, ["0-15", "16-31"], (1, 1)),
    (4, ["0-19", "20-39"], (1, 1, 1, 1)),
    (2, [" 0 - 9 ", "10-29"], (1, 2)),
    (2, ["0-9", "ten-29"], (1, 1)),
    (2, ["9-0", "10-29"], (1, 1)),
    (2, [], (1, 1)),
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

MODES = [
    ("", "layer"),
    ("layer", "layer"),
    ("pipeline", "layer"),
    ("tensor", "row"),
    ("row", "row"),
    ("none", "none"),
]


@pytest.mark.parametrize(("vendor", "runtime", "name", "resource"), RESOURCES)
def test_pods_ask_for_the_resource_of_vendor_and_runtime(vendor: str, runtime: str, name: str, resource: str) -> None:
    assert gpu_resource(vendor, runtime, name) == resource


@pytest.mark.parametrize(("accelerator", "vendor", "name", "resource"), READINESS)
def test_readiness_looks_for_the_resource_of_the_accelerator(
    accelerator: str, vendor: str, name: str, resource: str
) -> None:
    assert accelerator_resource(accelerator, vendor, name) == resource


@pytest.mark.parametrize(("model", "service", "count"), COUNTS)
def test_the_model_s_count_goes_before_the_service_s(model: int, service: int, count: int) -> None:
    assert gpu_count(model, service) == count


@pytest.mark.parametrize(("count", "ranges", "ratios"), SPLITS)
def test_the_tensor_split_is_even_unless_each_gpu_has_a_range(
    count: int, ranges: list[str], ratios: tuple[int, ...]
) -> None:
    assert tensor_split(count, ranges) == ratios


@pytest.mark.parametrize("text", [*UNREADABLE, "9" * 5000 + "-" + "9" * 5000])
def test_an_unreadable_range_is_named(text: str) -> None:
    split = parse_layer_split(["0-1", text])
    assert split.ratios == ()
    assert text[:20] in split.error


def test_leading_zeros_and_plus_signs_are_read_as_go_does() -> None:
    assert parse_layer_split(["+0-" + "0" * 5000 + "7", "8-15"]).ratios == (1, 1)


def test_overlaps_and_gaps_are_found_in_any_order() -> None:
    assert parse_layer_split(["8-15", "0-9"]).overlaps == ("0-9 and 8-15",)
    assert parse_layer_split(["0-30", "1-2", "5-6"]).overlaps == ("0-30 and 1-2", "0-30 and 5-6")
    assert parse_layer_split(["20-31", "4-15"]).gaps == ("0-3", "16-19")
    assert parse_layer_split(["16-31", "0-15"]) == LayerSplit(ratios=(1, 1))


@pytest.mark.parametrize(("strategy", "mode"), MODES)
def test_strategies_are_split_modes(strategy: str, mode: str) -> None:
    assert split_mode(strategy) == mode


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
        assert set(fact.schema["properties"]) == set(fact.compute(model, MemoryView()))


def test_the_fact_is_what_a_reader_should_know_of_the_split() -> None:
    sharding = {"layerSplit": ["1-9", "9-10"]}
    value = FACTS["Model"]["layerSplit"].compute({"spec": {"hardware": {"gpu": {"sharding": sharding}}}}, MemoryView())
    assert value == {"overlaps": ["1-9 and 9-10"], "gaps": ["0-0"]}
