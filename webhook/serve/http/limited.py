"""Log lines that strangers cause: one for each kind and ten seconds, with a count of the lines left out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

__all__ = ["Limited"]

SECONDS: Final = 10.0
"""Seconds between two lines of the same kind: visible at once, and at most 360 lines an hour."""


class Limited:
    """A log with a limited rate. A *kind* is a constant of the caller, so that the table of kinds stays small."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._last: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def warning(self, kind: str, text: str, *arguments: Any) -> None:
        """Log a line unless one of this kind was logged just before."""
        now = self._clock()
        if now - self._last.get(kind, float("-inf")) < SECONDS:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
            return
        self._last[kind] = now
        left_out = self._left_out.pop(kind, 0)
        more = f" ({left_out} more of this kind since the last line)" if left_out else ""
        self._log.warning(text + "%s", *arguments, more)
