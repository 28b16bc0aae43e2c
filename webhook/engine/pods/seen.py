"""Pods in which nothing was found: the same pod is reviewed again, and many services have that of their runtime."""

from __future__ import annotations

from typing import Any, Final

import orjson

__all__ = ["RIGHT", "Right"]

LIMIT: Final = 4 * 2**20
"""Bytes of JSON, of some hundred pods with 10 KB each."""


class Right:
    """The JSON of values that were right. A full set is emptied; what another thread adds meanwhile may be lost."""

    def __init__(self) -> None:
        self._known, self._size = set[bytes](), 0

    def key(self, *value: Any) -> bytes:
        """What identifies a value and how it is judged; empty for a value that has no JSON."""
        try:
            return orjson.dumps(value)
        except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
            return b""

    def __contains__(self, key: bytes) -> bool:
        return key in self._known

    def add(self, key: bytes) -> None:
        if self._size + len(key) > LIMIT:
            self._known, self._size = set(), 0
        if 0 < len(key) <= LIMIT:
            self._known.add(key)
            self._size += len(key)


RIGHT: Final = Right()
"""Those of this process."""
