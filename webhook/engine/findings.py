"""What validation has found so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from webhook.admission import Cause, Warn

__all__ = ["Findings"]


@dataclass(slots=True)
class Findings:
    """``causes`` refuse the object. ``notices`` are the causes that ratcheting spares: warnings that come first."""

    causes: list[Cause] = field(default_factory=list)
    notices: list[Warn] = field(default_factory=list)
    warnings: list[Warn] = field(default_factory=list)

    def __iadd__(self, other: Findings) -> Self:
        self.causes += other.causes
        self.notices += other.notices
        self.warnings += other.warnings
        return self

    def __iter__(self) -> Iterator[Cause | Warn]:
        yield from self.causes
        yield from self.notices
        yield from self.warnings
