"""Objects as files write them, the values and places in them, and the values of charts."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.manifests.documents import Document

_LONGEST: Final = 500
"""Characters of a path that is set. A longer one does not lead to a value of a chart, and would nest too deeply."""
_PART: Final = re.compile(r"((?:[^.\\\[\]]|\\.)+)((?:\[\d{1,5}\])*)(?:\.|$)")
"""A key of a path as ``--set`` has it, with places in a list: ``a[0]``. A backslash is before a dot of a key."""


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


def nested(pairs: Iterable[tuple[Sequence[Any], Any]]) -> dict[Any, Any]:
    """The map of paths and their values; a later pair counts."""
    whole = dict[Hashable, Any]()
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
    value = _with_lists(nested((keys, _listed(value)) for path, value in pairs if (keys := _keys(str(path)))))
    return [Values(document, at, value, is_inside=False)] if value else []


def _keys(path: str) -> list[str | int]:
    """The keys of a path, and the places in lists; none of a path that is too long."""
    keys = list[str | int]()
    for name, places in _PART.findall(path) if len(path) <= _LONGEST else ():
        keys += [re.sub(r"\\(.)", r"\1", name), *map(int, re.findall(r"\d+", places))]
    return keys


def _listed(value: Any) -> Any:
    """A list in braces as a list: ``{a,b}``."""
    is_list = isinstance(value, str) and value[:1] == "{" and value[-1:] == "}"
    return [part.strip() for part in value[1:-1].split(",") if part.strip()] if is_list else value


def _with_lists(value: Any) -> Any:
    """A map in which maps by places are lists."""
    if not isinstance(value, dict):
        return value
    if value and all(isinstance(key, int) for key in value):
        return [_with_lists(value[place]) for place in sorted(value)]
    return {key: _with_lists(inner) for key, inner in value.items()}
