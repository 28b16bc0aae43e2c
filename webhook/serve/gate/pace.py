"""How long a review may be judged at once, while all others wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["OverrunError", "Pace"]

AT_ONCE: Final = 0.05
"""Seconds: the bar of the worst small review (docs/reliability.md). A process that was not given the processor
meanwhile judges the review once more, or in a child."""


class OverrunError(Exception):
    """The review takes long: it is to be judged where no other waits. The text names the step that comes next."""


class Pace:
    """The checkpoint of reviews that are judged at once, one after the other; ``clock`` gives seconds."""

    __slots__ = ("_clock", "_end")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._end = float("inf")

    def begin(self, now: float) -> None:
        """Begin the time of a review."""
        self._end = now + AT_ONCE

    def __call__(self, step: str) -> None:
        if self._clock() > self._end:
            raise OverrunError(step)
