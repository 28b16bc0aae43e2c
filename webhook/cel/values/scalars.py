"""Raw JSON scalars as CEL values, by the type and format of their schema.

Each function takes non-null JSON and returns a CEL value or raises ``CelError`` with the text
of ``apiserver/pkg/cel/common/valuesunstructured.go``. The formats are those of kube-openapi's
strfmt, which is laxer than its OpenAPI validation in places and stricter in others.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.values import times
from webhook.cel.values.value import INT_MAX, INT_MIN, Duration, Timestamp
from webhook.golang import strconv as gofloat
from webhook.golang import time as timelayout

__all__ = [
    "STRINGS",
    "Unknown",
    "boolean",
    "go_type",
    "int_or_string",
    "integer",
    "mapping",
    "number",
    "sequence",
    "strictly_equal",
    "text",
    "untyped",
]

_GO_TYPES: Final = {
    type(None): "<nil>",
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def go_type(raw: Any) -> str:
    """The name Go prints for the type of decoded JSON, as it stands in the API server's messages."""
    return str(_GO_TYPES.get(raw.__class__, raw.__class__.__name__))


def text(raw: Any) -> str:
    if isinstance(raw, str):
        return raw
    raise CelError(f"invalid data, expected string, got {go_type(raw)}")


def boolean(raw: Any) -> bool:
    if raw.__class__ is bool:
        return raw
    raise CelError(f"invalid data, expected bool, got {go_type(raw)}")


def integer(raw: Any) -> int:
    if raw.__class__ is int and INT_MIN <= raw <= INT_MAX:
        return raw
    # A JSON number beyond 64 bits is a float to Go.
    raise CelError(f"invalid data, expected int, got {'float64' if raw.__class__ is int else go_type(raw)}")


def number(raw: Any) -> float:
    if raw.__class__ is float:
        return raw
    if raw.__class__ is int:
        return float(raw)
    raise CelError(f"invalid data, expected float, got {go_type(raw)}")


def int_or_string(raw: Any) -> int | str:
    if raw.__class__ is str or (raw.__class__ is int and INT_MIN <= raw <= INT_MAX):
        return raw
    raise CelError("invalid data, expected XIntOrString value to be either a string or integer")


def mapping(raw: Any) -> dict[str, Any]:
    if isinstance(raw, dict):
        return raw
    raise CelError("invalid data, expected a map for the provided schema with type=object")


def sequence(raw: Any) -> list[Any]:
    if isinstance(raw, list):
        return raw
    raise CelError("invalid data, expected an array for the provided schema with type=array")


def untyped(_raw: Any) -> Any:
    raise CelError(
        "invalid type, expected object, array, number, integer, boolean or string, or no type with "
        "x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got "
    )


def strictly_equal(a: Any, b: Any) -> bool:
    """Equality of raw JSON as Go has it: 1, 1.0 and true are three different values."""
    if a.__class__ is not b.__class__:
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(strictly_equal, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(key in b and strictly_equal(value, b[key]) for key, value in a.items())
    return bool(a == b)


class Unknown:
    """Data preserved without a schema: nothing can be done with it but compare it."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and strictly_equal(self.raw, other.raw)

    __hash__ = None  # type: ignore[assignment]


_DATE_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DAYS_OF_400_YEARS: Final = 146_097
_SECOND: Final = 10**9


def _date_time(raw: Any) -> Timestamp:
    source = text(raw)
    if not source:
        return Timestamp(0)
    found = _DATE_TIME.fullmatch(source)
    zone = found[8] if found else None
    local = source if zone is None else source.removesuffix(zone)
    offset_is_valid = zone in (None, "Z") or (int(zone[1:3]) <= 24 and int(zone[4:6]) <= 60)
    if found is None or not offset_is_valid or timelayout.fault(local, timelayout.DATE_TIME):
        # Go tries several layouts and tells of the last, which has no zone.
        raise CelError(f"Invalid date-time formatted string {source}: {timelayout.fault(source, timelayout.DATE_TIME)}")
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    fraction = found[7]
    offset = 0
    if zone and zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        offset = (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
    seconds = (_days(year, month, day) * 24 + hour) * 3600 + minute * 60 + second - offset
    nanos = int((fraction or "0")[:9].ljust(9, "0"))
    return Timestamp(seconds * _SECOND + nanos, offset)


def _days(year: int, month: int, day: int) -> int:
    if year:
        return date(year, month, day).toordinal() - _EPOCH_DAY
    return date(400, month, day).toordinal() - _EPOCH_DAY - _DAYS_OF_400_YEARS  # Go has a year 0, Python has not


_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)


def _date(raw: Any) -> Timestamp:
    source = text(raw)
    fault = timelayout.fault(source, timelayout.DATE)
    found = _DATE.fullmatch(source)
    if fault or found is None:
        raise CelError(f"Invalid date formatted string {source}: {fault}")
    return Timestamp(_days(*map(int, found.groups())) * 86_400 * _SECOND)


# a number begins where no digit is before it, so that a long one is not read again from each of its digits
_SCALA_PART = re.compile(r"(?<!\d)(\d+)[ \t\n\f\r]*([A-Za-z\u00b5]+)", re.ASCII)
_SCALA_UNITS: Final = (
    (1, ("ns", "nano")),
    (1_000, ("us", "\u00b5s", "micro")),
    (1_000_000, ("ms", "milli")),
    (_SECOND, ("s", "sec")),
    (60 * _SECOND, ("m", "min")),
    (3600 * _SECOND, ("h", "hr", "hour")),
    (86_400 * _SECOND, ("d", "day")),
    (604_800 * _SECOND, ("w", "wk", "week")),
)


def _duration(raw: Any) -> Duration:
    """Go's durations, else the sum of all numbers with a unit: ``2 days``."""
    source = text(raw)
    plain = times.parse_duration(source)
    if plain is not None:
        return plain
    spans = [(_count(source, digits), name.lower()) for digits, name in _SCALA_PART.findall(source)]
    parts = [
        count * unit
        for count, name in spans
        for unit, names in _SCALA_UNITS
        for variant in names
        if name == variant or (variant is names[-1] and name.startswith(variant))
    ]
    if not parts:
        raise CelError(f"Invalid duration {source}: unable to parse {source} as duration")
    return Duration((sum(parts) + 2**63) % 2**64 - 2**63)  # Go's int64 wraps around here


def _count(source: str, digits: str) -> int:
    count = gofloat.parse_int(digits)
    if count is None or count > INT_MAX:
        raise CelError(f'Invalid duration {source}: strconv.Atoi: parsing "{digits}": value out of range')
    return count


_URL_SAFE: Final = str.maketrans("-_+/", "+/--")  # of the two alphabets strfmt takes only this one

_BASE64 = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def _bytes(raw: Any) -> bytes:
    source = text(raw)
    standard = source.replace("\r", "").replace("\n", "").translate(_URL_SAFE)
    if _BASE64.fullmatch(standard):  # Python takes padding after a whole text, too
        return base64.b64decode(standard)
    why = f"illegal base64 data at input byte {_corrupt_at(source.encode())}"
    raise CelError(f"Invalid byte formatted string {source}: {why}")


_ALPHABET: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def _corrupt_at(source: bytes) -> int:
    """Where Go's decoder of base64 gives up; its quanta of four characters may be broken by line ends."""
    place = decoded = 0
    while place < len(source):
        char = source[place]
        place += 1
        if char in _ALPHABET:
            decoded += 1
        elif char not in b"\r\n":
            return place - 1 if char != ord("=") or decoded % 4 < 2 else _after_padding(source, place, decoded % 4)
    return place - decoded % 4


def _after_padding(source: bytes, place: int, decoded: int) -> int:
    """The same from behind the first ``=``, which ends the text unless a second one has to follow."""
    rest = len(source) - len(source[place:].lstrip(b"\r\n"))
    if decoded == 2 and rest < len(source):
        if source[rest] != ord("="):
            return rest - 1
        rest = len(source) - len(source[rest + 1 :].lstrip(b"\r\n"))
    return rest


STRINGS: Final[dict[str, Callable[[Any], Any]]] = {
    "byte": _bytes,
    "date": _date,
    "date-time": _date_time,
    "duration": _duration,
}
"""The string formats that are another type in CEL; every other string is a string."""
