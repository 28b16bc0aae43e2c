"""Timestamps and durations as Go's ``time`` package reads, writes and counts them, to the nanosecond."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo

from webhook.cel.errors import CelError
from webhook.cel.values.value import INT_MAX, INT_MIN, Duration, Timestamp
from webhook.golang import strconv as gofloat
from webhook.golang.quote import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Civil",
    "civil",
    "duration_hours",
    "duration_milliseconds",
    "duration_minutes",
    "duration_seconds",
    "format_duration",
    "format_timestamp",
    "from_unix",
    "parse_duration",
    "parse_timestamp",
    "shift",
    "zone_offset",
]

SECOND: Final = 1_000_000_000
MIN_UNIX: Final = -62_135_596_800  # 0001-01-01T00:00:00Z
MAX_UNIX: Final = 253_402_300_799  # 9999-12-31T23:59:59Z
_DAY: Final = 86_400
_EPOCH_DAYS: Final = 719_468  # from 0000-03-01 to 1970-01-01, in the proleptic Gregorian calendar
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
_SPAN: Final = re.compile(r"(\d*)(?:(\.)(\d*))?([^.0-9]+)", re.ASCII)
_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Civil(NamedTuple):
    """A timestamp on the calendar and clock of a zone."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    weekday: int  # Sunday is 0
    year_day: int  # 1 January is 1


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(month: int, year: int) -> int:
    return 29 if month == 2 and _is_leap(year) else _MONTH_DAYS[month - 1]


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Days since the Unix epoch; years start in March here, so that the leap day comes last."""
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


def civil(timestamp: Timestamp, offset: int = 0) -> Civil:
    """The calendar and the clock at ``offset`` seconds east of UTC."""
    seconds, nanosecond = divmod(timestamp.ns, SECOND)
    days, clock = divmod(seconds + offset, _DAY)
    year, month, day = _civil_from_days(days)
    minutes, second = divmod(clock, 60)
    year_day = days - _days_from_civil(year, 1, 1) + 1
    return Civil(year, month, day, minutes // 60, minutes % 60, second, nanosecond, (days + 4) % 7, year_day)


def from_unix(seconds: int) -> Timestamp:
    return checked(Timestamp(seconds * SECOND))


def checked(timestamp: Timestamp) -> Timestamp:
    if MIN_UNIX <= timestamp.ns // SECOND <= MAX_UNIX:
        return timestamp
    raise CelError("timestamp overflow")


def shift(timestamp: Timestamp, ns: int) -> Timestamp:
    """The timestamp ``ns`` nanoseconds later, in the same zone."""
    return checked(Timestamp(timestamp.ns + ns, timestamp.offset))


def parse_timestamp(text: str) -> Timestamp | None:
    """An RFC 3339 time as cel-go reads it; None where it refuses. The range is not checked.

    Raises:
        CelError: the text has not even the form (cel-go 0.30 checks it before ``time.Parse`` does).
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise CelError(f"invalid RFC 3339 timestamp {quoted(text)}")
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    hours, minutes = int(match[9] or 0), int(match[10] or 0)
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        raise CelError(f"invalid RFC 3339 timestamp {quoted(text)}")
    if hours > 23 or minutes > 59:
        raise CelError(f"invalid RFC 3339 timestamp {quoted(text)}")
    if day > _days_in(month, year) or second == 60 or text[10] == "t" or text.endswith("z"):
        return None
    offset = (hours * 3600 + minutes * 60) * (-1 if match[8] == "-" else 1)
    fraction = int((match[7] or "")[:9].ljust(9, "0"))
    clock = hour * 3600 + minute * 60 + second - offset
    return Timestamp((_days_from_civil(year, month, day) * _DAY + clock) * SECOND + fraction, offset)


def format_timestamp(timestamp: Timestamp) -> str:
    """RFC 3339 in the zone the timestamp was written in, with as many digits as it needs."""
    at = civil(timestamp, timestamp.offset)
    fraction = f".{at.nanosecond:09d}".rstrip("0") if at.nanosecond else ""
    minutes = abs(timestamp.offset) // 60
    sign = "-" if timestamp.offset < 0 else "+"
    zone = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}" if timestamp.offset else "Z"
    return f"{at.year:04d}-{at.month:02d}-{at.day:02d}T{at.hour:02d}:{at.minute:02d}:{at.second:02d}{fraction}{zone}"


def parse_duration(text: str) -> Duration | None:
    """A duration as ``time.ParseDuration`` reads it ("1h30m", "1.5s", "-2us"); None where it refuses."""
    sign, rest = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if rest == "0":
        return Duration(0)
    total = 0
    position = 0
    while position < len(rest):
        match = _SPAN.match(rest, position)
        span = None if match is None else _span(match)
        if match is None or span is None:
            return None
        total += span
        position = match.end()
        if total > -INT_MIN:
            return None
    if not rest or (total > INT_MAX and sign != "-"):
        return None
    return Duration(-total if sign == "-" else total)


def _span(match: re.Match[str]) -> int | None:
    whole, _, fraction, unit = match.groups(default="")
    factor = _UNITS.get(unit)
    if factor is None or not (whole or fraction) or len(whole.lstrip("0")) > 19:
        return None
    ns = int(whole or "0") * factor
    if fraction:
        # Go keeps as many digits of the fraction as fit in 63 bits and multiplies them as doubles.
        digits = fraction[:18] if int(fraction[:19]) > INT_MAX else fraction[:19]
        ns += int(float(int(digits)) * (float(factor) / 10.0 ** len(digits)))
    return ns if ns <= -INT_MIN else None


def format_duration(duration: Duration) -> str:
    """Seconds, with as many digits as a double needs: "5400s", "1.5s"."""
    return gofloat.plain(_float(duration, SECOND)) + "s"


def _float(duration: Duration, unit: int) -> float:
    whole, rest = divmod(abs(duration.ns), unit)
    value = float(whole) + rest / float(unit)
    return -value if duration.ns < 0 else value


def duration_hours(duration: Duration) -> int:
    return int(_float(duration, 3600 * SECOND))


def duration_minutes(duration: Duration) -> int:
    return int(_float(duration, 60 * SECOND))


def duration_seconds(duration: Duration) -> int:
    return int(_float(duration, SECOND))


def duration_milliseconds(duration: Duration) -> int:
    """All of them, not the rest after the seconds: Kubernetes, against the CEL specification's tests."""
    return int(abs(duration.ns) // 1_000_000) * (-1 if duration.ns < 0 else 1)


def zone_offset(timestamp: Timestamp, zone: str) -> int:
    """The seconds east of UTC of a zone at a time: an IANA name, or hours and minutes as "-08:00" or "2:30".

    Raises:
        CelError: Go's text for an unknown zone or a malformed number.
    """
    hours, colon, minutes = zone.partition(":")
    if not colon:
        return _named(zone)(timestamp.ns // SECOND)
    offset = _number(hours) * 60 + _number(minutes) * (-1 if zone.startswith("-") else 1)
    if abs(offset) * 60 * SECOND > INT_MAX:
        raise CelError(f"unknown time zone {zone}")
    return offset * 60


def _number(text: str) -> int:
    value = gofloat.parse_int(text)
    if value is None:
        raise CelError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    if not INT_MIN <= value <= INT_MAX:
        raise CelError(f'strconv.Atoi: parsing "{text}": value out of range')
    return value


@lru_cache(maxsize=64)
def _named(zone: str) -> Callable[[int], int]:
    if zone in ("", "UTC", "Local"):  # an API server runs in a container, whose own zone is UTC
        return lambda _seconds: 0
    if ".." in zone or zone[0] in "/\\" or "\\" in zone:
        raise CelError("time: invalid location name")
    try:
        info = ZoneInfo(zone)
    except (OSError, ValueError, LookupError):
        raise CelError(f"unknown time zone {zone}") from None
    return lambda seconds: _zone_info_offset(info, seconds)


def _zone_info_offset(info: ZoneInfo, seconds: int) -> int:
    year_two = -62_104_060_800  # datetime knows no day before year 1, which a zone west of UTC would need
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=min(max(seconds, year_two), MAX_UNIX - _DAY))
    offset = info.utcoffset(at.astimezone(info))
    return int(offset.total_seconds()) if offset is not None else 0
