"""Schedules of cron, as ``robfig/cron`` reads them, and time zones."""

from __future__ import annotations

import zoneinfo
from collections.abc import Mapping
from typing import Final, NamedTuple

from webhook.golang.errors import GoError
from webhook.golang.strconv import atoi
from webhook.golang.time import parse_duration


class _Bounds(NamedTuple):
    low: int
    high: int
    names: Mapping[str, int]


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, {name: index + 1 for index, name in enumerate(_MONTHS)}),
    _Bounds(0, 6, {name: index for index, name in enumerate(_DAYS)}),
)
"""Minute, hour, day of the month, month, day of the week."""

_DESCRIPTORS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY: Final = "@every "


def schedule_problem(schedule: str) -> str:
    """What is wrong with a schedule (``cron.ParseStandard``), "" if nothing."""
    try:
        _read(schedule)
    except (ValueError, GoError) as error:
        return str(error)
    return ""


def _read(schedule: str) -> None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, blank, schedule = schedule.partition(" ")
        if not blank:
            raise ValueError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        name = zone.partition("=")[2]
        if not _is_zone(name):
            raise ValueError(f"provided bad location {name}: unknown time zone {name}")
        schedule = schedule.strip()
    if schedule.startswith("@"):
        _read_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    for text, bounds in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if part:
                _read_range(part, bounds)


def _read_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ValueError(f"unrecognized descriptor: {text}")
    try:
        parse_duration(text.removeprefix(_EVERY))
    except GoError as error:
        raise ValueError(f"failed to parse duration {text}: {error}") from None


def _read_range(text: str, bounds: _Bounds) -> None:
    """``low-high/step`` of one field."""
    parts = text.split("/")
    ends = parts[0].split("-")
    is_single = len(ends) == 1
    if ends[0] in ("*", "?"):
        low, high = bounds.low, bounds.high
    else:
        low = _number(ends[0], bounds)
        if len(ends) > 2:
            raise ValueError(f"too many hyphens: {text}")
        high = low if is_single else _number(ends[1], bounds)
    step = 1
    if len(parts) == 2:
        step = _positive(parts[1])
        high = bounds.high if is_single else high
    elif len(parts) > 2:
        raise ValueError(f"too many slashes: {text}")
    if low < bounds.low:
        raise ValueError(f"beginning of range ({low}) below minimum ({bounds.low}): {text}")
    if high > bounds.high:
        raise ValueError(f"end of range ({high}) above maximum ({bounds.high}): {text}")
    if low > high:
        raise ValueError(f"beginning of range ({low}) beyond end of range ({high}): {text}")
    if not step:
        raise ValueError(f"step of range should be a positive number: {text}")


def _number(text: str, bounds: _Bounds) -> int:
    return bounds.names[text.lower()] if text.lower() in bounds.names else _positive(text)


def _positive(text: str) -> int:
    try:
        number = atoi(text)
    except GoError as error:
        raise ValueError(f"failed to parse int from {text}: {error}") from None
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number


def zone_problems(zone: str) -> list[str]:
    """What is wrong with the time zone of a CronJob."""
    if not zone:
        return ["timeZone must be nil or non-empty string"]
    problems = [] if _is_zone(zone) else [f"unknown time zone {zone}"]
    if zone.lower() == "local":
        problems.append("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
    return problems


def _is_zone(name: str) -> bool:
    """Whether the database of time zones has the name; a machine without one knows no wrong name."""
    if name in ("", "UTC", "Local"):
        return True
    zones = zoneinfo.available_timezones()
    return not zones or name in zones
