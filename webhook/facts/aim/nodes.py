"""As :mod:`webhook.facts.nodes`, with strings trimmed as AIM does."""

from __future__ import annotations

from typing import Any

from webhook.facts.nodes import at, items, mapping

__all__ = ["at", "items", "mapping", "name_of", "namespace_of", "text"]


def text(node: Any, *keys: str) -> str:
    """Return the string at a path without surrounding space, "" if it is absent.

    AIM trims the names that lead from a service to its template. For other names, the rules reject surrounding space.
    """
    value = at(node, *keys)
    return value.strip() if isinstance(value, str) else ""


def name_of(obj: Any) -> str:
    return text(obj, "metadata", "name")


def namespace_of(obj: Any) -> str:
    return text(obj, "metadata", "namespace")
