"""How much one call may make or compare.

The cost of a call is counted when it is done. What would cost more than any expression may is
therefore stopped before it is begun, with the error that would follow.
"""

from __future__ import annotations

from typing import Final

from webhook.cel.errors import BudgetExceeded

__all__ = ["LIST_LIMIT", "STRING_LIMIT", "WORK_LIMIT", "within"]

LIST_LIMIT: Final = 1_000_000
"""No list is longer: looking at each element once would spend the cost limit of an expression."""

STRING_LIMIT: Final = 10_000_000
"""No string is longer: reading it once, at a tenth a character, would spend the limit."""

WORK_LIMIT: Final = 1_000_000
"""No function compares more pairs of elements: each costs 1."""


def within(amount: int, limit: int) -> None:
    """Stop before doing what would cost more than any expression may.

    Raises:
        BudgetExceeded: as the API server says it afterwards.
    """
    if amount > limit:
        raise BudgetExceeded("operation cancelled: actual cost limit exceeded")
