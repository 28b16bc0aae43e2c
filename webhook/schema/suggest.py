"""Suggests the correct spelling of an unknown field."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final

from webhook.schema.node import SchemaNode

__all__ = ["suggest_field"]

_MIN_RATIO: Final = 0.75
"""difflib's ratio: allows one wrong, missing or moved letter in a name of four, two in a name of eight."""


def suggest_field(node: SchemaNode, obj: Any, path: str) -> str:
    """The known field with a spelling close to the last field of the path; "" if there is none.

    Args:
        node: the schema of the object.
        obj: the object, not pruned.
        path: the path of an unknown field, as pruning prints it (``spec.files[0].nmae``).
    """
    current: SchemaNode | None = node
    while current is not None:
        if isinstance(obj, list):
            index, _, path = path.removeprefix("[").partition("]")
            current, obj = current.items, obj[int(index)]
        elif path in obj:
            return _closest(path, current.properties)
        else:
            key = max((key for key in obj if path.startswith((f"{key}.", f"{key}["))), key=len)
            current, obj, path = current.child(key), obj[key], path[len(key) :]
        path = path.removeprefix(".")
    return ""


def _closest(name: str, fields: Iterable[str]) -> str:
    """The field that differs only in case, ``_`` or ``-``; else the most similar one."""
    by_letters = {_letters(each): each for each in sorted(fields)}
    close = get_close_matches(_letters(name), by_letters, n=1, cutoff=_MIN_RATIO)
    return by_letters[close[0]] if close else ""


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
