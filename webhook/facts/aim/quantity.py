"""Amounts of resources: one number, however it is written."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

__all__ = ["amount", "same_amount"]

_QUANTITY: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?\Z", re.ASCII)
_FACTORS: Final = {
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate(("n", "u", "m", "", "k", *"MGTPE"), -3)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}

_LONGEST: Final = 100
"""Characters of a quantity that is worth a look: the largest one has 19 digits, the finest 9 behind the point."""


def amount(value: Any) -> Any:
    """The number that a quantity means; what is none is handed back."""
    return _number(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else value


def same_amount(one: Any, other: Any) -> bool:
    return bool(amount(one) == amount(other))


@lru_cache(maxsize=1024)
def _number(text: str) -> Fraction | str:
    match = _QUANTITY.match(text) if len(text) <= _LONGEST else None
    if match is None:
        return text
    factor = Fraction(10) ** int(match[3]) if match[3] else _FACTORS[match[2] or ""]
    return Fraction(match[1]) * factor
