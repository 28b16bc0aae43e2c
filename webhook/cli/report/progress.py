"""How far a long run is: a line on standard error that is written over, for a person at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

__all__ = ["progress"]

T = TypeVar("T")

_PAUSE: Final = 0.2
"""Seconds between two lines: more are not read."""
_PATIENCE: Final = 1.0
"""Seconds without a line: most runs are over by then."""


def progress(items: Sequence[T], what: str) -> Iterator[T]:
    """The items; while they are used, "what: 1,200 of 10,000" is shown, and removed at the end."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield from items
        return
    due, shown = time.monotonic() + _PATIENCE, False
    for number, item in enumerate(items):
        if time.monotonic() >= due:
            print(f"\r\033[K{what}: {number:,} of {len(items):,}", end="", file=stream, flush=True)
            due, shown = time.monotonic() + _PAUSE, True
        yield item
    if shown:
        print("\r\033[K", end="", file=stream, flush=True)
