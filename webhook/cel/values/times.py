"""Timestamps and durations of CEL: what cel-go makes of Go's ``time`` package, to the nanosecond."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from webhook.cel.errors import CelError
from webhook.cel.types import STRING, TIMESTAMP
from webhook.cel.values.value import INT_MAX, Duration, Timestamp
from webhook.golang import strconv, time
from webhook.golang.errors import GoError
from webhook.golang.time import SECOND, Civil

MIN_UNIX: Final = -62_135_596_800  # 0001-01-01T00:00:00Z
MAX_UNIX: Final = 253_402_300_799  # 9999-12-31T23:59:59Z
_DAY: Final = 86_400
_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)


_USUAL: Final = re.compile(
    r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))", re.ASCII
).fullmatch
"""What cel-go accepts, if there is such a day in the years of ``datetime``, 1 to 9999, and such a second."""
_SECONDS_END: Final = len("2006-01-02T15:04:05")
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - without a zone, which would cost more than all else


def from_go(at: time.Time) -> Timestamp:
    return Timestamp(at.seconds * SECOND + at.nanosecond, at.offset)


def to_go(timestamp: Timestamp) -> time.Time:
    return time.Time(*divmod(timestamp.ns, SECOND), timestamp.offset)


def civil(timestamp: Timestamp, offset: int) -> Civil:
    """The calendar and the clock at ``offset`` seconds east of UTC."""
    return time.civil(to_go(timestamp), offset)


def utc(timestamp: Timestamp) -> datetime:
    """The calendar and the clock in UTC, without a zone, to the microsecond."""
    return _EPOCH + timedelta(0, 0, timestamp.ns // 1_000)


def from_unix(seconds: int) -> Timestamp:
    return checked(Timestamp(seconds * SECOND))


def checked(timestamp: Timestamp) -> Timestamp:
    if MIN_UNIX <= timestamp.ns // SECOND <= MAX_UNIX:
        return timestamp
    raise CelError("timestamp overflow")


def shift(timestamp: Timestamp, ns: int) -> Timestamp:
    """The timestamp ``ns`` nanoseconds later, in the same zone."""
    return checked(Timestamp(timestamp.ns + ns, timestamp.offset))


def parse_timestamp(text: str) -> Timestamp:
    """An RFC 3339 time as cel-go reads it.

    Raises:
        CelError: it is none, or is not in the years 1 to 9999.
    """
    match = _USUAL(text)
    if match is None:
        return _read_exactly(text)
    try:
        since = datetime.fromisoformat(text[:_SECONDS_END]) - _EPOCH
    except ValueError:
        return _read_exactly(text)
    seconds = since.days * _DAY + since.seconds
    if len(text) == _SECONDS_END + 1:  # only Z is left
        return Timestamp(seconds * SECOND)
    fraction, sign, hours, minutes = match.groups()
    ns = int(fraction[:9].ljust(9, "0")) if fraction else 0
    offset = (int(hours) * 60 + int(minutes)) * (-60 if sign == "-" else 60) if sign else 0
    return checked(Timestamp((seconds - offset) * SECOND + ns, offset))


def _read_exactly(text: str) -> Timestamp:
    """As :func:`parse_timestamp`, for any text: cel-go 0.30 checks the form, then Go parses it."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise CelError(f"invalid RFC 3339 timestamp {strconv.quote(text)}")
    month, day, hour, minute, second = map(int, match.group(2, 3, 4, 5, 6))
    hours, minutes = int(match[9] or 0), int(match[10] or 0)
    is_time = 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60
    if not is_time or hours > 23 or minutes > 59:
        raise CelError(f"invalid RFC 3339 timestamp {strconv.quote(text)}")
    try:
        return checked(from_go(time.parse(text)))
    except GoError:
        raise CelError(f"type conversion error from '{STRING}' to '{TIMESTAMP}'") from None


def format_timestamp(timestamp: Timestamp) -> str:
    """RFC 3339 in the zone the timestamp was written in, with as many digits as it needs."""
    return time.format_rfc3339(to_go(timestamp))


def parse_duration(text: str) -> Duration | None:
    """A duration as Go reads it ("1h30m", "1.5s", "-2us"); None where it refuses."""
    try:
        return Duration(time.parse_duration(text))
    except GoError:
        return None


def format_duration(duration: Duration) -> str:
    """Seconds, with as many digits as a double needs: "5400s", "1.5s"."""
    return strconv.plain(_float(duration, SECOND)) + "s"


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
    try:
        return strconv.atoi(text)
    except GoError as error:
        raise CelError(error.message) from None


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
