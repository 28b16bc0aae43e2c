"""LLMKube: the facts of its kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fact
from webhook.facts.gguf import missing_shards, quantization_named, quantization_of
from webhook.facts.llmkube.gpu import parse_layer_split
from webhook.facts.llmkube.page import classify_page
from webhook.facts.llmkube.service import SERVICE_FACTS
from webhook.facts.llmkube.source import SourceKind, classify_source, parse_source
from webhook.facts.nodes import at, mapping, name_of, namespace_of, text, whole
from webhook.facts.schemas import BOOLEAN, INTEGER, INTEGERS, STRING, STRINGS, fields

__all__ = ["FACTS"]

_PARTS: Final = ("claim", "path", "repo", "revision", "error")
_SERVICE: Final = Kind("inference.llmkube.dev", "InferenceService")


def _source(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    """The source as LLMKube before 0.9.6 takes it."""
    source = parse_source(text(model, "spec", "source"))
    return {
        "kind": str(source.kind),
        "claim": source.claim,
        "path": source.path,
        "repo": source.repo,
        "revision": source.revision,
        "error": source.error,
    }


def _page(model: dict[str, Any], _: ClusterView) -> str:
    """What 0.9.13 and later see in a web address as source."""
    return str(classify_page(text(model, "spec", "source")))


def _layer_split(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    ranges = at(model, "spec", "hardware", "gpu", "sharding", "layerSplit")
    split = parse_layer_split([each for each in ranges if isinstance(each, str)] if isinstance(ranges, list) else ())
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
    """The shards that ``files`` lacks, and whether the source is one shard by URL, which is downloaded alone. A volume
    may hold the other shards.
    """
    files, url = _files(model), _url(model)
    alone = not files and missing_shards([url]) and classify_source(url) is SourceKind.REMOTE_HTTP
    return {"missing": missing_shards(files), "alone": bool(alone)}


def _quantization(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    """The quantization that the names of the files tell, and the one that is ``declared``."""
    files, url = _files(model), _url(model)
    return {
        "named": quantization_of(files or [url] * url.lower().endswith(".gguf")),
        "declared": quantization_named(text(model, "spec", "quantization")),
    }


def _files(model: dict[str, Any]) -> list[str]:
    listed = at(model, "spec", "files")
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []


def _url(model: dict[str, Any]) -> str:
    return text(model, "spec", "source").partition("?")[0]


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "Model": {
        "source": Fact(
            _source,
            fields(**dict.fromkeys(("kind", *_PARTS), STRING)),
        ),
        "page": Fact(_page, STRING),
        "served": Fact(_served, fields(gpus=INTEGER, counts=INTEGERS, runtimes=STRINGS, shared=BOOLEAN)),
        "shards": Fact(_shards, fields(missing=STRINGS, alone=BOOLEAN)),
        "quantization": Fact(_quantization, fields(named=STRING, declared=STRING)),
        "layerSplit": Fact(_layer_split, fields(overlaps=STRINGS, gaps=STRINGS)),
    },
    "InferenceService": SERVICE_FACTS,
}
