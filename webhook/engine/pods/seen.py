"""Objects whose pods were right: the same specification is reviewed again, of one object or of many."""

from __future__ import annotations

from typing import Any, Final

import orjson

LIMIT: Final = 4 * 2**20
"""Bytes of JSON, of some hundred specifications with 10 KB each."""
MOST: Final = 4096
"""Specifications. Each keeps what completes it in memory, even after the cluster has another version of that."""
_UNKNOWN: Final[tuple[object, tuple[object, ...]]] = (None, ())


class Right:
    """The JSON of what was right, and the values by whose identity it was so.

    A full memory is emptied; what another thread adds meanwhile may be lost.
    """

    def __init__(self) -> None:
        self._same, self._size = dict[tuple[object, ...], tuple[object, tuple[object, ...]]](), 0

    def key(self, *value: Any) -> bytes:
        """What identifies a value; empty for a value that has no JSON."""
        try:
            return orjson.dumps(value)
        except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
            return b""

    def has(self, key: bytes, *same: object) -> bool:
        return (key, *map(id, same)) in self._same

    def note(self, key: bytes, *same: object) -> Any:
        """What was noted with a value; None if it is not remembered."""
        return self._same.get((key, *map(id, same)), _UNKNOWN)[0]

    def add(self, key: bytes, *same: object, note: object = None) -> None:
        """Remember a value. What is the same is kept, so that no other object gets its identity."""
        if self._size + len(key) > LIMIT or len(self._same) >= MOST:
            self._same, self._size = {}, 0
        if 0 < len(key) <= LIMIT:
            identified = (key, *map(id, same))
            self._size += 0 if identified in self._same else len(key)
            self._same[identified] = note, same


RIGHT: Final = Right()
"""Those of this process."""
