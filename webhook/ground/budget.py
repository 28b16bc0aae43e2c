"""What the judgement of one object may take: one count, which everything that judges spends.

A step is about a microsecond of work, or sixteen characters of text that is made. It is a count and not a time, so that
every call about the same object comes to the same decision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

STEPS: Final = 2_000_000
"""Steps of one judgement: some seconds on a slow core. An object of 50,000 values, the most that are judged, takes
400,000."""

EVERY: Final = 512
"""Steps between two looks at the clock: a usual review takes fewer."""

STRETCH: Final = 8_192
"""Steps that are counted at once and take long without a look: those of an object of 128 KiB."""

_CHARACTERS: Final = 16


class SpentError(Exception):
    """The judgement takes more steps than it may. ``place`` is what was looked at: a field, or the name of a step."""

    def __init__(self, place: object, limit: int) -> None:
        self.place, self.limit = str(place) or "its root", limit
        super().__init__(f"judging the object takes more than {limit:,} steps, at {self.place}")


class Stretch(str):
    """The name of a stage of the judgement that takes more than :data:`STRETCH` steps: it does not begin on a server's
    event loop (:mod:`webhook.serve.gate.pace`).
    """

    __slots__ = ()


def _nothing(_place: str) -> None:
    pass


class Budget:
    """The steps that one judgement has left. It is not shared between threads.

    ``look`` is called now and then with the place, and may raise an error of its own: at a deadline, or where others
    wait for the judgement.
    """

    __slots__ = ("_due", "_limit", "_look", "left")

    def __init__(self, look: Callable[[str], object] = _nothing, limit: int = STEPS) -> None:
        self.left = self._limit = limit
        self._look = look
        self._due = max(limit - EVERY, 0)

    def spend(self, steps: int, place: object) -> None:
        """Count steps before they are made. ``place`` is made into text only where it is needed.

        Raises:
            SpentError: fewer were left.
        """
        self.left = left = self.left - steps
        if left < self._due:
            if left < 0:
                raise SpentError(place, self._limit)
            self._due = max(left - EVERY, 0)
            self._look(str(place) if steps <= STRETCH else Stretch(place))

    def tick(self) -> bool:
        """One round of a loop in an expression, as :meth:`spend`; never True, which would end the loop."""
        self.spend(1, "an expression")
        return False

    def write(self, text: str, place: object) -> None:
        """Count a text that is made, as :meth:`spend`."""
        self.spend(1 + len(text) // _CHARACTERS, place)
