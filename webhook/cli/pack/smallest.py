"""The smallest object of a kind: what its schema requires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import orjson

from webhook.admission.errors import DocumentError, Problem
from webhook.ground.fieldpath import field_path

Node: TypeAlias = Mapping[str, Any]

_ROOM: Final = 100_000
"""Characters of the smallest object as JSON: it is an example for people to read."""


def smallest_spec(schema: Node, source: str) -> Any:
    """The smallest spec of a kind.

    Raises:
        DocumentError: it has more than :data:`_ROOM` characters, as lists of lists can.
    """
    return _Smallest(source).value((schema.get("properties") or {}).get("spec") or {}, ("spec",))


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
        least = node.get("minimum", 1)
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
