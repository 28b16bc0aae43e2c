"""The ClusterView protocol, and the view that holds its objects in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from webhook.ground.budget import Budget

__all__ = ["ClusterView", "CountedView", "Freshness", "Kind", "MemoryView"]


class Kind(NamedTuple):
    """Group and kind, without version: references in the five APIs do not name one."""

    group: str
    kind: str


class Freshness(NamedTuple):
    """How current one kind of a view is: ``kind`` is group/Kind, ``silence`` the seconds since its last event (infinite
    before the first list), ``held`` the number of objects in memory.
    """

    kind: str
    silence: float
    held: int


class ClusterView(Protocol):
    """Other objects that facts and rules can read.

    Implementations answer from memory and must not block. Objects are shared and must not be changed. An API that is
    not installed has no objects; it is not an error.
    """

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """The object, or None if there is none. ``namespace`` is "" for cluster scope."""
        ...

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        """All objects of the kind, in one namespace or (None) in all, ordered by namespace and name."""
        ...


class MemoryView:
    """A view of a fixed set of objects: from files, from cases, or empty (``MemoryView()``)."""

    def __init__(self, objects: Iterable[dict[str, Any]] = ()) -> None:
        self._objects: dict[Kind, dict[tuple[str, str], dict[str, Any]]] = {}
        for item in objects:
            kind = Kind(item["apiVersion"].rpartition("/")[0], item["kind"])
            metadata = item["metadata"]
            self._objects.setdefault(kind, {})[metadata.get("namespace", ""), metadata["name"]] = item
        self._lists: dict[tuple[Kind, str | None], Sequence[dict[str, Any]]] = {}  # made on demand

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self._objects.get(kind, {}).get((namespace, name))

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        found = self._lists.get((kind, namespace))
        if found is None:
            held = sorted(self._objects.get(kind, {}).items())
            found = [item for (where, _), item in held if namespace is None or where == namespace]
            self._lists[kind, namespace] = found
        return found


class CountedView:
    """A view for the judgement of one object, which spends a step for each object that it gives."""

    __slots__ = ("_budget", "_view")

    def __init__(self, view: ClusterView, budget: Budget) -> None:
        self._view, self._budget = view, budget

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        self._budget.spend(1, kind.kind)
        return self._view.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        listed = self._view.list(kind, namespace)
        self._budget.spend(1 + len(listed), kind.kind)
        return listed
