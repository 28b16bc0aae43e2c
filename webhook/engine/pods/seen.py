"""Objects in whose pods nothing was found, where the fast way takes long or does not know.

The same specification is reviewed again, of one object or of many.
"""

from __future__ import annotations

from operator import is_
from typing import Any, Final

import orjson

__all__ = ["RIGHT", "Right"]

LIMIT: Final = 4 * 2**20
"""Bytes of JSON, of some hundred specifications with 10 KB each."""
MOST: Final = 4096
"""Specifications. Each keeps what completes it in memory, even after the cluster has another version of that."""


class Right:
    """The JSON of what was right, and the values by whose identity it was so.

    A full memory is emptied; what another thread adds meanwhile may be lost.
    """

    def __init__(self) -> None:
        self._known, self._size = dict[bytes, tuple[object, ...]](), 0

    def key(self, *value: Any) -> bytes:
        """What identifies a value; empty for a value that has no JSON."""
        try:
            return orjson.dumps(value)
        except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
            return b""

    def has(self, key: bytes, *same: object) -> bool:
        known = self._known.get(key)
        return known is not None and all(map(is_, known, same))

    def add(self, key: bytes, *same: object) -> None:
        if self._size + len(key) > LIMIT or len(self._known) >= MOST:
            self._known, self._size = {}, 0
        if 0 < len(key) <= LIMIT:
            self._size += 0 if key in self._known else len(key)
            self._known[key] = same


RIGHT: Final = Right()
"""Those of this process."""
