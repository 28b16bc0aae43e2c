"""The nodes of a cluster in memory: as shapes, of which equal nodes share one (:mod:`webhook.placement`).

The status of a node changes every few minutes. Such an update is ignored where the shape stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.cluster.store import MEMORY, Store
from webhook.cluster.view import Key
from webhook.placement import NodeTable, Shapes


class NodeStore(Store):
    """As a store of objects; its list is a :class:`NodeTable`, the same until a node has another shape."""

    def __init__(self) -> None:
        super().__init__()
        self._shapes = Shapes()
        self._held: dict[str, Any] = {}
        self._table: NodeTable | None = None

    def put(self, key: Key, obj: dict[str, Any]) -> bool:
        """Take a node; False if its shape is what it was."""
        _, held = self._shapes.held(obj)
        with MEMORY:
            if self._held.get(key.name) == held:
                return False
            self._changed()[key.name] = held
            return True

    def drop(self, key: Key) -> None:
        with MEMORY:
            if key.name in self._held:
                del self._changed()[key.name]

    def _changed(self) -> dict[str, Any]:
        """The nodes, to be changed: a table that was given has them as they are."""
        if self._table is not None:
            self._held, self._table = dict(self._held), None
        return self._held

    def get(self, key: Key) -> dict[str, Any] | None:
        """A node with the labels, taints and capacity of its shape, and its name."""
        with MEMORY:
            held = self._held.get(key.name)
        return None if held is None else held.shape.as_object(key.name)

    def count(self) -> int:
        return len(self._held)

    def names(self) -> Sequence[Key]:
        with MEMORY:
            return tuple(Key("", name) for name in self._held)

    def list(self, _: str | None) -> Sequence[dict[str, Any]]:
        with MEMORY:
            if self._table is None:
                self._table = NodeTable(self._held)
                self._shapes.keep(self._table.counts)
            return self._table
