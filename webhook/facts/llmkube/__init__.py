"""LLMKube: what the rules of its kinds may know beyond an object's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.fact import Fact
from webhook.facts.llmkube.fileset import FileSet, resolve_fileset
from webhook.facts.llmkube.gpu import LayerSplit, accelerator_resource, parse_layer_split
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
    "parse_hf",
    "parse_layer_split",
    "parse_pvc",
    "parse_source",
    "resolve_fileset",
]

_STRING: Final = {"type": "string"}
_STRINGS: Final = {"type": "array", "items": _STRING}


def _source(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    text = _at(model, "spec", "source")
    source = parse_source(text if isinstance(text, str) else "")
    return {**asdict(source), "kind": source.kind.value}


def _layer_split(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    ranges = _at(model, "spec", "hardware", "gpu", "sharding", "layerSplit")
    split = parse_layer_split(list(filter(_is_text, ranges)) if isinstance(ranges, list) else ())
    return {"overlaps": list(split.overlaps), "gaps": list(split.gaps)}


def _at(node: Any, *keys: str) -> Any:
    """The value at a path, None where there is none: facts are asked of objects that their CRD refuses, too."""
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


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
            {"type": "object", "properties": {"overlaps": _STRINGS, "gaps": _STRINGS}},
        ),
    }
}
