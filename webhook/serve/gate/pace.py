"""How long a review may be judged at once, while all others wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from webhook.ground.budget import Stretch

AT_ONCE: Final = 0.018
"""Seconds by the clock until a review is looked at, and then as many of CPU until it goes to a child: together 36 ms.
One long step may follow, without a look; docs/reliability.md has what the worst reviews take in all."""

WITH_POLICIES: Final = 0.01
"""As :data:`AT_ONCE`, together 20 ms, for a review that admission policies are about: their author does not know what
they cost a hostile object, and a user may repeat it. How long one policy may take at a stretch is another bound
(:data:`webhook.serve.gate.state.AFFORDED`)."""


class OverrunError(Exception):
    """The review takes long: it is to be judged where no other waits. The text names the step that comes next."""


class Pace:
    """The checkpoint of reviews that are judged at once, one after the other; ``clock`` gives seconds.

    The time of other programs does not count: one that is busy must not send every review to a child.
    """

    __slots__ = ("_clock", "_most", "_next", "_spent")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.begin(0)

    def begin(self, now: float) -> None:
        """Begin the time of a review."""
        self._most = AT_ONCE
        self._next = now + AT_ONCE
        self._spent: float | None = None

    def hurry(self) -> None:
        """Leave the review the time of one that policies are about, from now on."""
        self._most = WITH_POLICIES
        self._next = self._clock() + WITH_POLICIES

    def __call__(self, step: str) -> None:
        self.look(self._clock(), step)

    def look(self, now: float, step: str) -> None:
        """Look at the clock.

        Raises:
            OverrunError: the review has had its time, or the step takes long without another look.
        """
        if step.__class__ is Stretch:
            raise OverrunError(step)
        if now <= self._next:
            return
        spent = time.thread_time()  # a system call
        if self._spent is None:
            self._spent = spent
        left = self._most - (spent - self._spent)
        if left <= 0:
            raise OverrunError(step)
        self._next = now + left
