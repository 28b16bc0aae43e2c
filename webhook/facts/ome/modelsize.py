"""Model sizes: numbers of parameters with a suffix."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final

from webhook.facts.nodes import mapping

__all__ = ["SizeRange", "parse_size", "range_of"]

_UNITS: Final = {"T": 1e12, "B": 1e9, "M": 1e6}
# The syntax of Go's ParseFloat, without hexadecimal numbers and underscores, which are not used for sizes.
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?\Z")


def parse_size(size: str) -> float | None:
    """Parse ``70B`` into a number. Return None for text that OME reads as 0: ``7b``, ``7K``, ``8x7B``, ``7 B``."""
    unit = _UNITS.get(size[-1:], 0)
    number = size[:-1] if unit else size
    if not _FLOAT.match(number):
        return None
    value = float(number) * (unit or 1)
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class SizeRange:
    """The sizes that a runtime supports, both ends included. None is an open end (upstream panics there)."""

    low: str | None
    high: str | None

    @property
    def bounds(self) -> tuple[float, float]:
        low = -math.inf if self.low is None else parse_size(self.low) or 0.0
        return low, math.inf if self.high is None else parse_size(self.high) or 0.0

    @property
    def width(self) -> float:
        low, high = self.bounds
        return high - low

    def holds(self, size: str) -> bool:
        low, high = self.bounds
        return low <= (parse_size(size) or 0.0) <= high

    def __str__(self) -> str:
        return f"[{self.low or ''}, {self.high or ''}]"


def range_of(runtime_spec: Any) -> SizeRange | None:
    """The size range of a runtime, or None if it is absent or has no ends."""
    given = mapping(runtime_spec, "modelSizeRange")
    ends = [end if isinstance(end := given.get(key), str) else None for key in ("min", "max")]
    return SizeRange(ends[0], ends[1]) if ends != [None, None] else None
