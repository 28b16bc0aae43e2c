"""Read parts of objects of any shape: facts are also computed for objects that the CRD refuses."""

from __future__ import annotations

from typing import Any

__all__ = ["at", "items", "mapping", "name_of", "namespace_of", "text", "trimmed", "whole"]


def at(node: Any, *keys: str) -> Any:
    """The value at a path, None if it is absent."""
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def text(node: Any, *keys: str) -> str:
    """The string at a path, "" if it is absent."""
    for key in keys:  # not by at(), which takes 1.5 times as long: this runs for each of hundreds of runtimes
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, str) else ""


def trimmed(node: Any, *keys: str) -> str:
    """The string at a path without surrounding space, "" if it is absent.

    AIM trims the names that lead from a service to its template. For other names, the rules reject surrounding space.
    """
    return text(node, *keys).strip()


def name_of(obj: Any) -> str:
    return text(obj, "metadata", "name")


def namespace_of(obj: Any) -> str:
    return text(obj, "metadata", "namespace")


def whole(node: Any, *keys: str) -> int | None:
    """The integer at a path, None if it is absent; ``5.0`` is 5."""
    value = at(node, *keys)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def mapping(node: Any, *keys: str) -> dict[str, Any]:
    value = at(node, *keys)
    return value if isinstance(value, dict) else {}


def items(node: Any, *keys: str) -> list[dict[str, Any]]:
    """The objects in the list at a path."""
    value = at(node, *keys)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
