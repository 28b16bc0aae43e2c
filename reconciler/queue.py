"""A queue of keys, due now or later: each key at most once, and never with two workers at the same time.

It follows Kubernetes' work queues (client-go, util/workqueue): a key that is added while a worker holds it is handed
out again when the worker is done.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from webhook.cluster import backoff

K = TypeVar("K")


class Queue(Generic[K]):
    """Keys to work on; every method may be called from any thread. ``clock`` is monotonic, in seconds.

    Keys with the same ``share`` are handed out in order, and shares take turns: many or slow keys of one do not delay
    those of another.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, share: Callable[[K], str] = lambda _: "") -> None:
        self._clock = clock
        self._share = share
        self._changed = threading.Condition()
        self._ready: dict[str, deque[K]] = {}  # by share, the one whose turn it is first
        self._queued: set[K] = set()  # to be handed out, including held keys
        self._held: set[K] = set()
        self._due: dict[K, float] = {}
        self._times: list[tuple[float, int, K]] = []  # a heap of what is and was in _due
        self._count = itertools.count()  # keys need not be ordered
        self._since: dict[K, float] = {}  # when each waiting key was added
        self._failures: dict[K, int] = {}
        self._closed = False

    def __len__(self) -> int:
        """The number of keys that wait for a worker, without those that are due later."""
        with self._changed:
            return sum(map(len, self._ready.values()))

    def age(self) -> float:
        """Seconds that the oldest key has waited for a worker."""
        with self._changed:
            return self._clock() - min(self._since[each[0]] for each in self._ready.values()) if self._ready else 0.0

    def add(self, key: K) -> None:
        with self._changed:
            self._enqueue(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Add the key later; of several times the earliest counts."""
        due = self._clock() + seconds
        with self._changed:
            if due < self._due.get(key, float("inf")):
                self._due[key] = due
                heapq.heappush(self._times, (due, next(self._count), key))
                if len(self._times) > 64 + 2 * len(self._due):  # a key that comes again and again leaves void entries
                    self._times = [(due, next(self._count), key) for key, due in self._due.items()]
                    heapq.heapify(self._times)
                self._changed.notify()

    def backoff(self, key: K, first: float, most: float) -> float:
        """Seconds until the next attempt: ``first``, doubled with every call until :meth:`forget`, at most ``most``."""
        with self._changed:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
        return backoff(failures, first, most)

    def forget(self, key: K) -> None:
        """Reset the key's backoff after a success."""
        with self._changed:
            self._failures.pop(key, None)

    def get(self, wait: bool = True) -> K | None:
        """The next key, held by the caller until :meth:`done`; None if the queue is closed, or ``wait`` is False and no
        key is due.

        The caller decides when the key is due again: a time set before is dropped.
        """
        with self._changed:
            while not self._closed:
                self._wake()
                if self._ready:
                    return self._hand_out()
                if not wait:
                    break
                self._changed.wait(max(0.0, self._times[0][0] - self._clock()) if self._times else None)
            return None

    def done(self, key: K) -> None:
        with self._changed:
            self._held.discard(key)
            if key in self._queued:
                self._wait(key)

    def close(self) -> None:
        """Wake every waiting worker with None; keys that are not handed out are dropped."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _enqueue(self, key: K) -> None:
        if key in self._queued:
            return
        self._queued.add(key)
        self._since[key] = self._clock()
        if key not in self._held:
            self._wait(key)

    def _wait(self, key: K) -> None:
        self._ready.setdefault(self._share(key), deque()).append(key)
        self._changed.notify()

    def _hand_out(self) -> K:
        share = next(iter(self._ready))
        keys = self._ready.pop(share)
        key = keys.popleft()
        if keys:
            self._ready[share] = keys  # behind the others
        self._queued.discard(key)
        del self._since[key]
        self._held.add(key)
        self._due.pop(key, None)
        return key

    def _wake(self) -> None:
        now = self._clock()
        while self._times and self._times[0][0] <= now:
            due, _, key = heapq.heappop(self._times)
            if self._due.get(key) == due:  # else it is due at another time, or was handed out before
                del self._due[key]
                self._enqueue(key)
