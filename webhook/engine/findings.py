"""What validation has found so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from webhook.admission import Cause, Hint, Warn

__all__ = ["Findings"]


@dataclass(slots=True)
class Findings:
    """``causes`` refuse the object. ``notices`` are the causes that ratcheting spares: warnings that come first.

    ``hints`` are what rules say about fields that the schema refuses, by field.
    """

    causes: list[Cause] = field(default_factory=list)
    notices: list[Warn] = field(default_factory=list)
    warnings: list[Warn] = field(default_factory=list)
    hints: dict[str, list[Hint]] = field(default_factory=dict)

    def attach_hints(self) -> None:
        """Move the hints into the first cause of their field."""
        for index, cause in enumerate(self.causes):
            if hints := self.hints.pop(cause.field, None):
                self.causes[index] = replace(cause, hints=tuple(hints))

    def __add__(self, other: Findings) -> Findings:
        return Findings(
            self.causes + other.causes,
            self.notices + other.notices,
            self.warnings + other.warnings,
            self.hints | other.hints,
        )

    def __iter__(self) -> Iterator[Cause | Warn]:
        yield from self.causes
        yield from self.notices
        yield from self.warnings
