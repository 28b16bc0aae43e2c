"""Silences that follow from how an API starts its engines: several pods share a model, or another one is loaded."""

import copy
from typing import Any

import jsonpatch
import pytest

from tests.conformance.fit_ops import said
from tests.fit.test_silences import an
from tests.fit.worlds import AIM, GPU, LLMAZ, OME

MI300 = {
    **an("Node", "m", spec={}),
    "metadata": {"name": "m", "labels": {"amd.com/gpu.device-id": "74a1", "amd.com/gpu.vram": "192G"}},
    "status": {"allocatable": {"cpu": "128", "memory": "1500Gi", "pods": "110", "amd.com/gpu": "8"}},
}
L4 = {
    **an("Node", "l", spec={}),
    "metadata": {"name": "l", "labels": {f"{GPU}.memory": "23034", f"{GPU}.product": "NVIDIA-L4", "a": "b"}},
    "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110", GPU: "8"}},
}


def judged(world: list[dict[str, Any]], node: dict[str, Any], others=(), **patches: tuple[int, str, Any]) -> set[Any]:
    """The codes about the first object of a world, in which values are written, and whether they are certain."""
    objects = copy.deepcopy(world)
    for place, path, value in patches.values():
        objects[place] = jsonpatch.apply_patch(objects[place], [{"op": "add", "path": path, "value": value}])
    return {(code, sure) for code, _, _, sure in said({"objects": [*objects, *others], "fleet": [node], "facts": {}})}


FIELD = "/spec/engineConfig/runner"
PLAIN = {
    "affinity": (1, "/spec/engineConfig/affinity", {}),
    "of_model": (2, "/spec/storage/nodeAffinity", {}),
    "args": (1, f"{FIELD}/args", ["--model", "$(MODEL_PATH)"]),
}


def of_ome(**patches: tuple[int, str, Any]) -> set[Any]:
    return judged(OME, L4, **{**PLAIN, **patches})


def args(*words: str) -> dict[str, tuple[int, str, Any]]:
    return {"args": (1, f"{FIELD}/args", list(words))}


def gpus(count: int) -> dict[str, tuple[int, str, Any]]:
    return {"gpus": (1, f"{FIELD}/resources", {"limits": {GPU: str(count)}})}


def test_weights_of_a_service_of_ome_exceed_one_gpu():
    assert of_ome() == {("KF001", True)}


OME_SILENT = {
    "a flag with an underscore": args("--cpu_offload_gb", "50"),
    "experts on the node": args("--kt-method=AMX"),
    "several nodes": args("--nnodes", "2"),
    "one node of several that Ray joins": args("--distributed-executor-backend", "ray"),
    "layers that a pipeline divides": args("--pipeline-parallel-size=2"),
    "another model": args("--model", "/mnt/other"),
    "fewer layers": args("--hf-overrides", '{"num_hidden_layers":1}'),
    "weights of another form": args("--load-format=bitsandbytes"),
    "unified memory": {"env": (1, f"{FIELD}/env", [{"name": "GGML_CUDA_ENABLE_UNIFIED_MEMORY", "value": "1"}])},
}


@pytest.mark.parametrize("name", OME_SILENT)
def test_memory_of_a_service_of_ome_is_not_judged(name):
    assert of_ome(**OME_SILENT[name]) == set()


def test_what_the_model_states_is_believed_where_it_is_less():
    assert of_ome(**gpus(2)) == {("KF001", True)}
    assert of_ome(**gpus(2), stated=(2, "/spec/quantization", "int4")) == {("KF002", False)}


def test_ranks_of_vllm_in_a_runtime_of_ome():
    assert of_ome(**gpus(8), **args("--tensor-parallel-size=3", "--quantization=fp8")) == {("KF003", True)}
    assert of_ome(**gpus(8), **args("--tensor-parallel-size=8", "--quantization=fp8")) == set()
    assert of_ome(**gpus(8), **args("--tensor-parallel-size=3", "--quantization=fp8", "--hf-overrides={}")) == set()


FLAVOR = "/spec/inferenceConfig/flavors/0"
ONE = {
    "family": (0, "/spec/familyName", "llama3"),
    "only": (0, "/spec/inferenceConfig/flavors", [{"name": "f", "limits": {GPU: "1"}}]),
}


def test_a_model_of_llmaz_that_a_pipeline_divides_is_not_judged():
    assert judged(LLMAZ, L4, **ONE) == {("KF001", True)}
    assert judged(LLMAZ, L4, **ONE, params=(0, f"{FLAVOR}/params", {"TP": "1", "PP": "1"})) == {("KF001", True)}
    assert judged(LLMAZ, L4, **ONE, params=(0, f"{FLAVOR}/params", {"TP": "1", "PP": "2"})) == set()


def of_aim(*others: dict[str, Any], **patches: tuple[int, str, Any]) -> set[Any]:
    return judged(AIM, MI300, others, image=(0, "/spec/aimImageName", "i"), **patches)


def quota(**hard: str) -> dict[str, Any]:
    one = an("ResourceQuota", "q", spec={"hard": {key.replace("_", "."): value for key, value in hard.items()}})
    return {**one, "metadata": {"name": "q", "namespace": "default"}}


def test_variables_of_aim_that_change_what_is_loaded():
    assert of_aim() == {("KF001", True)}
    for place in (0, 1):
        for name in ("AIM_ENGINE_ARGS", "AIM_PRECISION"):
            assert of_aim(env=(place, "/spec/env", [{"name": name, "value": "{}"}])) == set()
        assert of_aim(env=(place, "/spec/env", [{"name": "X", "value": "1"}])) == {("KF001", True)}
    given = (1, "/status/profile/engine_args", {"cpu-offload-gb": 100})
    assert of_aim(given=given) == set()


def test_what_kserve_fills_in_is_not_missed():
    small = {"precision": (1, "/status/profile/metadata/gpu_count", 8)}
    assert of_aim(quota(requests_cpu="1", limits_memory="900Gi"), **small) == set()
    none = quota()
    none["spec"]["hard"] = {"requests.amd.com/gpu": "1"}
    assert of_aim(none, **small) == {("KF005", True)}
