"""What has just been read, for a moment: also that there is no such object."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from webhook.cluster.readthrough import ClusterAnswer, ClusterQuestion

__all__ = ["RecentAnswers"]

KEEP: Final = 1.0
"""Seconds. Long enough for both webhooks of a request and for a burst of objects with the same reference; an object
that is created just after a refusal is found at the next try."""

LIMIT: Final = 10_000
"""Entries: names come from users. At a thousand requests a second, with ten unknown names each, nothing is lost."""


class RecentAnswers:
    """Answers by question, each for ``KEEP`` seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[ClusterQuestion, tuple[float, ClusterAnswer]] = {}
        self._lock = threading.Lock()

    def get(self, question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        """Whether it is remembered, and what."""
        with self._lock:
            until, found = self._entries.get(question, (float("-inf"), None))
        return (True, found) if self._clock() < until else (False, None)

    def put(self, question: ClusterQuestion, found: ClusterAnswer) -> None:
        now = self._clock()
        with self._lock:
            self._entries.pop(question, None)  # so that the oldest are first
            self._entries[question] = now + KEEP, found
            while len(self._entries) > LIMIT or next(iter(self._entries.values()))[0] <= now:
                del self._entries[next(iter(self._entries))]
