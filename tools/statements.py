"""What a schema states: the keywords of each of its nodes, by the path of the node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

Keys = tuple[str, ...]
"""A path: field names, and ``*`` for every item of a list or every value of a map."""

_NODES: Final = ("items", "additionalProperties")


def statements(schema: Mapping[str, Any], at: Keys = ()) -> Iterator[tuple[Keys, dict[str, Any]]]:
    """Each node with its own keywords; keywords that hold nodes are not among them."""
    nodes = [key for key in _NODES if isinstance(schema.get(key), Mapping)]
    yield at, {key: value for key, value in schema.items() if key != "properties" and key not in nodes}
    for name, child in (schema.get("properties") or {}).items():
        yield from statements(child, (*at, name))
    for key in nodes:
        yield from statements(schema[key], (*at, "*"))
