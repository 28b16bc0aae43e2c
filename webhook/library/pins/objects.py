"""Objects as files write them, and the values and places in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
