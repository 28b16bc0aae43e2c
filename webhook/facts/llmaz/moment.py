"""Whether a text is a time that a program written in Go can read from JSON, and write again."""

from __future__ import annotations

import calendar
import re
from typing import Any, Final

__all__ = ["moment_error"]

_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_EXAMPLE: Final = "write it in RFC 3339, such as 2024-05-21T10:00:00Z"


def moment_error(text: str | list[Any]) -> str:
    """What is wrong with a time, "" where nothing is (``metav1.Time.UnmarshalJSON``, ``time.RFC3339``).

    It may be a list: the API server takes one, whatever is in it, for a text with a format.
    """
    match = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return f"is no time: {_EXAMPLE}"
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    _, _, *offset = match.groups()[5:]
    hours, minutes = int(offset[1] or 0), int(offset[2] or 0)
    if not 1 <= month <= 12 or not 1 <= day <= _days(year, month):
        return f"is no day of the calendar: {_EXAMPLE}"
    if hour > 23 or minute > 59 or second > 59 or hours > 24 or minutes > 59:
        return f"is no time of the day: {_EXAMPLE}"
    away = (hours * 60 + minutes) * (-1 if offset[0] == "-" else 1)
    since = ((calendar.timegm((max(year, 1), month, day, hour, minute, 0)) - _YEAR_ONE) // 60 - away) * 60 + second
    if year and since == 0 and not (match[7] or "").strip("0"):
        return f"is what stands for no time: {_EXAMPLE}"
    return ""


_YEAR_ONE: Final = calendar.timegm((1, 1, 1, 0, 0, 0))


def _days(year: int, month: int) -> int:
    return calendar.monthrange(year or 2000, month)[1]  # year 0 is a leap year, as 2000 is
