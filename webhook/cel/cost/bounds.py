"""Ranges of sizes and costs, in 64 bits that saturate at their maximum instead of overflowing."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

__all__ = ["MAX", "UNKNOWN", "ZERO", "Bounds", "fixed", "saturated"]

MAX: Final = 2**64 - 1


def saturated(value: int) -> int:
    return min(value, MAX)


class Bounds(NamedTuple):
    """At least ``min`` and at most ``max``."""

    min: int
    max: int

    def plus(self, other: Bounds) -> Bounds:
        return Bounds(saturated(self.min + other.min), saturated(self.max + other.max))

    def times(self, other: Bounds) -> Bounds:
        return Bounds(saturated(self.min * other.min), saturated(self.max * other.max))

    def scaled(self, factor: float) -> Bounds:
        """Multiplied and rounded up, computed in floating point as cel-go does."""
        return Bounds(_scaled(self.min, factor), _scaled(self.max, factor))

    def union(self, other: Bounds) -> Bounds:
        return Bounds(min(self.min, other.min), max(self.max, other.max))


def fixed(value: int) -> Bounds:
    return Bounds(value, value)


def _scaled(value: int, factor: float) -> int:
    product = math.ceil(float(value) * factor)
    return MAX if product >= 2**64 else product


ZERO: Final = fixed(0)
UNKNOWN: Final = Bounds(0, MAX)
