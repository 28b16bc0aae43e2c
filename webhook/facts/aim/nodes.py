"""Parts of objects that may be anything: facts are asked of objects that their CRD refuses, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["at", "items", "mapping", "name_of", "namespace_of", "text"]


def at(node: Any, *keys: str) -> Any:
    """The value at a path, None where there is none."""
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def text(node: Any, *keys: str) -> str:
    """The text at a path without the space around it, "" where there is none.

    AIM trims the names by which a service finds its template. Of others the rules say that there are none with spaces.
    """
    value = at(node, *keys)
    return value.strip() if isinstance(value, str) else ""


def mapping(node: Any, *keys: str) -> dict[str, Any]:
    value = at(node, *keys)
    return value if isinstance(value, dict) else {}


def items(node: Any, *keys: str) -> Iterator[dict[str, Any]]:
    """The objects in the list at a path."""
    value = at(node, *keys)
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def name_of(obj: Any) -> str:
    return text(obj, "metadata", "name")


def namespace_of(obj: Any) -> str:
    return text(obj, "metadata", "namespace")
