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
from webhook.cel.values.value import INT_MAX, INT_MIN, Duration
from webhook.golang import strfmt
from webhook.golang.errors import GoError
from webhook.golang.fmt import type_text
from webhook.golang.json import deep_equal


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


class Unknown:
    """Data preserved without a schema: nothing can be done with it but compare it."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and deep_equal(self.raw, other.raw)

    __hash__ = None  # type: ignore[assignment]


def _read(what: str, read: Callable[[str], Any], make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A text of a format, as the value that it stands for."""

    def enter(raw: Any) -> Any:
        source = text(raw)
        try:
            return make(read(source))
        except GoError as error:
            raise CelError(f"Invalid {what} {source}: {error.message}") from None

    return enter


STRINGS: Final[dict[str, Callable[[Any], Any]]] = {
    "byte": _read("byte formatted string", strfmt.decode_base64, bytes),
    "date": _read("date formatted string", strfmt.parse_date, times.from_go),
    "date-time": _read("date-time formatted string", strfmt.parse_date_time, times.from_go),
    "duration": _read("duration", strfmt.parse_duration, Duration),
}
"""The string formats that are another type in CEL; every other string is a string."""
