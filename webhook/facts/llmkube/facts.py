"""LLMKube: the facts of its kinds, and what they read.

Rules by data cannot look up another object, nor tell the kinds of a source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import BOOLEAN, INTEGER, INTEGERS, STRING, STRINGS, Fact, Fetched, Knowledge, fields
from webhook.facts.llmkube.fit import fit_of_service
from webhook.facts.llmkube.layers import parse_layer_split
from webhook.facts.llmkube.pods import MODEL, POD_FACTS, PREFETCH_FACTS
from webhook.facts.llmkube.source import SourceKind, classify_page, cleaned, parse_source
from webhook.facts.names import first_shard, missing_shards, quantization_named, quantization_of
from webhook.facts.nodes import items, mapping, name_of, namespace_of, text, texts, whole

_RESOURCES: Final = {"rocm": "amd.com/gpu", "intel": "gpu.intel.com/i915", "vulkan": "devic.es/dri-render"}


def accelerator_resource(accelerator: str, resource_name: str = "") -> str:
    """Return the extended resource whose presence on a node makes the accelerator ready, or "" if none is needed.

    For vulkan that of the API document, for Intel's GPUs, too.
    """
    if accelerator in {"", "cpu", "metal"}:
        return ""
    if resource_name.strip():
        return resource_name.strip()
    return _RESOURCES.get(accelerator, "nvidia.com/gpu")


_GROUP: Final = "inference.llmkube.dev"
_SERVICE: Final = Kind(_GROUP, "InferenceService")
_CLAIM: Final = Kind("", "PersistentVolumeClaim")


def _find(view: ClusterView, service: dict[str, Any], name: str) -> dict[str, Any] | None:
    return view.get(MODEL, namespace_of(service), name) if name else None


def _model(service: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """What the Model says; ``gpus`` is the number that pods request: of the Model, or else of the service.

    Without a Model, everything else is empty, and 0.
    """
    found = _find(view, service, text(service, "spec", "modelRef"))
    spec = mapping(found, "spec")
    gpu, source = mapping(spec, "hardware", "gpu"), text(spec, "source")
    count, requested = whole(gpu, "count") or 0, whole(service, "spec", "resources", "gpu") or 0
    return {
        "found": found is not None,
        "gpus": count if count > 0 else max(requested, 0),
        "count": max(count, 0),
        "enabled": gpu.get("enabled") is True or count > 0,
        "vendor": text(gpu, "vendor"),
        "runtime": text(gpu, "runtime"),
        "memory": text(gpu, "memory"),
        "resourceName": text(gpu, "resourceName"),
        "tolerationKey": text(gpu, "tolerationKey"),
        "claimed": bool(gpu.get("resourceClaims")),
        "accelerator": text(spec, "hardware", "accelerator"),
        "format": text(spec, "format") or ("gguf" if found else ""),
        "source": source,
        "kind": str(parse_source(source).kind) if source else "",
        "page": str(classify_page(source)),
        "files": texts(spec, "files"),
        "mmproj": text(spec, "mmproj"),
        "phase": text(found, "status", "phase"),
        "contextLength": max(whole(found, "status", "gguf", "contextLength") or 0, 0),
    }


def _draft(service: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """Whether the Model with the draft weights that the service names is missing."""
    name = text(service, "spec", "speculativeDecoding", "draftModelRef")
    return {"missing": bool(name) and _find(view, service, name) is None}


def _rival(service: dict[str, Any], view: ClusterView) -> str:
    """Another service of the namespace whose Service has the same name: dots become hyphens."""
    name, namespace = name_of(service), namespace_of(service)
    others = (name_of(each) for each in view.list(_SERVICE, namespace)) if name else ()
    return next((each for each in others if each != name and each.replace(".", "-") == name.replace(".", "-")), "")


def _cache(service: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """Whether the claim of the cache that the service names is missing."""
    name = text(service, "spec", "modelCache", "claimName")
    return {"missing": bool(name) and view.get(_CLAIM, namespace_of(service), name) is None}


def _volume(service: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """The first claim of the pods that one node alone can have (ReadWriteOnce), and a service that has it on others.

    Only claims and services of the namespace that are in the view count; "" without one.
    """
    namespace = namespace_of(service)
    claims = (claim for claim in _claims(service, view) if _is_for_one_node(view.get(_CLAIM, namespace, claim)))
    claim = next(claims, "")
    if not claim:
        return {"claim": "", "rival": ""}
    nodes = mapping(service, "spec", "nodeSelector")
    elsewhere = (
        name_of(other)
        for other in view.list(_SERVICE, namespace)
        if _excludes(nodes, mapping(other, "spec", "nodeSelector")) and claim in _claims(other, view)
    )
    return {"claim": claim, "rival": next(elsewhere, "")}


def _claims(service: dict[str, Any], view: ClusterView) -> Iterator[str]:
    """The claims that pods of a service mount: of its Model, of its cache, and of its own volumes."""
    if whole(service, "spec", "replicas") == 0:
        return
    model = _find(view, service, text(service, "spec", "modelRef"))
    source = parse_source(text(model, "spec", "source"))
    own = (text(volume, "persistentVolumeClaim", "claimName") for volume in items(service, "spec", "extraVolumes"))
    yield from filter(None, (source.claim, text(service, "spec", "modelCache", "claimName"), *own))


def _is_for_one_node(claim: dict[str, Any] | None) -> bool:
    return texts(claim, "spec", "accessModes") in (["ReadWriteOnce"], ["ReadWriteOncePod"])


def _excludes(nodes: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether no node has the labels of both selectors."""
    return any(others.get(label, value) != value for label, value in nodes.items())


_TEXTS: Final = (
    *("vendor", "runtime", "memory", "resourceName", "tolerationKey", "accelerator", "format", "source", "kind"),
    *("page", "mmproj", "phase"),
)  # fmt: skip

SERVICE_FACTS: Final = {
    "model": Fact(
        _model,
        fields(
            **dict.fromkeys(("found", "enabled", "claimed"), BOOLEAN),
            **dict.fromkeys(("gpus", "count", "contextLength"), INTEGER),
            **dict.fromkeys(_TEXTS, STRING),
            files=STRINGS,
        ),
    ),
    "draft": Fact(_draft, fields(missing=BOOLEAN)),
    "rival": Fact(_rival, STRING),
    "cache": Fact(_cache, fields(missing=BOOLEAN)),
    "volume": Fact(_volume, fields(claim=STRING, rival=STRING)),
    **POD_FACTS,
}


_PARTS: Final = ("claim", "path", "clean", "repo", "revision", "error")


def _source(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    """The source as LLMKube before 0.9.6 takes it; ``clean`` is a local path as it is compared with allowed roots."""
    source = parse_source(text(model, "spec", "source"))
    return {
        "kind": str(source.kind),
        "claim": source.claim,
        "path": source.path,
        "clean": cleaned(source.path) if source.kind is SourceKind.LOCAL else "",
        "repo": source.repo,
        "revision": source.revision,
        "error": source.error,
    }


def _page(model: dict[str, Any], _: ClusterView) -> str:
    """What 0.9.13 and later see in a web address as source."""
    return str(classify_page(text(model, "spec", "source")))


def _layer_split(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    split = parse_layer_split(texts(model, "spec", "hardware", "gpu", "sharding", "layerSplit"))
    return {"overlaps": split.overlaps, "gaps": split.gaps}


def _served(model: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """What the InferenceServices of the Model say: the numbers of GPUs that they request, and the largest of them,
    their runtimes, and whether one shares its GPU and leaves the amount of memory to the Model.
    """
    services = view.list(_SERVICE, namespace_of(model))
    of_model = [each for each in services if text(each, "spec", "modelRef") == name_of(model)]
    if not of_model:
        return {"gpus": 0, "counts": [], "runtimes": [], "shared": False}
    requested = sorted({whole(each, "spec", "resources", "gpu") or 0 for each in of_model} - {0})
    return {
        "gpus": max(requested, default=0),
        "counts": requested,
        "runtimes": sorted({text(each, "spec", "runtime") or "llamacpp" for each in of_model}),
        "shared": any(map(_is_shared, of_model)),
    }


def _is_shared(service: dict[str, Any]) -> bool:
    sharing = mapping(service, "spec", "resources", "gpuSharing")
    return sharing.get("mode") == "shared" and not sharing.get("memoryLimitGiB")


def _shards(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    """The shards that ``files`` lacks, whether the source is one shard alone, and the ``first`` shard, if the model is
    given by a later one.
    """
    files, source = texts(model, "spec", "files"), _path(model)
    return {
        "missing": missing_shards(files),
        "alone": not files and bool(missing_shards([source])),
        "first": first_shard(files[0] if files else source),
    }


def _quantization(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    """The quantization that the name of the file tells that is the model, and the one that is ``declared``."""
    files, source = texts(model, "spec", "files"), _path(model)
    url = source.rpartition("/")[2] if source.lower().endswith(".gguf") else ""
    return {
        "named": quantization_of(files[0] if files else url),
        "declared": quantization_named(text(model, "spec", "quantization")),
    }


def _path(model: dict[str, Any]) -> str:
    """The source without a query and a fragment."""
    return text(model, "spec", "source").partition("?")[0].partition("#")[0]


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "Model": {
        "source": Fact(
            _source,
            fields(**dict.fromkeys(("kind", *_PARTS), STRING)),
        ),
        "page": Fact(_page, STRING),
        "served": Fact(_served, fields(gpus=INTEGER, counts=INTEGERS, runtimes=STRINGS, shared=BOOLEAN)),
        "shards": Fact(_shards, fields(missing=STRING, alone=BOOLEAN, first=STRING)),
        "quantization": Fact(_quantization, fields(named=STRING, declared=STRING)),
        "layerSplit": Fact(_layer_split, fields(overlaps=STRINGS, gaps=STRINGS)),
        **PREFETCH_FACTS,
    },
    "InferenceService": SERVICE_FACTS,
}


KNOWLEDGE: Final = Knowledge(
    FACTS,
    fits={"InferenceService": fit_of_service},
    watched=frozenset([Kind(_GROUP, "InferenceService")]),
    fetched=frozenset([Fetched(Kind("", "PersistentVolumeClaim")), Fetched(MODEL)]),
)
