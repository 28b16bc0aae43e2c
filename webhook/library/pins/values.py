"""Values of a chart: maps in several layers, the last of which counts where several have a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.library.pins.objects import value_at
from webhook.manifests.documents import Document


@dataclass(frozen=True, slots=True)
class Values:
    """A map of values at a place of a document; of one in a text or a list there, only this ``line`` is known."""

    document: Document
    at: tuple[str | int, ...]
    value: Mapping[str, Any]
    is_inside: bool = True

    def path_of(self, *path: str | int) -> tuple[str | int, ...]:
        """The place of a value in the document, or of what it is in."""
        return (*self.at, *path) if self.is_inside else self.at


def last_value(layers: Sequence[Values], *path: str | int) -> tuple[Any, Values | None]:
    """The value at a path in the last layer that has one, with this layer."""
    for layer in reversed(layers):
        value = value_at(layer.value, *path)
        if value is not None:
            return value, layer
    return None, None


def nested(pairs: Iterable[tuple[Sequence[str], Any]]) -> dict[str, Any]:
    """The map of paths and their values; a later pair counts."""
    whole = dict[str, Any]()
    for (*above, last), value in pairs:
        at = whole
        for key in above:
            inner = at.get(key)
            if not isinstance(inner, dict):
                inner = at[key] = {}
            at = inner
        at[last] = value
    return whole


def set_values(document: Document, at: tuple[str | int, ...], pairs: Iterable[tuple[object, Any]]) -> list[Values]:
    """The values that pairs set at paths with dots, as ``--set`` of Helm writes them; none without a pair."""
    value = nested((str(path).split("."), value) for path, value in pairs)
    return [Values(document, at, value, is_inside=False)] if value else []
