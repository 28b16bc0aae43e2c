"""Versions and sizes of models as OME parses them.

Versions of formats and frameworks (pkg/modelver) are similar to semantic versions, but not equal: a version has one to
three numbers, precision and a leading v are ignored for equality, and a pre-release is *greater* than its release. A
size is a number of parameters with a suffix.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from webhook.facts.nodes import mapping

__all__ = ["SizeRange", "parse_size", "parse_version", "range_of", "version_fits"]

_NUMBER: Final = re.compile(r"(?:0|[1-9][0-9]*)\Z")
_UINT64: Final = 2**64


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """``numbers`` are major, minor and patch, 0 if absent. ``precision`` is how many of them were written."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...]
    build: tuple[str, ...]
    dev: tuple[str, ...]
    precision: int
    prefix: str

    @property
    def key(self) -> tuple[object, ...]:
        """The key that equal versions share."""
        return self.numbers, self.pre, self.build, self.dev

    @property
    def official(self) -> bool:
        return not (self.pre or self.build or self.dev)


@lru_cache(maxsize=4096)  # a cluster has some hundred versions, all parsed for every service
def parse_version(text: str) -> ModelVersion | None:
    """Parse a version. Return None if OME cannot parse it: ``1.0-rc1``, ``2024.08``, ``V1``, ``latest``, ``1.``."""
    parts = text.split(".", 2)
    prefix = "v" if parts[0].startswith("v") else ""
    parts[0] = parts[0].removeprefix("v")
    identifiers: dict[str, tuple[str, ...]] = {}
    if len(parts) == 3:
        for mark in "+-.":
            parts[2], found, rest = parts[2].partition(mark)
            identifiers[mark] = tuple(rest.split(".")) if found else ()
    if not all(_NUMBER.match(part) and int(part) < _UINT64 for part in parts if len(part) <= 20):
        return None
    if any(len(part) > 20 for part in parts) or any("" in found for found in identifiers.values()):
        return None
    numbers = [*map(int, parts), 0, 0]
    pre, build, dev = (identifiers.get(mark, ()) for mark in "-+.")
    return ModelVersion((numbers[0], numbers[1], numbers[2]), pre, build, dev, len(parts), prefix)


def version_fits(model: str, runtime: str, operator: str = "Equal") -> bool:
    """Whether a runtime with this version and ``operator`` supports the version of a model."""
    ours, theirs = parse_version(model), parse_version(runtime)
    if ours is None or theirs is None:
        return False
    if operator == "Equal" or not (ours.official and theirs.official):
        return ours.key == theirs.key
    if (ours.precision, ours.prefix) != (theirs.precision, theirs.prefix):
        return False
    match operator:
        case "GreaterThan":
            return theirs.numbers > ours.numbers
        case "GreaterThanOrEqual":
            return theirs.numbers >= ours.numbers
    return ours.key == theirs.key


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
