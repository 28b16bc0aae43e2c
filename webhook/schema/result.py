"""What validation of one value found, in the order found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["ValidationResult", "Violation"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken keyword.

    ``kind`` tells how it becomes a field error ("" for the plain "Invalid value"), ``name``
    is the path, ``limit`` the allowed number or the values of an enum.
    """

    kind: str
    name: str
    message: str
    value: Any
    limit: Any = None


@dataclass(slots=True)
class ValidationResult:
    """Violations by message (the API server reports each message once) and how many checks passed."""

    errors: dict[str, Violation] = field(default_factory=dict)
    match_count: int = 0

    @classmethod
    def of(cls, violation: Violation) -> ValidationResult:
        return cls({violation.message: violation})

    def add(self, violation: Violation) -> None:
        self.errors.setdefault(violation.message, violation)

    def merge(self, other: ValidationResult) -> None:
        self.match_count += other.match_count
        if other.errors:
            for message, violation in other.errors.items():
                self.errors.setdefault(message, violation)
