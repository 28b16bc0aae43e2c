"""The places of a kind that a caller can make large, and what a caller can fill them with."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import orjson

Schema = dict[str, Any]
Steps = tuple[str | int, ...]
Make = Callable[[int], Any]
"""A filling of n items, or of n characters."""

KEY: Final = "k"
SHALLOW: Final = 4
"""Down to this depth every place counts. Below it, one place stands for all that have the same schema and name."""

_TEXT: Schema = {"type": "string"}
_METADATA: Schema = {
    "type": "object",
    "properties": {
        "labels": {"type": "object", "additionalProperties": _TEXT},
        "annotations": {"type": "object", "additionalProperties": _TEXT},
        "finalizers": {"type": "array", "items": _TEXT},
        "ownerReferences": {"type": "array", "items": {"type": "object"}},
        "managedFields": {"type": "array", "items": {"type": "object"}},
    },
}


@dataclass(frozen=True)
class Place:
    """A list, map, text or free place: the way to it, and its schema."""

    steps: Steps
    schema: Schema

    def __str__(self) -> str:
        return "".join("[*]" if step in {0, KEY} else f".{step}" for step in self.steps).lstrip(".") or "(top)"

    def put(self, base: Any, filling: Any) -> Any:
        """A copy of ``base`` with the filling here; what is missing on the way is made."""
        made = copy.deepcopy(base)
        node = made
        for step, following in itertools.pairwise(self.steps):
            node = _child(node, step, [] if following == 0 else {})
        _set(node, self.steps[-1], filling)
        return made


def _set(node: Any, step: str | int, filling: Any) -> None:
    """A filling of fields leaves the fields that are there: an object without its name would not be read."""
    if isinstance(node, list):
        node[:1] = [filling]
        return
    there = node.get(step)
    node[step] = {**there, **filling} if isinstance(there, dict) and isinstance(filling, dict) else filling


def _child(node: Any, step: str | int, empty: Any) -> Any:
    if isinstance(step, int):
        if not node or not isinstance(node[0], type(empty)):
            node[:1] = [empty]
    elif not isinstance(node.get(step), type(empty)):
        node[step] = empty
    return node[step]


def places(schema: Schema) -> Iterator[Place]:
    """The places of a kind, each once; of like ones in the depth only the first."""
    seen: set[tuple[Any, bytes]] = set()
    root = {**schema, "properties": {**schema["properties"], "metadata": _METADATA}}
    for place in _walk(root, ()):
        if len(place.steps) > SHALLOW:
            likeness = (place.steps[-1], orjson.dumps(place.schema))
            if likeness in seen:
                continue
            seen.add(likeness)
        yield place


def _walk(schema: Schema, steps: Steps) -> Iterator[Place]:
    if kind_of(schema) and steps:
        yield Place(steps, schema)
    for name, child in schema.get("properties", {}).items():
        if steps or name not in {"apiVersion", "kind"}:
            yield from _walk(child, (*steps, name))
    for keyword, step in (("items", 0), ("additionalProperties", KEY)):
        if isinstance(schema.get(keyword), dict):
            yield from _walk(schema[keyword], (*steps, step))


def kind_of(schema: Schema) -> str:
    if schema.get("type") == "array":
        return "list"
    if schema.get("additionalProperties"):
        return "map"
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("type") == "object":
        return "free"
    return "text" if schema.get("type") == "string" and "enum" not in schema else ""


def fillings(schema: Schema) -> dict[str, Make]:
    """What a place of this schema can be filled with, by name."""
    kind = kind_of(schema)
    if kind == "list":
        return _lists(schema.get("items", {}))
    if kind == "map":
        least = smallest(schema["additionalProperties"]) if isinstance(schema["additionalProperties"], dict) else 0
        return {"keys": lambda n: {f"k{i}": least for i in range(n)}, "null values": _nulls}
    if kind == "text":
        return {name: partial(_text, unit) for name, unit in _TEXTS.items()}
    return {"unknown fields": lambda n: {f"u{i}": 0 for i in range(n)}, "empty lists": lambda n: {"u": [[]] * n}}


_TEXTS: Final = {
    "letters": "a",
    "slashes": "a/",
    "escapes": "%2F",
    "umlauts": "ä",
    "address": "https://a/",
    "dots": "a.",
}


def _text(unit: str, count: int) -> str:
    return (unit * (count // len(unit) + 1))[:count]


def _nulls(count: int) -> Any:
    return {f"k{i}": None for i in range(count)}


def _lists(items: Schema) -> dict[str, Make]:
    least = smallest(items)
    made: dict[str, Make] = {
        "equal items": lambda n: [least] * n,
        "empty objects": lambda n: [{}] * n,
        "empty texts": lambda n: [""] * n,
        "empty lists": lambda n: [[]] * n,
    }
    if isinstance(least, str | dict):
        made["different items"] = lambda n: [varied(least, i) for i in range(n)]
    return made


def smallest(schema: Schema) -> Any:
    """The smallest value that a schema may take, patterns apart."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: smallest(schema.get("properties", {}).get(name, {})) for name in schema.get("required", ())}
    if kind == "array":
        return [smallest(schema.get("items", {}))] * schema.get("minItems", 0)
    if kind == "string":
        return "a0"
    return {"boolean": True}.get(kind, max(1, int(schema.get("minimum", 1))))


def varied(value: Any, number: int) -> Any:
    """The value with its texts made different."""
    if isinstance(value, dict):
        return {key: varied(item, number) for key, item in value.items()}
    return f"a{number}" if isinstance(value, str) else value
