"""Recent answers, kept for a moment; also that an object does not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.cluster.locks import MEMORY
from webhook.cluster.readthrough import ClusterAnswer, ClusterQuestion

__all__ = ["RecentAnswers"]

KEEP: Final = 1.0
"""Seconds. Long enough for both webhooks of a request and for a burst of objects with the same reference. An object
that is created just after a refusal is found at the next attempt."""

LIMIT: Final = 10_000
"""Entries, limited because names come from users: enough for a thousand requests a second with ten new names each."""


class RecentAnswers:
    """Answers by question, each for ``KEEP`` seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[ClusterQuestion, tuple[float, ClusterAnswer]] = {}

    def get(self, question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        """Whether there is a recent answer, and the answer."""
        with MEMORY:
            until, found = self._entries.get(question, (float("-inf"), None))
        return (True, found) if self._clock() < until else (False, None)

    def put(self, question: ClusterQuestion, found: ClusterAnswer) -> None:
        now = self._clock()
        with MEMORY:
            self._entries.pop(question, None)  # inserted again, so that the oldest entries come first
            self._entries[question] = now + KEEP, found
            while len(self._entries) > LIMIT or next(iter(self._entries.values()))[0] <= now:
                del self._entries[next(iter(self._entries))]
