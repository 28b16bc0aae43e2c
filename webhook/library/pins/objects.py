"""Objects as files write them, the values and places in them, and the values of charts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.manifests.documents import Document


def group_of(value: Mapping[str, Any]) -> str:
    """The group of an object's API; "" of the core."""
    version = value.get("apiVersion")
    return version.rpartition("/")[0] if isinstance(version, str) else ""


def value_at(value: Any, *path: str | int) -> Any:
    """The value at a path; None if it is absent, or below something else than a map or a list."""
    for key in path:
        if isinstance(key, int):
            if not isinstance(value, list) or key >= len(value):
                return None
            value = value[key]
        elif isinstance(value, dict):
            value = value.get(key)
        else:
            return None
    return value


def mapping_at(value: Any, *path: str | int) -> dict[str, Any]:
    """As :func:`value_at`; an empty map if it is absent, or no map."""
    inner = value_at(value, *path)
    return inner if isinstance(inner, dict) else {}


def items_at(value: Any, *path: str | int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The items of a list that are maps, with their places in it."""
    items = value_at(value, *path)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            yield index, item


class Layers:
    """Documents of one object, the last of which counts where several have a value: an object and its patches."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents

    @property
    def last(self) -> Document:
        return self.documents[-1]

    @property
    def is_patched(self) -> bool:
        return len(self.documents) > 1

    def at(self, *path: str | int) -> Any:
        """The value at a path in the last document that has one."""
        return value_at(self.writer(*path).value, *path)

    def writer(self, *path: str | int) -> Document:
        """The last document with a value at the path; the first one if none has it."""
        having = (layer for layer in reversed(self.documents) if value_at(layer.value, *path) is not None)
        return next(having, self.documents[0])


@dataclass(frozen=True, slots=True)
class Values:
    """A map of values of a chart at a place of a document; of one in a text or a list there, only the line is known."""

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
