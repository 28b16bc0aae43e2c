"""Versions of formats and frameworks as OME parses them (pkg/modelver): similar to semantic versions, but not equal.

A version has one to three numbers. Precision and a leading v are ignored for equality. A pre-release is *greater* than
its release.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = ["ModelVersion", "parse_version", "version_fits"]

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
