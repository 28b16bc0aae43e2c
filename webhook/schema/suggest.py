"""The field that somebody meant who wrote one that a schema does not have."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final

from webhook.schema.node import SchemaNode

__all__ = ["suggest_field"]

_LIKENESS: Final = 0.75
"""Of difflib's ratio: one letter wrong, missing or moved in a name of four, two in one of eight."""


def suggest_field(node: SchemaNode, obj: Any, path: str) -> str:
    """The name of a known field that is much like the last one of the path; "" if none is.

    Args:
        node: the schema of the object.
        obj: the object as it came.
        path: where it has a field that is unknown, as pruning spells it (``spec.files[0].nmae``).
    """
    here: SchemaNode | None = node
    while here is not None:
        if isinstance(obj, list):
            index, _, path = path.removeprefix("[").partition("]")
            here, obj = here.items, obj[int(index)]
        elif path in obj:
            return _like(path, here.properties)
        else:
            key = max((key for key in obj if path.startswith((f"{key}.", f"{key}["))), key=len)
            here, obj, path = here.child(key), obj[key], path[len(key) :]
        path = path.removeprefix(".")
    return ""


def _like(name: str, known: Iterable[str]) -> str:
    """Spelled the same but for case and joints, or else the most similar."""
    by_letters = {_letters(each): each for each in sorted(known)}
    close = get_close_matches(_letters(name), by_letters, n=1, cutoff=_LIKENESS)
    return by_letters[close[0]] if close else ""


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
