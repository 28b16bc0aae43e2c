"""As :mod:`webhook.facts.nodes`, with texts as AIM reads them."""

from __future__ import annotations

from typing import Any

from webhook.facts.nodes import at, items, mapping

__all__ = ["at", "items", "mapping", "name_of", "namespace_of", "text"]


def text(node: Any, *keys: str) -> str:
    """The text at a path without the space around it, "" where there is none.

    AIM trims the names by which a service finds its template. Of others the rules say that there are none with spaces.
    """
    value = at(node, *keys)
    return value.strip() if isinstance(value, str) else ""


def name_of(obj: Any) -> str:
    return text(obj, "metadata", "name")


def namespace_of(obj: Any) -> str:
    return text(obj, "metadata", "namespace")
