"""The pod of an LLMKube service, what its engine loads, its cache of files, and the check of the Metal agent.

Source: internal/controller/{deployment_builder,gpu_resources,gpu_sharing}.go and pkg/agent/memory.go at 907ac8d8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fit import (
    Claim,
    FitTerm,
    GpuLoad,
    Ranks,
    ServedPod,
    Workload,
    flag,
    keeps_outside,
    loads_elsewhere,
    since,
    wants_number,
)
from webhook.facts.llmkube.source import SourceKind, parse_source
from webhook.facts.memory import (
    GIB,
    Bound,
    Model,
    cache_bytes,
    device_of_partition,
    element_bytes,
    gib,
    keeps_layer_embeddings,
    model_of_file,
    model_of_repository,
    of_file,
    of_repository,
    of_size,
    size_of_text,
)
from webhook.facts.nodes import at, items, mapping, namespace_of, text, texts, whole
from webhook.facts.settings import Settings
from webhook.golang import quantity
from webhook.golang.errors import GoError

_GROUP: Final = "inference.llmkube.dev"
_DRI: Final = "devic.es/dri-render"
_MIG: Final = "nvidia.com/mig-"

Json = dict[str, Any]
_Claims = tuple[list[Claim], list[FitTerm]]


class _Served(NamedTuple):
    """A service and its Model."""

    service: Json
    model: Json
    releases: Sequence[str]

    @property
    def spec(self) -> Mapping[str, Any]:
        return mapping(self.service, "spec")

    @property
    def gpu(self) -> Mapping[str, Any]:
        return mapping(self.model, "spec", "hardware", "gpu")

    @property
    def runtime(self) -> str:
        return text(self.spec, "runtime") or "llamacpp"

    @property
    def gpus(self) -> int:
        count = whole(self.gpu, "count") or 0
        return count if count > 0 else max(whole(self.spec, "resources", "gpu") or 0, 0)

    @property
    def args(self) -> list[str]:
        return [*texts(self.spec, "extraArgs"), *texts(self.spec, "args")]

    @property
    def file(self) -> str:
        """The name of the first file, "" if the source names none."""
        files, source = texts(self.model, "spec", "files"), text(self.model, "spec", "source")
        return files[0] if files else source.partition("?")[0].partition("#")[0]


def fit_of_service(service: Json, view: ClusterView, settings: Settings, releases: Sequence[str]) -> Workload | None:
    """What a service asks for; None without its Model, with 0 replicas, or if the operator makes nothing of it."""
    name = text(service, "spec", "modelRef")
    model = view.get(Kind(_GROUP, "Model"), namespace_of(service), name) if name else None
    if model is None or whole(service, "spec", "replicas") == 0:
        return None
    served = _Served(service, model, releases)
    if text(model, "spec", "hardware", "accelerator") == "metal":
        return _on_metal(served)
    resource = _resource(served)
    loads = [_load(served, resource)] if served.gpus else []
    claims, terms = _storage(served, None if settings.nodes == "off" else view)
    labels = {**mapping(service, "metadata", "labels"), **mapping(service, "spec", "podLabels")}
    pod = ServedPod(_pod(served, resource), _origin(served), _unseen(served, resource), labels)
    return Workload([pod], loads, _ranks(served), claims, terms)


def _resource(served: _Served) -> str | None:
    """The resource that the pod asks for; None where it depends on a release that is not known."""
    sharing, gpu = mapping(served.spec, "resources", "gpuSharing"), served.gpu
    if sharing.get("mode") == "partitioned":
        return f"{_MIG}{text(sharing, 'profile').strip()}"
    if named := text(gpu, "resourceName").strip():
        return named
    vendor, runtime = text(gpu, "vendor").lower(), text(gpu, "runtime").strip().lower()
    if vendor == "amd" and runtime == "rocm":
        is_shared = since(served.releases, "0.9.8")
        return None if is_shared is None else _DRI if is_shared else "amd.com/gpu"
    if vendor == "amd":
        return _DRI if runtime == "vulkan" else "amd.com/gpu"
    return "gpu.intel.com/i915" if vendor == "intel" else "nvidia.com/gpu"


def _unseen(served: _Served, resource: str | None) -> str:
    """What of the pod is not known."""
    if served.gpus and resource is None:
        return "the release of LLMKube is not known, and its resource depends on it"
    if served.gpus and not text(served.gpu, "resourceName").strip() and text(served.gpu, "vendor").lower() == "intel":
        return "a variable of the operator names the resource of Intel's GPUs"
    sharing = text(served.spec, "resources", "gpuSharing", "mode")
    if sharing == "shared" and text(served.gpu, "vendor").lower() != "amd":
        return "the operator adds the selector of its shared pool"
    selects = mapping(served.spec, "nodeSelector") or items(served.spec, "tolerations")
    if not served.gpus and selects and since(served.releases, "0.9.17") is None:
        return "the release of LLMKube is not known, and the selector of a pod without a GPU depends on it"
    return ""


def _pod(served: _Served, resource: str | None) -> Json:
    """The parts of the pod that a scheduler reads."""
    spec, limits = served.spec, dict[str, Any]()
    asked = mapping(spec, "resources")
    requests = {"cpu": asked.get("cpu"), "memory": asked.get("hostMemory") or asked.get("memory")}
    if served.gpus and resource is not None:
        limits[resource] = served.gpus
    if storage := asked.get("ephemeralStorage"):
        limits["ephemeral-storage"] = requests["ephemeral-storage"] = storage
    resources = {"requests": {key: value for key, value in requests.items() if value}, "limits": limits}
    pod: Json = {"containers": [{"name": "model-server", "resources": resources}]}
    claims = served.gpu.get("resourceClaims")
    if served.gpus or claims or since(served.releases, "0.9.17"):
        pod["nodeSelector"], pod["tolerations"] = spec.get("nodeSelector"), _tolerations(served, resource)
    others = {key: spec.get(key) for key in ("affinity", "priorityClassName", "runtimeClassName")}
    return {**pod, **others, "resourceClaims": claims}


def _tolerations(served: _Served, resource: str | None) -> Any:
    own = served.spec.get("tolerations")
    if not served.gpus or resource is None:
        return own
    key = text(served.gpu, "tolerationKey").strip() or resource
    added = {"key": key, "operator": "Equal", "value": "present", "effect": "NoSchedule"}
    return [added, *own] if isinstance(own, list) else [added]


_OF_RESOURCES: Final = {"cpu": "cpu", "ephemeral-storage": "ephemeralStorage"}


def _origin(served: _Served) -> Any:
    asked = mapping(served.spec, "resources")
    memory = "hostMemory" if asked.get("hostMemory") else "memory"

    def field_of(path: str) -> str:
        name = path.partition(":")[2]
        if path.startswith("resources:"):
            field = memory if name == "memory" else _OF_RESOURCES.get(name, "gpu" if asked.get("gpu") else "")
            return f"spec.resources.{field}" if field in asked else "spec.modelRef"
        return f"spec.{path}" if path and served.spec.get(path) else "spec.modelRef"

    return field_of


_WHY_SILENT: Final = "the object keeps a part of the model outside of its GPUs"


def _silence(served: _Served) -> str:
    """Why nothing is said of the memory of the GPUs, "" if something may be."""
    spec, args = served.spec, served.args
    if (whole(served.gpu, "layers") or 0) > 0 or spec.get("moeCPUOffload") is True or whole(spec, "moeCPULayers"):
        return _WHY_SILENT
    if spec.get("tensorOverrides") or (at(spec, "vllmConfig", "cpuOffloadGB") or 0) != 0:
        return _WHY_SILENT
    if keeps_outside(args, [text(variable, "name") for variable in items(spec, "env")]):
        return _WHY_SILENT
    if flag(args, "-m", "--model", "--model-path") is not None or loads_elsewhere(args):
        return "an argument names the model, or other pods that share the weights"
    if served.runtime not in {"llamacpp", "vllm", "sglang"}:
        return f"what runtime {served.runtime} loads is not known"
    if text(spec, "image") or texts(spec, "command"):
        return "the image or command is the user's own" if served.runtime == "generic" or spec.get("command") else ""
    return ""


def _load(served: _Served, resource: str | None) -> GpuLoad:
    silent, field = _silence(served), "spec.modelRef"
    if resource is None or silent:
        return GpuLoad(field, 0, served.gpus, resource or "", None, silent=silent)
    profile = resource.removeprefix(_MIG) if resource.startswith(_MIG) else ""
    load = GpuLoad(field, 0, served.gpus, resource, _weights(served), device=device_of_partition(profile, {}))
    if served.runtime == "llamacpp":
        return _llamacpp(served, load)
    return _vllm(served, load) if served.runtime == "vllm" else load._replace(usable=0.95)


def _size(served: _Served) -> Bound | None:
    """The size of the file, at least."""
    length, written = whole(served.model, "status", "sourceContentLength") or 0, text(served.model, "status", "size")
    if length > 0:
        return Bound(length, True, "status.sourceContentLength of the Model")
    size = size_of_text(written)
    return None if size is None else Bound(size, True, f"status.size of the Model: {written}")


def _weights(served: _Served) -> Bound | None:
    if served.runtime == "llamacpp":
        return _of_gguf(served)
    model = _repository(served)
    if model is None:
        return None
    config = mapping(served.spec, f"{served.runtime}Config")
    chosen = [text(config, "quantization"), flag(served.args, "--quantization", "-q", "--torchao-config") or ""]
    revision = flag(served.args, "--revision") or parse_source(text(served.model, "spec", "source")).revision
    is_other = not _USUAL.fullmatch(revision)
    return of_repository(model, [method for method in chosen if method], chosen_elsewhere=is_other)


_USUAL: Final = re.compile(r"|main|[0-9a-f]{7,40}")
"""Revisions whose precision is that of the repository: others may be branches with another one."""
_OFFLOADED: Final = 99
"""Layers that the operator puts on GPUs, with the output layer: a model with more has the others on the node."""


def _of_gguf(served: _Served) -> Bound | None:
    size, named = _size(served), model_of_file(served.file)
    made = keeps_layer_embeddings(served.file, text(served.model, "status", "gguf", "architecture"))
    by_name = None if named is None or made else of_file(named)
    weights = by_name if size is None else of_size(size.bytes, size.source, layer_embeddings=made)
    layers = whole(served.model, "status", "gguf", "layerCount") or 0
    if named is not None and named.model is not None:
        layers = max(layers, named.model.layers)
    if weights is None or layers < _OFFLOADED:
        return weights
    share = f", of {_OFFLOADED} of {layers + 1} layers"
    return Bound(weights.bytes * (_OFFLOADED - 1) // layers, weights.certain, weights.source + share)


def _repository(served: _Served) -> Model | None:
    """The model of the repository that vLLM or SGLang loads; None for a single file."""
    source = parse_source(text(served.model, "spec", "source"))
    is_file = served.file.lower().endswith(".gguf") or flag(served.args, "--model", "--model-path") is not None
    return model_of_repository(source.repo) if source.kind is SourceKind.HF_REPO and not is_file else None


def _llamacpp(served: _Served, load: GpuLoad) -> GpuLoad:
    spec, named = served.spec, model_of_file(served.file)
    tokens = whole(spec, "contextSize") or 0
    if spec.get("noKvOffload") is True or named is None or not named.is_whole or flag(served.args, "-c", "--ctx-size"):
        return load
    share = sum(element_bytes(text(spec, f"cacheType{part}")) for part in "KV") / 4
    custom = text(spec, "cacheTypeCustomK") or text(spec, "cacheTypeCustomV") or whole(spec, "turboQuantBits")
    by_flag = flag(served.args, "-ctk", "-ctv", "--cache-type-k", "--cache-type-v", "-nkvo", "--no-kv-offload")
    if custom or by_flag is not None:
        return load
    size = cache_bytes(named.model, tokens, share)
    return load._replace(cache=size, tokens=tokens, length="contextSize", quantizes=share == 1)


def _vllm(served: _Served, load: GpuLoad) -> GpuLoad:
    config, model = mapping(served.spec, "vllmConfig"), _repository(served)
    by_flag = flag(served.args, "--max-model-len")
    set_length = wants_number(by_flag) if by_flag is not None else whole(config, "maxModelLen")
    tokens = set_length or (0 if by_flag is not None or model is None else model.context)
    kinds = (text(config, "kvCacheDtype"), text(config, "kvCacheCustomDtype"), flag(served.args, "--kv-cache-dtype"))
    kind = next(filter(None, kinds), "")
    size = cache_bytes(model, tokens, 0.5 if "fp8" in kind else 1.0 if kind in {"", "auto"} else 0.0, load.gpus)
    named = f"maxModelLen {tokens}" if set_length else f"the model's own length {tokens}"
    given = config.get("gpuMemoryUtilization", 0.92)
    usable = float(given) if isinstance(given, int | float) and 0 < given <= 1 else 1.0
    usable = 1.0 if flag(served.args, "--gpu-memory-utilization") is not None else usable
    length = "maxModelLen" if set_length else named
    return load._replace(cache=size, tokens=tokens, length=length, usable=usable)


def _ranks(served: _Served) -> Ranks | None:
    """The ranks of vLLM, which LLMKube sets to the number of GPUs."""
    model = _repository(served) if served.runtime == "vllm" and not texts(served.spec, "command") else None
    by_flag = flag(served.args, "--tensor-parallel-size", "-tp")
    is_set = whole(served.spec, "vllmConfig", "tensorParallelSize")
    ranks = wants_number(by_flag) if by_flag is not None else is_set or served.gpus
    if model is None or not model.canonical or not model.heads or not ranks or ranks < 2:
        return None
    changed = ("--hf-overrides", "--config", "--pipeline-parallel-size", "-pp", "--data-parallel-size", "-dp")
    field = "spec.vllmConfig.tensorParallelSize" if is_set else "spec.modelRef"
    return None if flag(served.args, *changed) is not None else Ranks(field, model.heads, ranks, model.name)


_BLOCKS: Final = frozenset(
    [
        *("ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com", "cinder.csi.openstack.org"),
        *("rbd.csi.ceph.com", "driver.longhorn.io", "topolvm.io", "csi.vsphere.vmware.com"),
        "blockvolume.csi.oraclecloud.com",
    ]
)
"""Provisioners whose volumes hold no more than their size. File systems, NFS and local paths may hold more."""
_CLAIM: Final = "llmkube-model-cache"
_MADE: Final = 100 * GIB
"""The claim that the operator makes, unless a flag says otherwise."""


def _storage(served: _Served, view: ClusterView | None) -> _Claims:
    """Whether the file fits into its cache (KF004)."""
    size, spec = _size(served), served.spec
    if size is None or spec.get("skipModelInit") is True or _is_mounted(served):
        return [], []
    terms, cache = [FitTerm("file", f"at least {gib(size.bytes)}", size.source)], mapping(spec, "modelCache")
    if cache.get("persistence") == "Ephemeral":
        given = text(spec, "resources", "ephemeralStorage")
        limit = _bytes(given)
        if limit is None:
            return [], terms
        terms.append(FitTerm("ephemeral storage", gib(limit), "spec.resources.ephemeralStorage"))
        why = f"{gib(size.bytes)} of file, and a limit of {given}: the kubelet evicts the pod"
        return _if(size.bytes > limit, Claim("KF004", "spec.resources.ephemeralStorage", why)), terms
    return ([], terms) if view is None else _of_claim(served, view, size, terms)


def _of_claim(
    served: _Served, view: ClusterView, size: Bound, terms: list[FitTerm]
) -> tuple[list[Claim], list[FitTerm]]:
    named = text(served.spec, "modelCache", "claimName")
    field, name = ("spec.modelCache.claimName", named) if named else ("spec.modelRef", _CLAIM)
    claim = view.get(Kind("", "PersistentVolumeClaim"), namespace_of(served.service), name)
    if claim is None:
        why = f"{gib(size.bytes)} of file, and the operator makes a cache of 100Gi by default: make the claim {_CLAIM}"
        return _if(not named and size.bytes > _MADE, Claim("KF004", field, why, certain=False)), terms
    has = text(claim, "status", "capacity", "storage")
    capacity, storage_class = _bytes(has), text(claim, "spec", "storageClassName")
    made_by = view.get(Kind("storage.k8s.io", "StorageClass"), "", storage_class) if storage_class else None
    if capacity is None or text(made_by, "provisioner") not in _BLOCKS:
        return [], terms
    terms.append(FitTerm("cache", gib(capacity), f"status.capacity of claim {name}"))
    why = f"{gib(size.bytes)} of file, and the claim {name} has {has}: the download fails when the volume is full"
    return _if(size.bytes > capacity, Claim("KF004", field, why, alone=False)), terms


def _if(is_wrong: bool, claim: Claim) -> list[Claim]:
    return [claim] if is_wrong else []


def _is_mounted(served: _Served) -> bool:
    """Whether the source is mounted, and not copied."""
    return parse_source(text(served.model, "spec", "source")).kind is SourceKind.PVC


def _bytes(given: str) -> int | None:
    try:
        amount = quantity.parse(given).amount if 0 < len(given) < 40 else None
    except GoError:
        return None
    return None if amount is None or not 0 < amount < 2**63 else int(amount)


_OVERHEAD: Final = 512 * 2**20
_CONTEXT: Final = 2048
_TURBO: Final = {"turbo3": 0.40625, "turbo4": 0.53125, "bf16": 2.0}
_KNOWN: Final = frozenset(["", "f16", "f32", "q8_0", "q5_0", "q5_1", "q4_0", "iq4_nl", "q4_1"])


def _on_metal(served: _Served) -> Workload:
    """What the Metal agent computes before it starts a service, and refuses by (KF006)."""
    budget, written = text(served.model, "spec", "hardware", "memoryBudget"), text(served.model, "status", "size")
    limit, size = _bytes(budget), _agent_size(written)
    if limit is None or size is None or size <= 0:
        return Workload()
    layers, width = (whole(served.model, "status", "gguf", key) or 0 for key in ("layerCount", "embeddingSize"))
    context = whole(served.spec, "contextSize") or _CONTEXT
    share = sum(_agent_bytes(served, part) for part in "KV")
    cache = math.ceil(layers * width * context * share) if layers > 0 and width > 0 else math.ceil(size * 1.2) - size
    total = size + cache + _OVERHEAD
    terms = [
        FitTerm(
            "the agent's estimate", gib(total), f"{gib(size)} of file, {gib(cache)} for context {context}, 512 MiB"
        ),
        FitTerm("memoryBudget", gib(limit), "spec.hardware.memoryBudget of the Model"),
    ]
    field = "spec.contextSize" if served.spec.get("contextSize") else "spec.modelRef"
    text_of = f"the agent estimates {gib(total)}, and memoryBudget is {budget} (its formula counts all heads): "
    text_of += "lower contextSize, or raise memoryBudget"
    return Workload(claims=_if(total > limit, Claim("KF006", field, text_of)), terms=terms)


def _agent_size(written: str) -> int | None:
    """The bytes that the agent reads; half a digit less is not meant."""
    parts = written.split()
    units = {"B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": GIB, "TIB": 2**40}
    if len(parts) != 2 or len(written) > 40 or parts[1].upper() not in units:
        return None
    try:
        return int(float(parts[0]) * units[parts[1].upper()])
    except (ValueError, OverflowError):
        return None


def _agent_bytes(served: _Served, part: str) -> float:
    kind = text(served.spec, f"cacheTypeCustom{part}") or text(served.spec, f"cacheType{part}")
    return element_bytes(kind) if kind in _KNOWN else _TURBO.get(kind, 2.0)
