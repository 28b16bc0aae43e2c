"""A queue of keys: each key at most once, never with two workers at the same time, now or later.

The rules are those of Kubernetes' work queues (client-go, util/workqueue): a key that is
added while a worker holds it is handed out again when the worker is done.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from webhook.cluster.backoff import backoff

__all__ = ["Queue"]

K = TypeVar("K")


class Queue(Generic[K]):
    """Keys to work on; every method may be called from any thread.

    ``clock`` gives seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._ready: deque[K] = deque()
        self._queued: set[K] = set()  # to be handed out, among them keys that are held
        self._held: set[K] = set()
        self._due: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        self._closed = False

    def __len__(self) -> int:
        """How many keys wait for a worker; those that are due later are not counted."""
        with self._changed:
            return len(self._ready)

    def add(self, key: K) -> None:
        with self._changed:
            self._enqueue(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Adds the key later; of several times the earliest counts."""
        due = self._clock() + seconds
        with self._changed:
            self._due[key] = min(due, self._due.get(key, due))
            self._changed.notify()

    def backoff(self, key: K, first: float, most: float) -> float:
        """How long to wait before the next try: ``first`` seconds, doubled with every call until :meth:`forget`."""
        with self._changed:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
        return backoff(failures, first, most)

    def forget(self, key: K) -> None:
        """The key went well: its next backoff starts from the beginning."""
        with self._changed:
            self._failures.pop(key, None)

    def get(self, wait: bool = True) -> K | None:
        """The next key, now held by the caller until :meth:`done`; None when closed (or, without waiting, none is due).

        Whoever takes up a key decides anew when it is due: a time set before is dropped.
        """
        with self._changed:
            while not self._closed:
                self._wake()
                if self._ready:
                    return self._hand_out()
                if not wait:
                    break
                self._changed.wait(self._until_next())
            return None

    def done(self, key: K) -> None:
        with self._changed:
            self._held.discard(key)
            if key in self._queued:
                self._ready.append(key)
                self._changed.notify()

    def close(self) -> None:
        """Wakes every waiting worker with None; keys that are not handed out stay undone."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _enqueue(self, key: K) -> None:
        if key in self._queued:
            return
        self._queued.add(key)
        if key not in self._held:
            self._ready.append(key)
            self._changed.notify()

    def _hand_out(self) -> K:
        key = self._ready.popleft()
        self._queued.discard(key)
        self._held.add(key)
        self._due.pop(key, None)
        return key

    def _wake(self) -> None:
        now = self._clock()
        for key in [key for key, due in self._due.items() if due <= now]:
            del self._due[key]
            self._enqueue(key)

    def _until_next(self) -> float | None:
        return max(0.0, min(self._due.values()) - self._clock()) if self._due else None
