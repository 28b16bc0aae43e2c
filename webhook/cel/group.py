"""Programs that are evaluated on the same bindings and charged together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from webhook.cel.program import Budget, Program

__all__ = ["Group"]


class Group:
    """The leading programs of a sequence whose cost has a bound that is known before they run.

    The budget is checked once for all of them, which saves a third of the time of short rules
    if all hold. A rule that does not hold is evaluated again by itself, with its own cost.
    """

    __slots__ = ("_attempts", "_programs", "bound")

    def __init__(self, programs: Iterable[Program]) -> None:
        self._programs = tuple(takewhile(lambda program: program.bound is not None, programs))
        self._attempts = tuple(program.attempt for program in self._programs if program.attempt is not None)
        self.bound = sum(program.bound or 0 for program in self._programs)

    def __len__(self) -> int:
        return len(self._programs)

    def holding(self, bindings: Mapping[str, Any], budget: Budget) -> int:
        """The number of leading programs that are true; only their costs are spent.

        The values in ``bindings`` must not change while the budget is in use.
        """
        left = budget.left - self.bound
        if left < 0:
            return 0
        count = 0
        for attempt in self._attempts:
            if attempt(bindings) is not True:
                return self._only(count, bindings, budget)
            count += 1
        budget.left = left
        budget.noted.append((self, bindings))
        return count

    def hold(self, bindings: Mapping[str, Any]) -> bool:
        """Whether all programs are known to be true; the caller charges their :attr:`bound`."""
        for attempt in self._attempts:
            if attempt(bindings) is not True:
                return False
        return len(self._attempts) == len(self._programs)

    def cost(self, bindings: Mapping[str, Any]) -> int:
        """The exact cost of evaluating all of them."""
        return sum(program.evaluate_exactly.cost(bindings) for program in self._programs)

    def _only(self, count: int, bindings: Mapping[str, Any], budget: Budget) -> int:
        for program in self._programs[:count]:
            budget.left -= program.bound or 0
            budget.noted.append((program.evaluate_exactly, bindings))
        return count
