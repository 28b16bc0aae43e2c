"""A rate for writes that concern many objects at once, such as after a change of the rules."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

K = TypeVar("K")


class Pace(Generic[K]):
    """Gives each key its turn: ``rate`` a second, after ``burst`` at once. A key that is gone loses its turn."""

    def __init__(self, rate: float, burst: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._step = 1.0 / rate
        self._burst = burst * self._step
        self._clock = clock
        self._next = float("-inf")
        self._turns: WeakKeyDictionary[K, float] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def turn(self, key: K) -> float:
        """Seconds until the key's turn; at 0 it is used up. A key that has to wait keeps its turn."""
        with self._lock:
            now = self._clock()
            at = self._turns.pop(key, None)
            if at is None:
                at = max(self._next, now - self._burst + self._step)
                self._next = at + self._step
            if at > now:
                self._turns[key] = at
            return max(0.0, at - now)
