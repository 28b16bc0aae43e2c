"""The conversion functions: ``int(x)``, ``string(x)``, ``timestamp(x)`` … with cel-go's texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.overload import Overload, free
from webhook.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, param, type_of
from webhook.cel.values import times
from webhook.cel.values.value import INT_MAX, INT_MIN, Duration, Timestamp, UInt, type_of_value
from webhook.golang import strconv, time
from webhook.golang.errors import GoError

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def _failed(source: Type, target: Type) -> CelError:
    # cel-go calls a time by its type's name here and everywhere.
    return CelError(f"type conversion error from '{source}' to '{target}'")


def same(value: Any) -> Any:
    return value


def float_to_int(value: float) -> int:
    # -2**63 itself is refused as well: cel-go wants to be inside the range, not at its border.
    if not INT_MIN < value < INT_MAX:
        raise CelError("integer overflow")
    return int(value)


def float_to_uint(value: float) -> UInt:
    if not 0 <= value < 2.0**64:
        raise CelError("unsigned integer overflow")
    return UInt(value)


def uint_to_int(value: UInt) -> int:
    if value > INT_MAX:
        raise CelError("integer overflow")
    return int(value)


def int_to_uint(value: int) -> UInt:
    if value < 0:
        raise CelError("unsigned integer overflow")
    return UInt(value)


def _parsed(read: Callable[[str], Any], target: Type) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            return read(text)
        except GoError:
            raise _failed(STRING, target) from None

    return parse


def parse_uint(text: str) -> UInt:
    return UInt(strconv.parse_uint(text))


def string_to_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _failed(STRING, BOOL)


def string_to_bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def string_to_duration(text: str) -> Duration:
    value = times.parse_duration(text)
    if value is None:
        raise _failed(STRING, DURATION)
    return value


def bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def bool_to_string(value: bool) -> str:
    return "true" if value else "false"


def int_to_string(value: int) -> str:
    return str(int(value))


def timestamp_to_int(value: Timestamp) -> int:
    return value.ns // time.SECOND


def double_to_string(value: float) -> str:
    return "NaN" if math.isnan(value) else strconv.shortest(value)


_A: Final = param("A")

CONVERSIONS: Final[tuple[Overload, ...]] = (
    free("type", "type", (_A,), type_of(_A), type_of_value),
    free("dyn", "to_dyn", (_A,), DYN, same),
    free("bool", "bool_to_bool", (BOOL,), BOOL, same),
    free("bool", "string_to_bool", (STRING,), BOOL, string_to_bool),
    free("bytes", "bytes_to_bytes", (BYTES,), BYTES, same),
    free("bytes", "string_to_bytes", (STRING,), BYTES, string_to_bytes),
    free("double", "double_to_double", (DOUBLE,), DOUBLE, same),
    free("double", "int64_to_double", (INT,), DOUBLE, float),
    free("double", "string_to_double", (STRING,), DOUBLE, _parsed(strconv.parse_float, DOUBLE)),
    free("double", "uint64_to_double", (UINT,), DOUBLE, float),
    free("duration", "duration_to_duration", (DURATION,), DURATION, same),
    free("duration", "string_to_duration", (STRING,), DURATION, string_to_duration),
    free("int", "int64_to_int64", (INT,), INT, same),
    free("int", "double_to_int64", (DOUBLE,), INT, float_to_int),
    free("int", "duration_to_int64", (DURATION,), INT, attrgetter("ns")),
    free("int", "string_to_int64", (STRING,), INT, _parsed(strconv.parse_int, INT)),
    free("int", "timestamp_to_int64", (TIMESTAMP,), INT, timestamp_to_int),
    free("int", "uint64_to_int64", (UINT,), INT, uint_to_int),
    free("string", "string_to_string", (STRING,), STRING, same),
    free("string", "bool_to_string", (BOOL,), STRING, bool_to_string),
    free("string", "bytes_to_string", (BYTES,), STRING, bytes_to_string),
    free("string", "double_to_string", (DOUBLE,), STRING, double_to_string),
    free("string", "duration_to_string", (DURATION,), STRING, times.format_duration),
    free("string", "int64_to_string", (INT,), STRING, int_to_string),
    free("string", "timestamp_to_string", (TIMESTAMP,), STRING, times.format_timestamp),
    free("string", "uint64_to_string", (UINT,), STRING, int_to_string),
    free("timestamp", "timestamp_to_timestamp", (TIMESTAMP,), TIMESTAMP, same),
    free("timestamp", "int64_to_timestamp", (INT,), TIMESTAMP, times.from_unix),
    free("timestamp", "string_to_timestamp", (STRING,), TIMESTAMP, times.parse_timestamp),
    free("uint", "uint64_to_uint64", (UINT,), UINT, same),
    free("uint", "double_to_uint64", (DOUBLE,), UINT, float_to_uint),
    free("uint", "int64_to_uint64", (INT,), UINT, int_to_uint),
    free("uint", "string_to_uint64", (STRING,), UINT, _parsed(parse_uint, UINT)),
)
"""The conversions of cel-go's standard library, in its order."""
