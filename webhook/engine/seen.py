"""Judgements that are made again: of the same object, beside the same others, which are known by their identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson

from webhook.cluster import ClusterView, Kind

LIMIT: Final = 4 * 2**20
"""Bytes of JSON, of some hundred objects with 10 KB each."""
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

    def names(self, name: str) -> bool:
        """Whether a name was looked for that has this one in it."""
        return any(read.name is not None and name in read.name for read in self.reads)


class _Judged(NamedTuple):
    note: Any
    same: tuple[object, ...]
    reads: tuple[_Read, ...]


class Judgements:
    """What was said of objects, by their JSON, by values that are the same, and by what a view gave for them.

    A full memory is emptied; what another thread adds meanwhile may be lost.
    """

    def __init__(self) -> None:
        self._held, self._size = dict[tuple[object, ...], _Judged](), 0

    def note(self, key: bytes, view: ClusterView, *same: object) -> Any:
        """What was said of an object; None if it is not remembered, or the view gives something else by now."""
        held = self._held.get((key, *map(id, same)))
        if held is None:
            return None
        for kind, namespace, name, given in held.reads:
            now = view.list(kind, namespace) if name is None else view.get(kind, namespace or "", name)
            if now is not given:
                return None
        return held.note

    def add(self, key: bytes, reads: Sequence[_Read], note: object, *same: object) -> None:
        """Remember what was said. What is known by its identity is kept, so that nothing else gets it."""
        if self._size + len(key) > LIMIT or len(self._held) >= MOST:
            self._held, self._size = {}, 0
        if 0 < len(key) <= LIMIT:
            self._size += len(key)
            self._held[(key, *map(id, same))] = _Judged(note, same, _distinct(reads))


def _distinct(reads: Sequence[_Read]) -> tuple[_Read, ...]:
    return tuple({read[:-1]: read for read in reads}.values())


def json_of(*values: Any) -> bytes:
    """What identifies values; empty for those that have no JSON."""
    try:
        return orjson.dumps(values)
    except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
        return b""
