"""LLMKube: what the rules of its kinds may know beyond an object's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.fact import Fact
from webhook.facts.llmkube.fileset import FileSet, resolve_fileset
from webhook.facts.llmkube.gpu import (
    LayerSplit,
    accelerator_resource,
    gpu_count,
    gpu_resource,
    parse_layer_split,
    split_mode,
    tensor_split,
)
from webhook.facts.llmkube.source import (
    Source,
    SourceKind,
    cache_key,
    classify_source,
    parse_hf,
    parse_pvc,
    parse_source,
)

__all__ = [
    "FACTS",
    "FileSet",
    "LayerSplit",
    "Source",
    "SourceKind",
    "accelerator_resource",
    "cache_key",
    "classify_source",
    "gpu_count",
    "gpu_resource",
    "parse_hf",
    "parse_layer_split",
    "parse_pvc",
    "parse_source",
    "resolve_fileset",
    "split_mode",
    "tensor_split",
]

_STRING: Final = {"type": "string"}
_STRINGS: Final = {"type": "array", "items": _STRING}


def _source(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    source = parse_source(model["spec"]["source"])
    return {**asdict(source), "kind": source.kind.value}


def _layer_split(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    hardware = model["spec"].get("hardware") or {}
    sharding = (hardware.get("gpu") or {}).get("sharding") or {}
    split = parse_layer_split(sharding.get("layerSplit") or ())
    return {"error": split.error, "overlaps": list(split.overlaps), "gaps": list(split.gaps)}


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "Model": {
        "source": Fact(
            _source,
            {
                "type": "object",
                "properties": dict.fromkeys(("kind", "claim", "path", "repo", "revision", "error"), _STRING),
            },
        ),
        "layerSplit": Fact(
            _layer_split,
            {"type": "object", "properties": {"error": _STRING, "overlaps": _STRINGS, "gaps": _STRINGS}},
        ),
    }
}
