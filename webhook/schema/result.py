"""The result of validating one value: violations in the order of the checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken keyword.

    ``kind`` selects the field error ("" is "Invalid value"), ``name`` is the path, ``limit`` the allowed number or the
    values of an enum.
    """

    kind: str
    name: str
    message: str
    value: Any
    limit: Any = None


@dataclass(slots=True)
class ValidationResult:
    """Violations by message (the API server reports each message once) and the number of passed checks."""

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
