"""Objects of any shape: read parts of them, and remember what was computed from them.

Facts are also computed for objects that the CRD refuses. Every service needs the same hundreds of runtimes. A view
returns the same Python object until the cluster's object changes, and such objects are never mutated, so the identity
of an object is a valid key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

__all__ = ["Memo", "Referent", "at", "items", "mapping", "name_of", "namespace_of", "text", "texts", "trimmed", "whole"]


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


def texts(node: Any, *keys: str) -> list[str]:
    """The texts in the list at a path."""
    value = at(node, *keys)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class Referent(NamedTuple):
    """An object that others may refer to by its name, of a kind that there is in a namespace and in the cluster."""

    kind: str
    object: dict[str, Any]

    @property
    def name(self) -> str:
        return text(self.object, "metadata", "name")

    @property
    def namespace(self) -> str:
        return text(self.object, "metadata", "namespace")

    @property
    def spec(self) -> dict[str, Any]:
        spec = self.object.get("spec")
        return spec if isinstance(spec, dict) else {}

    @property
    def disabled(self) -> bool:
        """Whether OME may not use it."""
        return self.spec.get("disabled") is True

    @property
    def cluster_scoped(self) -> bool:
        return self.kind.removeprefix("AIM").startswith("Cluster")


T = TypeVar("T")

LIMIT: Final = 4096
"""The number of cached objects: a cluster has some hundred runtimes. A full cache is emptied."""


class Memo(Generic[T]):
    """Cache a function of one object, or of one list that a view gives. Thread-safe: two threads may compute the same
    result twice.
    """

    def __init__(self, compute: Callable[[Any], T], limit: int = LIMIT) -> None:
        self._compute = compute
        self._limit = limit
        self._known: dict[int, tuple[Any, T]] = {}

    def __call__(self, obj: Any) -> T:
        known = self._known.get(id(obj))
        if known is not None and known[0] is obj:
            return known[1]
        value = self._compute(obj)
        if len(self._known) >= self._limit:
            self._known = {}
        self._known[id(obj)] = obj, value
        return value
