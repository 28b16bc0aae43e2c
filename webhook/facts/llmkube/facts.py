"""LLMKube: the facts of its kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fact
from webhook.facts.gguf import first_shard, missing_shards, quantization_named, quantization_of
from webhook.facts.llmkube.gpu import parse_layer_split
from webhook.facts.llmkube.page import classify_page
from webhook.facts.llmkube.service import SERVICE_FACTS
from webhook.facts.llmkube.source import parse_source
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
    """The shards that ``files`` lacks, whether the source is one shard alone, and the ``first`` shard, if the model is
    given by a later one.
    """
    files, source = _files(model), _path(model)
    return {
        "missing": missing_shards(files),
        "alone": not files and bool(missing_shards([source])),
        "first": first_shard(files[0] if files else source),
    }


def _quantization(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    """The quantization that the name of the file tells that is the model, and the one that is ``declared``."""
    files, source = _files(model), _path(model)
    url = source.rpartition("/")[2] if source.lower().endswith(".gguf") else ""
    return {
        "named": quantization_of(files[0] if files else url),
        "declared": quantization_named(text(model, "spec", "quantization")),
    }


def _files(model: dict[str, Any]) -> list[str]:
    listed = at(model, "spec", "files")
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []


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
    },
    "InferenceService": SERVICE_FACTS,
}
