"""The smallest object of a kind that its definition accepts, as far as a short search finds one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from webhook.admission import patch
from webhook.admission.errors import DocumentError, Problem
from webhook.catalog import KnownKind
from webhook.ground.fieldpath import field_path

_ROOM: Final = 100_000
"""Characters of the smallest object as JSON: it is an example for people to read."""
_TRIALS: Final = 2_000
"""Objects that are tried: each takes some ten microseconds."""
_HEAD: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_TEXTS: Final = (
    *("a", "aa", "abc", "A", "1", "10", "v1", "v1.0.0", "1Gi", "100m", "1h", "10s", "a.b", "a.b.c", "a/b", "a-b", "/a"),
    *("a.example.com", "a/b:1", "a=b", "a:b", "https://a.example", "http://a.example:80/a", "hf://a/b", "s3://a/b"),
    *("pvc://a/b", "oci://a/b", "a@a.example", "2030-01-01T00:00:00Z", "2030-01-01", "127.0.0.1", "10.0.0.0/8"),
    *("sha256:" + "a" * 64, "a" * 64, "a" * 8, "aaaa-bbbb", "Aa1", "1.0", "0.5", "50%", "true", "*"),
)
"""Texts of the usual patterns."""

_LITERAL: Final = re.compile(r"\^?\(?([A-Za-z0-9/:_-]+)(?![*?{+])")

Node = Mapping[str, Any]
Keys = tuple[str | int, ...]


def smallest_object(kind: KnownKind) -> dict[str, Any]:
    """The fields beside the metadata, with as few of them as the definition accepts.

    Where the search does not end at a valid object, it is the nearest one.

    Raises:
        DocumentError: as :func:`smallest_values`.
    """
    schema = kind.schema
    head = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind, "metadata": {"name": "case"}}
    best, left = smallest_values(schema.raw, kind.gvk.kind), _TRIALS

    def faults(body: dict[str, Any]) -> int:
        return len(schema.check(schema.decode({**head, **body}).object).errors)

    fewest = faults(best)
    while fewest and left > 0:
        for candidate in _changed(best, schema.raw):
            left -= 1
            if (count := faults(candidate)) < fewest:
                best, fewest = candidate, count
                break
            if left <= 0:
                break
        else:
            break
    return best


def smallest_values(schema: Node, source: str) -> dict[str, Any]:
    """What a schema requires beside the metadata; a ``spec`` in any case.

    Raises:
        DocumentError: it has more than :data:`_ROOM` characters, as lists of lists can.
    """
    properties, made = schema.get("properties") or {}, _Smallest(source)
    required = {name for name in schema.get("required") or () if name not in _HEAD}
    names = [name for name in properties if name == "spec" or name in required]
    return {name: made.value(properties[name], (name,)) for name in names}


class _Smallest:
    """A value with what a schema requires, which need not match its patterns, while there is room."""

    def __init__(self, source: str) -> None:
        self._source, self._room = source, _ROOM

    def value(self, node: Node, at: Sequence[str | int]) -> Any:
        if "default" in node or node.get("enum"):
            return self._within(node["default"] if "default" in node else node["enum"][0], at)
        kind = node.get("type", "object")
        if kind == "object":
            below = node.get("properties") or {}
            names = self._within(node.get("required") or (), at)
            return {name: self.value(below.get(name) or {}, (*at, name)) for name in names}
        if kind == "array":
            least = min(int(node.get("minItems") or 0), 10)
            return [self.value(node.get("items") or {}, (*at, index)) for index in range(least)]
        least = node.get("minimum", min(1, node.get("maximum", 1)))
        text = "a" * min(max(1, int(node.get("minLength") or 1)), 1_000)
        simple: dict[str, Any] = {"string": text, "boolean": True, "integer": int(least)}
        return self._within(simple.get(kind, least), at)

    def _within(self, value: Any, at: Sequence[str | int]) -> Any:
        """The value, if there is room for it."""
        self._room -= len(orjson.dumps(value))
        if self._room < 0:
            message = f"the smallest object has more than {_ROOM:,} characters: lower minItems, or what is required"
            raise DocumentError([Problem(self._source, field_path(at), message)])
        return value


def _changed(body: dict[str, Any], schema: Node) -> Iterator[dict[str, Any]]:
    """The values with one text replaced by a usual one, with another value of an enum, or with one more field."""
    for keys, node, value in _nodes(body, schema, ()):
        if isinstance(value, str):
            for text in node.get("enum") or (*_prefixes(str(node.get("pattern", ""))), *_TEXTS):
                if text != value:
                    yield _with(body, keys, text)
    for keys, node, value in _nodes(body, schema, ()):
        for name, child in (node.get("properties") or {}).items() if isinstance(value, dict) else ():
            if name not in value and isinstance(child, Mapping) and (keys or name not in _HEAD):
                try:
                    yield _with(body, (*keys, name), _Smallest("").value(child, ()))
                except DocumentError:  # without end
                    continue


def _prefixes(pattern: str) -> Iterator[str]:
    """Texts that begin as a pattern does."""
    begin = _LITERAL.match(pattern)
    if begin is not None:
        yield from (begin[1], f"{begin[1]}a", f"{begin[1]}a/b", f"{begin[1]}1")


def _nodes(value: Any, node: Node, at: Keys) -> Iterator[tuple[Keys, Node, Any]]:
    yield at, node, value
    if isinstance(value, dict):
        for name, item in value.items():
            below = (node.get("properties") or {}).get(name) or node.get("additionalProperties")
            if isinstance(below, Mapping):
                yield from _nodes(item, below, (*at, name))
    elif isinstance(value, list) and isinstance(node.get("items"), Mapping):
        for index, item in enumerate(value):
            yield from _nodes(item, node["items"], (*at, index))


def _with(body: dict[str, Any], keys: Keys, value: Any) -> dict[str, Any]:
    changed: dict[str, Any] = patch.apply(body, [{"op": "replace", "path": patch.pointer(*keys), "value": value}])
    return changed
