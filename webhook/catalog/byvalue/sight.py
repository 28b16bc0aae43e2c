"""A view for facts that tells whether one of the objects has a value that the fact does not expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from webhook.catalog.byvalue.own import Keys, Own, any_meet
from webhook.cluster import ClusterView, Kind

__all__ = ["Foreign", "Sight"]


class Foreign(NamedTuple):
    """A kind that a fact reads and that is installed in another form, and the fields that the fact reads of it."""

    own: Own
    read: Sequence[Keys]

    def hides(self, obj: dict[str, Any]) -> bool:
        return any_meet(self.own.unexpected(obj), self.read)


class Sight:
    """A view for one fact. ``is_clear`` until it gives an object with a value that the fact does not expect."""

    def __init__(self, view: ClusterView, kinds: Mapping[Kind, Foreign]) -> None:
        self._view, self._kinds = view, kinds
        self.is_clear = True

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        found = self._view.get(kind, namespace, name)
        self._look(kind, () if found is None else (found,))
        return found

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        found = self._view.list(kind, namespace)
        self._look(kind, found)
        return found

    def _look(self, kind: Kind, found: Iterable[dict[str, Any]]) -> None:
        foreign = self._kinds.get(kind) if self.is_clear else None
        if foreign is not None and any(map(foreign.hides, found)):
            self.is_clear = False
