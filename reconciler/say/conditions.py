"""Conditions as metav1.Condition: one of each type; the transition time changes only with the status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from webhook.admission import one_line

NORMALISED = "Normalised"
"""The type of the condition that says whether an object may be acted on."""

# metav1.Condition's own limit.
MESSAGE_LIMIT = 32768


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition to write; :func:`merged` adds its transition time. Its message passes :func:`one_line` and is cut.

    A ``status`` of None is Unknown.
    """

    type: str
    status: bool | None
    reason: str
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", one_line(self.message)[:MESSAGE_LIMIT])


def utc_now() -> datetime:
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """metav1.Time: RFC 3339 in UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find(conditions: Sequence[dict[str, Any]], type_: str) -> dict[str, Any] | None:
    return next((item for item in conditions if item.get("type") == type_), None)


def merged(
    before: Sequence[dict[str, Any]], wanted: Sequence[Condition], generation: int, now: datetime
) -> list[dict[str, Any]]:
    """The wanted conditions in order, as written into a status that holds ``before``."""
    return [_written(find(before, condition.type), condition, generation, now) for condition in wanted]


def with_conditions(status: dict[str, Any], written: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A status with these conditions as the last ones."""
    types = {each["type"] for each in written}
    others = [each for each in status.get("conditions") or () if each.get("type") not in types]
    return {**status, "conditions": [*others, *written]}


def _written(before: dict[str, Any] | None, wanted: Condition, generation: int, now: datetime) -> dict[str, Any]:
    status = "Unknown" if wanted.status is None else str(wanted.status)
    since = (before or {}).get("lastTransitionTime") if before and before.get("status") == status else None
    return {
        "type": wanted.type,
        "status": status,
        "reason": wanted.reason,
        "message": wanted.message,
        "observedGeneration": generation,
        "lastTransitionTime": since or timestamp(now),
    }
