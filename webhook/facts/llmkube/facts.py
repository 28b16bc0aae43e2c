"""LLMKube: what the rules of its kinds may know beyond an object's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.fact import Fact
from webhook.facts.llmkube.gpu import parse_layer_split
from webhook.facts.llmkube.source import (
    parse_source,
)
from webhook.facts.nodes import at, text
from webhook.facts.schemas import STRING, STRINGS, fields

__all__ = ["FACTS"]


def _source(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    source = parse_source(text(model, "spec", "source"))
    return {**asdict(source), "kind": source.kind.value}


def _layer_split(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    ranges = at(model, "spec", "hardware", "gpu", "sharding", "layerSplit")
    split = parse_layer_split(list(filter(_is_text, ranges)) if isinstance(ranges, list) else ())
    return {"overlaps": list(split.overlaps), "gaps": list(split.gaps)}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "Model": {
        "source": Fact(
            _source,
            fields(**dict.fromkeys(("kind", "claim", "path", "repo", "revision", "error"), STRING)),
        ),
        "layerSplit": Fact(_layer_split, fields(overlaps=STRINGS, gaps=STRINGS)),
    }
}
