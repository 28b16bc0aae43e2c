"""Judgements that are made again: of the same object, beside the same others, which are known by their identity."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from webhook.cluster import ClusterView, Notes

LIMIT: Final = 4 * 2**20
"""Bytes of JSON, of some hundred objects with 10 KB each."""
MOST: Final = 2048
"""Objects. Each keeps what was read for it in memory, even after the cluster has another version of that."""


class _Judged(NamedTuple):
    note: Any
    same: tuple[object, ...]
    notes: Notes


class Judgements:
    """What was said of objects, by their JSON, by values that are the same, and by what a view gave for them.

    A full memory is emptied; what another thread adds meanwhile may be lost.
    """

    def __init__(self) -> None:
        self._held, self._size = dict[tuple[object, ...], _Judged](), 0

    def note(self, key: bytes, view: ClusterView, *same: object) -> Any:
        """What was said of an object; None if it is not remembered, or the view gives something else by now."""
        held = self._held.get((key, *map(id, same)))
        return held.note if held is not None and held.notes.is_same_in(view) else None

    def add(self, key: bytes, notes: Notes, note: object, *same: object) -> None:
        """Remember what was said. What is known by its identity is kept, so that nothing else gets it."""
        if self._size + len(key) > LIMIT or len(self._held) >= MOST:
            self._held, self._size = {}, 0
        if 0 < len(key) <= LIMIT:
            self._size += len(key)
            self._held[(key, *map(id, same))] = _Judged(note, same, notes)


def json_of(*values: Any) -> bytes:
    """What identifies values; empty for those that have no JSON."""
    try:
        return orjson.dumps(values)
    except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
        return b""
