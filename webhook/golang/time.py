"""What Go's ``time.Parse`` says of a text that does not fit a layout: the first element that fails."""

from __future__ import annotations

import re
from calendar import monthrange
from typing import Final

__all__ = ["DATE", "DATE_TIME", "fault"]

DATE: Final = ("2006", "-", "01", "-", "02")
DATE_TIME: Final = (*DATE, "T", "15", ":", "04", ":", "05")
_DIGITS: Final = {"2006": r"\d{4}", "15": r"\d\d?"}
_RANGES: Final = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}
_FRACTION: Final = re.compile(r"[.,]\d+", re.ASCII)


def fault(text: str, layout: tuple[str, ...]) -> str:
    """Go's error for a text that is no time of the layout; seconds may have a fraction that the layout has not."""
    rest = text
    read: dict[str, int] = {}
    for element in layout:
        if not element.isdigit():
            if not rest.startswith(element):
                return _cannot_parse(text, layout, rest, element)
            rest = rest[len(element) :]
            continue
        found = re.match(_DIGITS.get(element, r"\d\d"), rest, re.ASCII)
        if found is None:
            return _cannot_parse(text, layout, rest, element)
        read[element], rest = int(found[0]), rest[found.end() :]
        name, low, high = _RANGES.get(element, ("", 0, 9999))
        if not low <= read[element] <= high:
            return f"parsing time {quote(text)}: {name} out of range"
    fraction = _FRACTION.match(rest) if "05" in read else None
    rest = rest[fraction.end() :] if fraction else rest
    if rest:
        return f"parsing time {quote(text)}: extra text: {quote(rest)}"
    year = read["2006"] % 400 or 400  # Go has a year 0, which was a leap year
    in_month = 1 <= read["02"] <= monthrange(year, read["01"])[1]
    return "" if in_month else f"parsing time {quote(text)}: day out of range"


def _cannot_parse(text: str, layout: tuple[str, ...], rest: str, element: str) -> str:
    return f'parsing time {quote(text)} as "{"".join(layout)}": cannot parse {quote(rest)} as "{element}"'


def quote(text: str) -> str:
    """The quoting of package ``time``: what is not printable ASCII, byte by byte in hexadecimal."""
    shown = []
    for rune in text:
        if rune in '"\\':
            shown.append("\\" + rune)
        elif " " <= rune <= "~":
            shown.append(rune)
        else:
            shown += [f"\\x{byte:02x}" for byte in rune.encode(errors="replace")]
    return f'"{"".join(shown)}"'
