"""A small world for each kind that is judged by nodes: the object, the others that it names, and a node."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

GPU = "nvidia.com/gpu"


def _an(version: str, kind: str, name: str, spec: Json, **more: Any) -> Json:
    cluster = kind.startswith("Cluster") or kind in {"Node", "OpenModel"}
    metadata = {"name": name, **({} if cluster else {"namespace": "default"})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, **more}


NODE = {
    **_an("v1", "Node", "a", {"taints": [{"key": "x", "value": "y", "effect": "NoSchedule"}], "unschedulable": False}),
    "metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "a", f"{GPU}.memory": "23034", f"{GPU}.count": "1"}},
    "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", GPU: "1", "amd.com/gpu": "1"}},
}
AROUND = [
    NODE,
    _an("v1", "ResourceQuota", "q", {"hard": {"requests.cpu": "1", f"requests.{GPU}": "1"}}),
    _an(
        "v1", "LimitRange", "l", {"limits": [{"type": "Container", "max": {"memory": "1Gi"}, "default": {"cpu": "1"}}]}
    ),
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}, "value": 1},
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "r"},
        "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "x"}]},
        "overhead": {"podFixed": {"cpu": "1"}},
    },
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "s"},
        "provisioner": "ebs.csi.aws.com",
    },
]
_TERM = {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}], "matchFields": []}
_AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]}}}

LLMKUBE = [
    _an(
        "inference.llmkube.dev/v1alpha1",
        "InferenceService",
        "s",
        {
            "modelRef": "m",
            "replicas": 1,
            "contextSize": 4096,
            "cacheTypeK": "q8_0",
            "extraArgs": ["--x", "1"],
            "env": [{"name": "A", "value": "1"}],
            "nodeSelector": {"a": "b"},
            "affinity": _AFFINITY,
            "tolerations": [{"key": "x", "operator": "Exists"}],
            "priorityClassName": "p",
            "runtimeClassName": "r",
            "podLabels": {"a": "b"},
            "resources": {
                "cpu": "1",
                "memory": "1Gi",
                "hostMemory": "2Gi",
                "gpu": 1,
                "gpuSharing": {"mode": "exclusive"},
            },
            "modelCache": {"claimName": "c", "persistence": "Persistent"},
            "vllmConfig": {"maxModelLen": 4096, "tensorParallelSize": 2, "gpuMemoryUtilization": 0.9},
        },
    ),
    _an(
        "inference.llmkube.dev/v1alpha1",
        "Model",
        "m",
        {
            "source": "https://e.example/Llama-3.3-70B-Instruct-Q4_K_M.gguf",
            "files": ["a.gguf"],
            "hardware": {
                "accelerator": "cuda",
                "gpu": {"count": 1, "vendor": "nvidia", "layers": 0},
                "memoryBudget": "48Gi",
            },
        },
        status={"size": "39.6 GiB", "sourceContentLength": 1, "gguf": {"layerCount": 1, "embeddingSize": 1}},
    ),
    _an("v1", "PersistentVolumeClaim", "c", {"storageClassName": "s"}, status={"capacity": {"storage": "1Gi"}}),
]
_RUNNER = {
    "name": "ome-container",
    "image": "r/vllm:1",
    "command": ["vllm"],
    "args": ["--max-model-len", "4096"],
    "resources": {"limits": {GPU: "1", "memory": "1Gi"}, "requests": {GPU: "1"}},
}
OME = [
    _an(
        "ome.io/v1beta1",
        "InferenceService",
        "s",
        {"model": {"name": "m", "kind": "ClusterBaseModel"}, "runtime": {"name": "r"}, "engine": {"minReplicas": 1}},
    ),
    _an(
        "ome.io/v1beta1",
        "ClusterServingRuntime",
        "r",
        {"engineConfig": {"runner": _RUNNER, "nodeSelector": {"a": "b"}, "affinity": _AFFINITY}},
    ),
    _an(
        "ome.io/v1beta1",
        "ClusterBaseModel",
        "m",
        {
            "modelParameterSize": "70B",
            "quantization": "fp8",
            "storage": {
                "storageUri": "hf://meta-llama/Llama-3.1-70B-Instruct",
                "nodeSelector": {"a": "b"},
                "nodeAffinity": _AFFINITY["nodeAffinity"],
            },
        },
    ),
]
AIM = [
    _an("aim.silogen.ai/v1alpha1", "AIMService", "s", {"templateRef": "t", "resources": {"limits": {"memory": "1Gi"}}}),
    _an(
        "aim.silogen.ai/v1alpha1",
        "AIMServiceTemplate",
        "t",
        {"aimImageName": "i", "precision": "fp16", "gpuSelector": {"count": 1, "model": "MI300X"}},
        status={
            "modelSources": [{"name": "meta-llama/Llama-3.1-405B-Instruct"}],
            "profile": {"metadata": {"gpu": "MI300X", "gpu_count": 1, "precision": "fp16"}},
        },
    ),
]
LLMAZ = [
    _an(
        "llmaz.io/v1alpha1",
        "OpenModel",
        "m",
        {
            "source": {"modelHub": {"modelID": "meta-llama/Meta-Llama-3-70B-Instruct"}},
            "inferenceConfig": {"flavors": [{"name": "f", "limits": {GPU: "1"}}, {"name": "g", "limits": {GPU: 8}}]},
        },
    )
]
LLMD = [
    _an(
        "llmd.ai/v1alpha1",
        "VariantAutoscaling",
        "v",
        {"modelID": "meta/llama-3.1-405b", "accelerator": "A100", "acceleratorCount": 1},
    )
]
WORLDS = {"llmkube": LLMKUBE, "ome": OME, "aim": AIM, "llmaz": LLMAZ, "llmd": LLMD}
