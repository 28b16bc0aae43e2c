"""Turns to look at files: a slow server takes up a worker, and must not take up all of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Turns:
    """At most ``slots`` looks at once, and one of a namespace, which then rests for as long as its look took.

    So the slow servers of one tenant hold up neither the other workers nor the looks of other tenants.
    """

    def __init__(self, slots: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._free = slots
        self._clock = clock
        self._rests: dict[str, float] = {}  # namespace → the end of its rest
        self._lock = threading.Lock()

    @contextmanager
    def take(self, namespace: str) -> Iterator[bool]:
        """Whether it is the namespace's turn, which lasts until the end of the context."""
        began = self._clock()
        turn = self._begin(namespace, began)
        try:
            yield turn
        finally:
            if turn:
                self._end(namespace, began)

    def _begin(self, namespace: str, now: float) -> bool:
        with self._lock:
            self._rests = {each: end for each, end in self._rests.items() if end > now}
            if not self._free or namespace in self._rests:
                return False
            self._free -= 1
            self._rests[namespace] = math.inf
            return True

    def _end(self, namespace: str, began: float) -> None:
        with self._lock:
            self._free += 1
            now = self._clock()
            self._rests[namespace] = now + (now - began)
