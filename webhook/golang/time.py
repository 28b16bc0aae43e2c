"""Go's ``time``: times by layout (such as RFC 3339) and durations, to the nanosecond, with Go's error texts."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from webhook.golang.errors import GoError
from webhook.golang.strconv import INT64

SECOND: Final = 1_000_000_000
"""Nanoseconds."""

DATE: Final = ("2006", "-", "01", "-", "02")
DATE_TIME: Final = (*DATE, "T", "15", ":", "04", ":", "05")
RFC3339: Final = (*DATE_TIME, "Z07:00")
"""Layouts, by element."""

_ZONE: Final = "Z07:00"
_DIGITS: Final = {"2006": re.compile(r"\d{4}", re.ASCII), "15": re.compile(r"\d\d?", re.ASCII)}
_TWO_DIGITS: Final = re.compile(r"\d\d", re.ASCII)
_OFFSET: Final = re.compile(r"([\x00-\x7f])(\d\d):([\x00-\x7f]{2})", re.ASCII)
_FRACTION: Final = re.compile(r"[.,](\d+)", re.ASCII)
_RANGES: Final = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}
_DAY: Final = 86_400
_EPOCH_DAYS: Final = 719_468  # from 0000-03-01 to 1970-01-01, in the proleptic Gregorian calendar
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Time(NamedTuple):
    """``seconds`` since the Unix epoch, nanoseconds, and the original zone in seconds east of UTC."""

    seconds: int
    nanosecond: int = 0
    offset: int = 0

    @property
    def is_zero(self) -> bool:
        """``IsZero``: 1 January of the year 1, which means that the time is not set."""
        return self.seconds == -62_135_596_800 and not self.nanosecond


class Civil(NamedTuple):
    """A time as calendar and clock show it in a zone."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    weekday: int  # Sunday is 0
    year_day: int  # 1 January is 1


def civil(time: Time, offset: int = 0) -> Civil:
    """The calendar and the clock ``offset`` seconds east of UTC."""
    days, clock = divmod(time.seconds + offset, _DAY)
    year, month, day = _civil_from_days(days)
    minutes, second = divmod(clock, 60)
    year_day = days - _days_from_civil(year, 1, 1) + 1
    return Civil(year, month, day, minutes // 60, minutes % 60, second, time.nanosecond, (days + 4) % 7, year_day)


def _days_in(month: int, year: int) -> int:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and is_leap else _MONTH_DAYS[month - 1]


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Days since the Unix epoch; internally years start in March, so that the leap day is the last day."""
    year -= month <= 2
    era_year = year % 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year // 400 * 146_097 + era_year * 365 + era_year // 4 - era_year // 100 + day_of_year - _EPOCH_DAYS


def _civil_from_days(days: int) -> tuple[int, int, int]:
    days += _EPOCH_DAYS
    era, day_of_era = divmod(days, 146_097)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day


def parse(text: str, layout: tuple[str, ...] = RFC3339) -> Time:
    """``time.Parse`` for the layouts of this module; seconds may have a fraction even if the layout has not.

    Raises:
        GoError: 'parsing time "…"…', Go's text for the first element that does not fit.
    """
    rest = text
    read: dict[str, int] = {"15": 0, "04": 0, "05": 0}
    nanosecond = offset = 0
    for element in layout:
        if element == _ZONE:
            offset, rest = _parse_zone(text, layout, rest)
        elif not element.isdigit():
            if not rest.startswith(element):
                raise _cannot_parse(text, layout, rest, element)
            rest = rest[len(element) :]
        else:
            read[element], rest = _parse_digits(text, layout, rest, element)
            if element == "05" and (fraction := _FRACTION.match(rest)):
                nanosecond, rest = int(fraction[1][:9].ljust(9, "0")), rest[fraction.end() :]
    if rest:
        raise GoError(f"parsing time {_quote(text)}: extra text: {_quote(rest)}")
    year, month, day = read["2006"], read["01"], read["02"]
    if not 1 <= day <= _days_in(month, year):
        raise _out_of_range(text, "day")
    clock = (read["15"] * 60 + read["04"]) * 60 + read["05"]
    return Time(_days_from_civil(year, month, day) * _DAY + clock - offset, nanosecond, offset)


def _parse_digits(text: str, layout: tuple[str, ...], rest: str, element: str) -> tuple[int, str]:
    found = _DIGITS.get(element, _TWO_DIGITS).match(rest)
    if found is None:
        raise _cannot_parse(text, layout, rest, element)
    value = int(found[0])
    name, low, high = _RANGES.get(element, ("", 0, 9999))  # the day depends on the month: checked at the end
    if not low <= value <= high:
        raise _out_of_range(text, name)
    return value, rest[found.end() :]


def _parse_zone(text: str, layout: tuple[str, ...], rest: str) -> tuple[int, str]:
    if rest.startswith("Z"):
        return 0, rest[1:]
    found = _OFFSET.match(rest)
    if found is None:
        raise _cannot_parse(text, layout, rest, _ZONE)
    minutes_fit = _TWO_DIGITS.match(found[3]) is not None
    hours, minutes = int(found[2]), int(found[3]) if minutes_fit else 0
    if minutes > 60:  # Go accepts 24 hours and 60 minutes, and reports only the second error
        raise _out_of_range(text, "time zone offset minute")
    if hours > 24:
        raise _out_of_range(text, "time zone offset hour")
    if not minutes_fit or found[1] not in "+-":
        raise _cannot_parse(text, layout, rest, _ZONE)
    return (hours * 60 + minutes) * (-60 if found[1] == "-" else 60), rest[found.end() :]


def _cannot_parse(text: str, layout: tuple[str, ...], rest: str, element: str) -> GoError:
    written = "".join(layout)
    return GoError(f'parsing time {_quote(text)} as "{written}": cannot parse {_quote(rest)} as "{element}"')


def _out_of_range(text: str, name: str) -> GoError:
    return GoError(f"parsing time {_quote(text)}: {name} out of range")


def format_rfc3339(time: Time) -> str:
    """``time.RFC3339Nano`` in the zone of the time, with as many digits as necessary."""
    at = civil(time, time.offset)
    fraction = f".{time.nanosecond:09d}".rstrip("0") if time.nanosecond else ""
    minutes = abs(time.offset) // 60
    zone = f"{'-' if time.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}" if time.offset else "Z"
    year = f"{at.year:04d}" if at.year >= 0 else f"{at.year:05d}"  # Go does not count the sign
    return f"{year}-{at.month:02d}-{at.day:02d}T{at.hour:02d}:{at.minute:02d}:{at.second:02d}{fraction}{zone}"


_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,  # micro sign
    "\u03bcs": 1_000,  # Greek mu
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_SPAN: Final = re.compile(r"(\d*)(?:\.(\d*))?([^.0-9]*)", re.ASCII)
_MAX_DIGITS: Final = 19  # of 2**63
_OVERFLOW: Final = INT64.stop + 1


def parse_duration(text: str) -> int:
    """``time.ParseDuration`` ("1h30m", "1.5s", "-2us"), in nanoseconds.

    Raises:
        GoError: "time: …" as Go says it.
    """
    sign, rest = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if rest == "0":
        return 0
    if not rest:
        raise GoError(f"time: invalid duration {_quote(text)}")
    total = position = 0
    while position < len(rest):
        match = _SPAN.match(rest, position)
        assert match is not None  # the pattern matches any text, even an empty one
        total += _span(match, text)
        position = match.end()
        if total > INT64.stop:
            raise GoError(f"time: invalid duration {_quote(text)}")
    if total == INT64.stop and sign != "-":
        raise GoError(f"time: invalid duration {_quote(text)}")
    return -total if sign == "-" else total


def _span(match: re.Match[str], text: str) -> int:
    """The nanoseconds of one number and its unit."""
    whole, fraction, unit = match.groups(default="")
    significant = whole.lstrip("0")
    count = int(significant or "0") if len(significant) <= _MAX_DIGITS else _OVERFLOW
    if not (whole or fraction) or count > INT64.stop:
        raise GoError(f"time: invalid duration {_quote(text)}")
    if not unit:
        raise GoError(f"time: missing unit in duration {_quote(text)}")
    if unit not in _UNITS:
        raise GoError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
    ns = count * _UNITS[unit]
    if ns <= INT64.stop and fraction:
        ns += _fraction_of(fraction, _UNITS[unit])
    if ns > INT64.stop:
        raise GoError(f"time: invalid duration {_quote(text)}")
    return ns


def _fraction_of(digits: str, factor: int) -> int:
    """Go reads as many digits of a fraction as fit in 63 bits, and multiplies them as doubles."""
    number, scale = 0, 1.0
    for digit in digits:
        longer = number * 10 + int(digit)
        if number > (INT64.stop - 1) // 10 or longer > INT64.stop:
            break
        number, scale = longer, scale * 10
    return int(float(number) * (factor / scale))


def _quote(text: str) -> str:
    """The quoting of package ``time``: each byte of control and non-ASCII characters in hexadecimal."""
    shown = []
    for rune in text:
        if rune in '"\\':
            shown.append("\\" + rune)
        elif " " <= rune <= "\x7f":
            shown.append(rune)
        else:
            shown += [f"\\x{byte:02x}" for byte in rune.encode(errors="replace")]
    return f'"{"".join(shown)}"'
