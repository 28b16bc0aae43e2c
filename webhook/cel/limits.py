"""Limits on the size of values, on the work of one call, and on Python's recursion.

The API server counts the cost of a call after the call. A call that would exceed the cost limit
of an expression is therefore stopped before it begins, with the error that would follow.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import Final

from webhook.cel.errors import BudgetExceeded

LIST_LIMIT: Final = 1_000_000
"""Elements of a list: visiting each once spends the cost limit of an expression."""

STRING_LIMIT: Final = 10_000_000
"""Characters of a string: reading it once, at 0.1 per character, spends the cost limit of an expression."""

WORK_LIMIT: Final = 1_000_000
"""Pairs of elements that one function compares: each costs 1."""

RECURSION: Final = 3_000
"""Python frames: compiling the 250 levels that cel-go allows takes up to a dozen frames each."""


def within(amount: int, limit: int) -> None:
    """Check the amount before doing the work.

    Raises:
        BudgetExceeded: with the API server's message.
    """
    if amount > limit:
        raise BudgetExceeded("operation cancelled: actual cost limit exceeded")


class Steps:
    """Counts the steps of a call whose number the sizes of its arguments do not tell: values may share their parts."""

    __slots__ = ("_limit", "count")

    def __init__(self, limit: int = WORK_LIMIT) -> None:
        self._limit = limit
        self.count = 0

    def take(self, steps: int) -> None:
        """Count steps before they are done.

        Raises:
            BudgetExceeded: they are too many.
        """
        self.count += steps
        within(self.count, self._limit)


class _DeepRecursion:
    """A context in which Python's recursion limit fits any expression.

    The limit belongs to the process: it is raised when the first thread enters, and restored
    when the last one leaves.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._entered = 0
        self._usual = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._entered == 0:
                self._usual = sys.getrecursionlimit()
                if self._usual < RECURSION:
                    sys.setrecursionlimit(RECURSION)
            self._entered += 1

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._entered -= 1
            if self._entered == 0 and self._usual < RECURSION == sys.getrecursionlimit():
                sys.setrecursionlimit(self._usual)


DEEP_RECURSION: Final = _DeepRecursion()
