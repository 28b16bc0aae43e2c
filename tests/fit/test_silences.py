"""Each silence of the specification: what is certain with a plain object and plain nodes is not said.

``docs/fit.md`` lists them. A case changes one thing of a service that no node can run, or whose weights are too large.
"""

import copy
from typing import Any

import jsonpatch
import pytest

from tests.conformance.fit_ops import said

GPU = "nvidia.com/gpu"
MODEL = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "Model",
    "metadata": {"name": "m", "namespace": "default"},
    "spec": {
        "source": "https://example.com/Llama-3.3-70B-Instruct-Q4_K_M.gguf",
        "format": "gguf",
        "hardware": {"accelerator": "cuda", "gpu": {"enabled": True, "count": 1, "vendor": "nvidia"}},
    },
    "status": {"phase": "Ready", "size": "39.6 GiB"},
}
SERVICE = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "InferenceService",
    "metadata": {"name": "s", "namespace": "default"},
    "spec": {"modelRef": "m"},
}
LABELS = {f"{GPU}.product": "NVIDIA-L4", f"{GPU}.memory": "23034", f"{GPU}.count": "1", f"{GPU}.replicas": "1"}
ALLOCATABLE = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110", GPU: "1"}


def node(name: str = "a", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": {**LABELS, **labels}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {},
        "status": {"allocatable": ALLOCATABLE},
    }


def an(kind: str, name: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}


def found(service=(), model=(), fleet=None, others=(), facts=None) -> set[tuple[str, bool]]:
    """The codes about a service, changed by JSON patches, and whether they are certain."""
    changed = [
        jsonpatch.apply_patch(copy.deepcopy(obj), list(patch)) for obj, patch in ((SERVICE, service), (MODEL, model))
    ]
    nodes = [node()] if fleet is None else fleet
    case = {"objects": [*changed, *others], "fleet": nodes, "facts": facts or {}}
    return {(code, certain) for code, _, _, certain in said(case)}


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


TWO = [add("/spec/hardware/gpu/count", 2)]
"""Two GPUs of nodes that have one."""
NOTHING = [{"op": "remove", "path": "/status"}, add("/spec/source", "https://example.com/x.gguf")]
SLICE = [add("/spec/resources", {"gpuSharing": {"mode": "shared", "memoryLimitGiB": 8}})]
KARPENTER = an("CustomResourceDefinition", "nodepools.karpenter.sh", "apiextensions.k8s.io/v1", spec={})
RUNTIME = [add("/spec/runtimeClassName", "nvidia")]


def test_a_service_that_no_node_can_run_is_said():
    assert found(model=[*NOTHING, *TWO]) == {("KN001", True)}
    assert found() == {("KF001", True)}


def test_the_same_service_passes_when_a_node_is_added():
    two = node("b", **{f"{GPU}.count": "2"})
    two["status"] = {"allocatable": {**ALLOCATABLE, GPU: "2"}}
    assert found(model=[*NOTHING, *TWO], fleet=[node(), two]) == set()


def unlike(**changes: Any) -> list[dict[str, Any]]:
    """The one node, changed at its top."""
    return [{**node(), **changes}]


NODES = {
    "no node in view": {"fleet": []},
    "a node that tells no capacity": {"fleet": unlike(status={})},
    "a node of Karpenter": {"fleet": [node(**{"karpenter.sh/nodepool": "x"})]},
    "the definitions of Karpenter": {"others": [KARPENTER]},
    "an autoscaler": {"facts": {"autoscaler": "present"}},
    "a pool of a cloud that an autoscaler may grow": {"fleet": [node(**{"eks.amazonaws.com/nodegroup": "x"})]},
    "GKE's pool": {"fleet": [node(**{"cloud.google.com/gke-nodepool": "x"})]},
    "AKS's pool": {"fleet": [node(**{"kubernetes.azure.com/agentpool": "x"})]},
    "a class of devices that offers the resource": {"facts": {"draExtended": [GPU]}},
    "a RuntimeClass that is not in view": {"service": RUNTIME},
    "a shared GPU, of which the operator's selector is not seen": {
        "service": SLICE,
        "model": [add("/spec/hardware/gpu/count", 1)],
    },
    "more GPUs by the labels than are offered now": {"fleet": [node(**{f"{GPU}.count": "2"})]},
    "more time slices by the labels": {"fleet": [node(**{f"{GPU}.replicas": "4"})]},
    "more GPUs in the machine than work now": {
        "fleet": unlike(status={"allocatable": ALLOCATABLE, "capacity": {**ALLOCATABLE, GPU: "2"}})
    },
    "a resource that a DeviceClass offers by its own name": {
        "model": [add("/spec/hardware/gpu/resourceName", "deviceclass.resource.kubernetes.io/gpu.example.com")]
    },
    "a pool of another cloud": {"fleet": [node(**{"doks.digitalocean.com/node-pool": "x"})]},
    "OpenShift, whose autoscaler is in another namespace": {
        "fleet": [node(**{"node.openshift.io/os_id": "rhel"})],
        "facts": {"autoscaler": "absent"},
    },
    "Intel's GPUs, whose resource a variable names": {"model": [add("/spec/hardware/gpu/vendor", "intel")]},
    "claims of devices": {
        "model": [add("/spec/hardware/gpu/resourceClaims", [{"name": "c", "resourceClaimName": "c"}])]
    },
    "no replicas": {"service": [add("/spec/replicas", 0)]},
}


@pytest.mark.parametrize("name", NODES)
def test_nodes_are_not_judged(name):
    given = dict(NODES[name])
    model = [*NOTHING, *TWO, *given.pop("model", [])]
    codes = {code for code, _ in found(model=model, **given)}
    assert codes.isdisjoint({"KN001", "KN002"})


def test_a_pool_that_is_known_not_to_grow_is_judged():
    given = {"fleet": [node(**{"eks.amazonaws.com/nodegroup": "x"})], "facts": {"autoscaler": "absent"}}
    assert found(model=[*NOTHING, *TWO], **given) == {("KN001", True)}


FORGIVEN = {
    "a cordon": {"spec": {"unschedulable": True}},
    "a node that is not ready": {"spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]}},
    "a node that the cloud has not initialised": {
        "spec": {"taints": [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}]}
    },
    "a taint that only prefers": {"spec": {"taints": [{"key": "x", "effect": "PreferNoSchedule"}]}},
}


@pytest.mark.parametrize("name", FORGIVEN)
def test_what_ends_by_itself_is_forgiven(name):
    assert found(model=NOTHING, fleet=unlike(**FORGIVEN[name])) == set()


def test_a_taint_alone_is_probable_and_not_said_of_a_queue():
    tainted = unlike(spec={"taints": [{"key": "x", "effect": "NoSchedule"}]})
    assert found(model=NOTHING, fleet=tainted) == {("KN002", False)}
    queued = [add("/metadata/labels", {"kueue.x-k8s.io/queue-name": "q"})]
    assert found(service=queued, model=NOTHING, fleet=tainted) == set()
    exists = [add("/spec/tolerations", [{"key": "x", "operator": "Exists"}])]
    assert found(service=exists, model=NOTHING, fleet=tainted) == set()


def test_a_runtime_class_is_missing_only_where_others_are_in_view():
    assert found(service=RUNTIME, model=NOTHING) == set()
    other = an("RuntimeClass", "kata", "node.k8s.io/v1", handler="kata")
    assert found(service=RUNTIME, model=NOTHING, others=[other]) == {("KF005", True)}


def test_a_runtime_class_in_view_adds_its_selector_and_its_overhead():
    runtime = an("RuntimeClass", "nvidia", "node.k8s.io/v1", handler="nvidia")
    assert found(service=RUNTIME, model=NOTHING, others=[runtime]) == set()
    picky = {**runtime, "scheduling": {"nodeSelector": {"runtime": "nvidia"}}}
    assert found(service=RUNTIME, model=NOTHING, others=[picky]) == {("KN001", True)}
    heavy = {**runtime, "overhead": {"podFixed": {"memory": "65Gi"}}}
    assert found(service=RUNTIME, model=NOTHING, others=[heavy]) == {("KN001", True)}


def flagged(*args: str) -> dict[str, Any]:
    return {"service": [add("/spec/extraArgs", list(args))]}


def gpu(**fields: Any) -> dict[str, Any]:
    return {"model": [add(f"/spec/hardware/gpu/{name}", value) for name, value in fields.items()]}


def spec(**fields: Any) -> dict[str, Any]:
    return {"service": [add(f"/spec/{name}", value) for name, value in fields.items()]}


WEIGHTS = {
    "some layers": gpu(layers=20),
    "experts stay on the node": spec(moeCPUOffload=True),
    "some experts stay on the node": spec(moeCPULayers=4),
    "tensors are placed by hand": spec(tensorOverrides=["exps=CPU"]),
    "unified memory": spec(env=[{"name": "GGML_CUDA_ENABLE_UNIFIED_MEMORY", "value": "1"}]),
    "an engine of the user's own": spec(runtime="generic", image="r/x:1", command=["x"]),
    **{
        f"the flag {flag}": flagged(flag, "1")
        for flag in (
            *("-ngl", "--n-gpu-layers", "--gpu-layers", "-ot", "--override-tensor", "--cpu-moe", "--n-cpu-moe"),
            *("--fit", "-dev", "--device", "--rpc", "--cpu-offload-gb", "--kv-offloading-size", "--n_gpu_layers"),
            *("--model-url", "-hfr", "--kt-method", "--offload-group-size", "--hf-overrides", "--config"),
        )
    },
    **{
        f"the variable {name}": spec(env=[{"name": name, "value": "1"}])
        for name in ("LLAMA_ARG_CPU_MOE", "LLAMA_ARG_OVERRIDE_TENSOR", "GGML_VK_ALLOW_SYSMEM_FALLBACK")
    },
    "embeddings of each layer, by the name of the file": {
        "model": [add("/spec/source", "https://example.com/gemma-3n-E4B-it-F16.gguf")]
    },
    "embeddings of each layer, by the architecture": {
        "model": [add("/spec/source", "https://example.com/x.gguf"), add("/status/gguf", {"architecture": "gemma3n"})]
    },
    "weights that are made up": flagged("--load-format", "dummy"),
    "a label in another unit": {"fleet": unlike(metadata={"name": "a", "labels": {f"{GPU}.memory": "24"}})},
    "a label with a unit": {"fleet": unlike(metadata={"name": "a", "labels": {f"{GPU}.memory": "80Gi"}})},
    "a label that lies upwards": {"fleet": unlike(metadata={"name": "a", "labels": {f"{GPU}.memory": "288000"}})},
    "a product that is not in the table": {"fleet": unlike(metadata={"name": "a", "labels": {f"{GPU}.product": "X"}})},
    "memory that is shared with the node": {
        "fleet": unlike(
            metadata={"name": "a", "labels": {f"{GPU}.product": "NVIDIA-GH200-480GB", f"{GPU}.memory": "97871"}}
        )
    },
    "a node that fits and does not tell": {"fleet": [node(), unlike(metadata={"name": "b", "labels": {}})[0]]},
    "a size that is not known": {
        "model": [add("/status/size", "0"), add("/spec/source", "https://example.com/x.gguf")]
    },
    "a cluster that may add nodes": {"fleet": [node(**{"karpenter.sh/nodepool": "x"})]},
    **{
        f"a file beside the model: {word}": {
            "model": [
                {"op": "remove", "path": "/status"},
                add("/spec/source", f"https://example.com/Llama-3.3-70B-Instruct-{word}-Q4_K_M.gguf"),
            ]
        }
        for word in ("UD", "dynamic", "draft", "mtp", "eagle3", "medusa", "lora", "adapter", "mmproj", "imatrix")
    },
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_memory_is_not_judged(name):
    given = dict(WEIGHTS[name])
    codes = {code for code, _ in found(**given)}
    assert codes.isdisjoint({"KF001", "KF002"})


def test_a_board_that_has_modified_variants_is_probable():
    board = unlike(metadata={"name": "a", "labels": {f"{GPU}.product": "NVIDIA-GeForce-RTX-3090"}})
    assert found(fleet=board) == {("KF001", False)}


def test_a_count_that_is_less_than_what_the_node_offers_is_not_believed():
    lying = node()
    lying["status"] = {"allocatable": {**ALLOCATABLE, GPU: "2"}}
    assert found(model=TWO, fleet=[lying]) == set()


def test_layers_beyond_99_stay_on_the_node():
    size = {"op": "add", "path": "/status/size", "value": "26.0 GiB"}
    assert found(model=[add("/spec/source", "https://example.com/x.gguf"), size]) == set()
    assert found(model=[add("/status/size", "27.0 GiB")]) == {("KF001", True)}
    many = [add("/status/gguf", {"layerCount": 126})]
    assert found(model=[add("/status/size", "27.0 GiB"), *many]) == set()


def test_without_nodes_only_a_gpu_that_the_object_names_is_known():
    assert found(fleet=[]) == set()
    named = {"cloud.google.com/gke-accelerator": "nvidia-l4"}
    assert found(service=[add("/spec/nodeSelector", named)], fleet=[]) == {("KF001", True)}
    partition = [add("/spec/resources", {"gpuSharing": {"mode": "partitioned", "profile": "1g.10gb"}})]
    assert found(service=partition, fleet=[]) == {("KF001", True)}
    assert found(service=[add("/spec/nodeSelector", {"pool": "gpu"})], fleet=[]) == set()


def test_a_time_slice_has_no_memory_of_its_own():
    sliced = node(**{f"{GPU}.replicas": "4"})
    sliced["status"] = {"allocatable": {**ALLOCATABLE, GPU: "4"}}
    assert found(model=TWO, fleet=[sliced]) == {("KF001", True)}


def test_a_cache_whose_length_is_not_written_is_not_counted():
    smaller = [add("/status/size", "21.0 GiB")]
    assert found(model=smaller) == set()
    assert found(service=[add("/spec/contextSize", 65536)], model=smaller) == {("KF002", False)}
    off = [add("/spec/contextSize", 65536), add("/spec/noKvOffload", True)]
    assert found(service=off, model=smaller) == set()
