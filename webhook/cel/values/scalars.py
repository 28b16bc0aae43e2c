"""Raw JSON scalars as CEL values, by the type and format of their schema.

Each function takes non-null JSON and returns a CEL value or raises ``CelError`` with the text
of ``apiserver/pkg/cel/common/valuesunstructured.go``. The formats are those of kube-openapi's
strfmt, which is laxer than its OpenAPI validation in places and stricter in others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.values import times
from webhook.cel.values.value import INT_MAX, INT_MIN, Duration, Timestamp
from webhook.golang import strfmt
from webhook.golang.errors import GoError
from webhook.golang.fmt import type_text


def text(raw: Any) -> str:
    if isinstance(raw, str):
        return raw
    raise CelError(f"invalid data, expected string, got {type_text(raw)}")


def boolean(raw: Any) -> bool:
    if raw.__class__ is bool:
        return raw
    raise CelError(f"invalid data, expected bool, got {type_text(raw)}")


def integer(raw: Any) -> int:
    if raw.__class__ is int and INT_MIN <= raw <= INT_MAX:
        return raw
    # A JSON number beyond 64 bits is a float to Go.
    raise CelError(f"invalid data, expected int, got {'float64' if raw.__class__ is int else type_text(raw)}")


def number(raw: Any) -> float:
    if raw.__class__ is float:
        return raw
    if raw.__class__ is int:
        return float(raw)
    raise CelError(f"invalid data, expected float, got {type_text(raw)}")


def int_or_string(raw: Any) -> int | str:
    if raw.__class__ is str or (raw.__class__ is int and INT_MIN <= raw <= INT_MAX):
        return raw
    raise CelError("invalid data, expected XIntOrString value to be either a string or integer")


def whole(raw: Any) -> int:
    """As :func:`integer`, but ``5.0`` is 5."""
    return integer(_settled(raw))


def whole_or_string(raw: Any) -> int | str:
    """As :func:`int_or_string`, but ``5.0`` is 5."""
    return int_or_string(_settled(raw))


def _settled(raw: Any) -> Any:
    return int(raw) if raw.__class__ is float and raw.is_integer() else raw


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


def _date_time(raw: Any) -> Timestamp:
    source = text(raw)
    try:
        return times.from_go(strfmt.parse_date_time(source))
    except GoError as error:
        raise CelError(f"Invalid date-time formatted string {source}: {error.message}") from None


def _date(raw: Any) -> Timestamp:
    source = text(raw)
    try:
        return times.from_go(strfmt.parse_date(source))
    except GoError as error:
        raise CelError(f"Invalid date formatted string {source}: {error.message}") from None


def _duration(raw: Any) -> Duration:
    source = text(raw)
    try:
        return Duration(strfmt.parse_duration(source))
    except GoError as error:
        raise CelError(f"Invalid duration {source}: {error.message}") from None


def _bytes(raw: Any) -> bytes:
    source = text(raw)
    try:
        return strfmt.decode_base64(source)
    except GoError as error:
        raise CelError(f"Invalid byte formatted string {source}: {error.message}") from None


STRINGS: Final[dict[str, Callable[[Any], Any]]] = {
    "byte": _bytes,
    "date": _date,
    "date-time": _date_time,
    "duration": _duration,
}
"""The string formats that are another type in CEL; every other string is a string."""
