"""Check that a string is a time that Go's ``metav1.Time`` can read from JSON and write back."""

from __future__ import annotations

import calendar
import re
from typing import Any, Final

__all__ = ["moment_error"]

_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_EXAMPLE: Final = "use an RFC 3339 time, such as 2024-05-21T10:00:00Z"


def moment_error(text: str | list[Any]) -> str:
    """Return why a time is invalid, or "" if it is valid (``metav1.Time.UnmarshalJSON``, ``time.RFC3339``).

    ``text`` may be a list: the API server accepts any list where a string with a format is required.
    """
    match = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return f"is not a valid time; {_EXAMPLE}"
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    _, _, *offset = match.groups()[5:]
    hours, minutes = int(offset[1] or 0), int(offset[2] or 0)
    if not 1 <= month <= 12 or not 1 <= day <= _days(year, month):
        return f"has a date that does not exist; {_EXAMPLE}"
    if hour > 23 or minute > 59 or second > 59 or hours > 24 or minutes > 59:
        return f"has a time of day or an offset out of range; {_EXAMPLE}"
    away = (hours * 60 + minutes) * (-1 if offset[0] == "-" else 1)
    since = ((calendar.timegm((max(year, 1), month, day, hour, minute, 0)) - _YEAR_ONE) // 60 - away) * 60 + second
    if year and since == 0 and not (match[7] or "").strip("0"):
        return f"equals the zero time of Go, which means unset; {_EXAMPLE}"
    return ""


_YEAR_ONE: Final = calendar.timegm((1, 1, 1, 0, 0, 0))


def _days(year: int, month: int) -> int:
    return calendar.monthrange(year or 2000, month)[1]  # year 0 is a leap year, like 2000
