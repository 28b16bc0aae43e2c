"""Objects that fit: the same object is reviewed again, beside the same others, which are known by their identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson

from webhook.catalog import KnownKind
from webhook.cluster import ClusterView, Kind
from webhook.facts.settings import Settings

MOST: Final = 2048
"""Objects. Each keeps what was read for it in memory, even after the cluster has another version of that."""


class _Read(NamedTuple):
    """What a view gave; without a name, a list."""

    kind: Kind
    namespace: str | None
    name: str | None
    given: object


class NotedView:
    """A view that notes what it gives."""

    __slots__ = ("_view", "reads")

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self.reads = list[_Read]()

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        given = self._view.get(kind, namespace, name)
        self.reads.append(_Read(kind, namespace, name, given))
        return given

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        given = self._view.list(kind, namespace)
        self.reads.append(_Read(kind, namespace, None, given))
        return given


class Fitting:
    """Objects without a finding, and what was read for them. A full memory is emptied."""

    def __init__(self) -> None:
        self._held: dict[tuple[object, ...], tuple[KnownKind, Settings, tuple[_Read, ...]]] = {}

    def key(self, kind: KnownKind, obj: dict[str, Any], settings: Settings) -> tuple[object, ...] | None:
        """What identifies an object, whatever its name; None for one that has no JSON."""
        metadata = obj["metadata"]
        parts = (metadata.get("namespace"), metadata.get("labels"), metadata.get("annotations"), obj.get("spec"))
        try:
            return orjson.dumps(parts), id(kind), id(settings)
        except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
            return None

    def has(self, key: tuple[object, ...], view: ClusterView) -> bool:
        """Whether an object fits that was judged by the same others."""
        held = self._held.get(key)
        if held is None:
            return False
        for kind, namespace, name, given in held[2]:
            now = view.list(kind, namespace) if name is None else view.get(kind, namespace or "", name)
            if now is not given:
                return False
        return True

    def add(self, key: tuple[object, ...], kind: KnownKind, settings: Settings, reads: Sequence[_Read]) -> None:
        """Remember an object. What is known by its identity is kept."""
        if len(self._held) >= MOST:
            self._held = {}
        self._held[key] = kind, settings, tuple(reads)


FITTING: Final = Fitting()
"""Those of this process."""
