"""Log lines that strangers cause: a few for each kind and ten seconds, with a count of the lines left out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from typing import Any, Final

SECONDS: Final = 10.0
"""Seconds for which lines of a kind are counted: with one line, visible at once, and at most 360 lines an hour."""

Clock = Callable[[], float]


class Rate:
    """So many of a kind in :data:`SECONDS`. There must be few kinds: each is remembered."""

    def __init__(self, most: int, clock: Clock) -> None:
        self._most, self._clock = most, clock
        self._since: dict[Hashable, float] = {}
        self._passed: dict[Hashable, int] = {}

    def left_out(self, kind: Hashable) -> int | None:
        """How many of a kind were left out before this one; None if it is one of these."""
        now, count, before = self._clock(), self._passed.get(kind, 0), 0
        if now - self._since.get(kind, float("-inf")) >= SECONDS:
            self._since[kind], before, count = now, max(count - self._most, 0), 0
        self._passed[kind] = count + 1
        return before if count < self._most else None


class Limited:
    """A log with at most so many lines of a *kind*, which is a constant of the caller, in :data:`SECONDS`."""

    def __init__(self, log: logging.Logger, clock: Clock = time.monotonic, *, most: int = 1) -> None:
        self._log = log
        self._rate = Rate(most, clock)

    def warning(self, kind: str, text: str, *arguments: Any) -> None:
        """Log a line unless there were enough of this kind just before."""
        self.line(logging.WARNING, kind, text, *arguments)

    def line(self, level: int, kind: str, text: str, *arguments: Any, **more: Any) -> None:
        """As :meth:`warning`, with the level, and what else :meth:`logging.Logger.log` takes."""
        left_out = self._rate.left_out(kind)
        if left_out is not None:
            self._log.log(level, text + "%s", *arguments, _told(left_out), **more)


class Throttle(logging.Filter):
    """Limits what a library logs, by the line of code that logs it: strangers cause some of it."""

    def __init__(self, most: int, clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._rate = Rate(most, clock)

    def filter(self, record: logging.LogRecord) -> bool:
        left_out = self._rate.left_out((record.pathname, record.lineno))
        if left_out:
            record.msg, record.args = record.getMessage() + _told(left_out), ()
        return left_out is not None


def _told(left_out: int) -> str:
    return f" ({left_out} more of this kind since the last line)" if left_out else ""
