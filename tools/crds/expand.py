"""Replace the names of embedded types by the types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools.crds.openapi import EMBED, Schema

WITHOUT: Final = "x-modelgate-without"


class UnknownType(Exception):
    """A source names a type that is neither Kubernetes' nor defined beside it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no type {name!r}: define it in types.yaml, or run `make crds` if it is one of Kubernetes'")


def expand(node: Any, types: Mapping[str, Schema]) -> Any:
    """A copy of a source, or of a part of it, with every type that it names expanded.

    Raises:
        UnknownType: a name is not in ``types``.
    """
    if isinstance(node, list):
        return [expand(item, types) for item in node]
    if not isinstance(node, dict):
        return node
    result: Schema = {}
    for name in _names(node):
        if name not in types:
            raise UnknownType(name)
        result = _joined(result, expand(types[name], types))
    for name in node.get(WITHOUT, ()):
        del result["properties"][name]
    return _joined(result, {key: expand(value, types) for key, value in node.items() if key not in {EMBED, WITHOUT}})


def embedded_names(node: Any) -> Iterator[str]:
    """Every type that a source names directly."""
    if isinstance(node, list):
        for item in node:
            yield from embedded_names(item)
    elif isinstance(node, dict):
        yield from _names(node)
        for key, item in node.items():
            if key != EMBED:
                yield from embedded_names(item)


def _names(node: Schema) -> list[str]:
    given = node.get(EMBED, [])
    return [given] if isinstance(given, str) else given


def _joined(under: Schema, over: Schema) -> Schema:
    """``under`` with ``over`` merged: keywords of ``over`` win, properties and required fields are joined, and an empty
    ``required`` clears it.
    """
    joined = {**under, **over}
    if "properties" in under or "properties" in over:
        joined["properties"] = dict(sorted({**under.get("properties", {}), **over.get("properties", {})}.items()))
    if "required" in under and over.get("required"):
        joined["required"] = sorted({*under["required"], *over["required"]})
    if joined.get("required") == []:
        del joined["required"]
    return joined
