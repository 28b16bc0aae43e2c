"""The messages of protobuf that an expression can make: ``google.protobuf.Duration{seconds: 1}``.

cel-go knows these in every environment, and turns each into a CEL value at once: a duration, a number, a map. The types
of wrappers are those of their values; in cel-go, such a type also accepts null.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.types import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    object_of,
)
from webhook.cel.values.schema_aware import Made
from webhook.cel.values.times import SECOND, format_duration, format_timestamp
from webhook.cel.values.value import Duration, Timestamp, UInt, type_name, type_of_value

__all__ = ["MESSAGES", "Message"]

_INT32: Final = 2**31
_UINT32: Final = 2**32
_SECONDS: Final = 10**12  # 30,000 years, which calendars can still compute; cel-go accepts more
_INT64: Final = 2**63
_SAFE: Final = 2**53 - 1  # the largest integer in JSON; cel-go writes larger ones as text
_STRUCT, _LIST = map_of(STRING, DYN), list_of(DYN)

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """A message: the type of its value, the types of its fields, and how fields become the value.

    ``natives`` are Go's types of the scalar fields, which errors name.
    """

    name: str
    type: Type
    fields: Mapping[str, Type]
    natives: Mapping[str, str]
    value: Callable[[Fields], Any]

    def make(self, fields: Fields) -> Any:
        """The value of the message. Raises CelError for a field whose value has another type, or does not fit."""
        return self.value({name: self._native(name, value) for name, value in fields.items()})

    def _native(self, name: str, value: Any) -> Any:
        native, of = self.natives.get(name, ""), self.fields[name]
        if type_of_value(value).kind != of.kind:
            if not native:
                raise CelError(f"unsupported field type for {self.name}.{name}: {type_name(type_of_value(value))}")
            self._refuse(name, _mismatch(type_name(type_of_value(value)), native))
        if native == "int32" and not -_INT32 <= value < _INT32:
            self._refuse(name, "integer overflow")
        if native == "uint32" and value >= _UINT32:
            self._refuse(name, "unsigned integer overflow")
        return value

    def _refuse(self, name: str, why: str) -> None:
        raise CelError(f"field type conversion error for {self.name}.{name} value type: {why}")


def _mismatch(found: str, native: str) -> str:
    """What cel-go says of a value of another type; it depends on that type."""
    match found:
        case "string":
            return f"unsupported native conversion from string to '{native}'"
        case "null_type":
            return f"type conversion error from 'null_type' to '{native}'"
    return f"unsupported type conversion from '{found}' to {native}"


def _nanoseconds(fields: Fields) -> int:
    return int(fields.get("seconds", 0)) * SECOND + int(fields.get("nanos", 0))


def _duration(fields: Fields) -> Duration:
    return Duration(min(max(_nanoseconds(fields), -_INT64), _INT64 - 1))


def _timestamp(fields: Fields) -> Timestamp:
    if abs(fields.get("seconds", 0)) > _SECONDS:
        raise CelError("timestamp overflow")
    return Timestamp(_nanoseconds(fields))


def _wrapped(default: Any) -> Callable[[Fields], Any]:
    return lambda fields: fields.get("value", default)


def _float(fields: Fields) -> float:
    """The nearest number in 32 bits."""
    value = float(fields.get("value", 0.0))
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _json(value: Any) -> Any:
    """A value as ``google.protobuf.Value`` holds it: numbers are doubles, and other scalars texts."""
    match value:
        case None | bool() | float() | str():
            return value
        case int():
            return float(value) if abs(value) <= _SAFE else str(int(value))
        case bytes():
            return b64encode(value).decode()
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_duration(value)
        case list():
            return [_json(item) for item in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: _json(item) for key, item in value.items()}
    raise CelError(f"unsupported conversion from {type_name(type_of_value(value))} to google.protobuf.Value")


def _value(fields: Fields) -> Any:
    """The last field that is set: they are alternatives."""
    *_, (name, value) = fields.items() or [("null_value", 0)]
    return None if name == "null_value" else _json(value)


def _packed(_: Fields) -> Any:
    raise CelError("unsupported conversion to ref.Val: (*dynamicpb.Message)")


_EMPTY: Final = object_of("google.protobuf.Empty", {})
_MOMENT: Final = {"seconds": INT, "nanos": INT}
_MOMENTS: Final = {"seconds": "int64", "nanos": "int32"}
_ALTERNATIVES: Final = {
    "null_value": INT,
    "number_value": DOUBLE,
    "string_value": STRING,
    "bool_value": BOOL,
    "struct_value": _STRUCT,
    "list_value": _LIST,
}
_NATIVES: Final = {"null_value": "int32", "number_value": "float64", "string_value": "string", "bool_value": "bool"}
_PACKED: Final = {"type_url": "string", "value": "[]uint8"}


def _messages() -> list[Message]:
    wrappers = [
        ("BoolValue", BOOL, "bool", _wrapped(default=False)),
        ("BytesValue", BYTES, "[]uint8", _wrapped(b"")),
        ("DoubleValue", DOUBLE, "float64", _wrapped(0.0)),
        ("FloatValue", DOUBLE, "float32", _float),
        ("Int32Value", INT, "int32", _wrapped(0)),
        ("Int64Value", INT, "int64", _wrapped(0)),
        ("StringValue", STRING, "string", _wrapped("")),
        ("UInt32Value", UINT, "uint32", _wrapped(UInt(0))),
        ("UInt64Value", UINT, "uint64", _wrapped(UInt(0))),
    ]
    return [
        *(
            Message(f"google.protobuf.{name}", of, {"value": of}, {"value": go}, make)
            for name, of, go, make in wrappers
        ),
        Message("google.protobuf.Duration", DURATION, _MOMENT, _MOMENTS, _duration),
        Message("google.protobuf.Timestamp", TIMESTAMP, _MOMENT, _MOMENTS, _timestamp),
        Message("google.protobuf.Struct", _STRUCT, {"fields": _STRUCT}, {}, lambda each: _json(each.get("fields", {}))),
        Message("google.protobuf.ListValue", _LIST, {"values": _LIST}, {}, lambda each: _json(each.get("values", []))),
        Message("google.protobuf.Value", DYN, _ALTERNATIVES, _NATIVES, _value),
        Message("google.protobuf.Any", ANY, {"type_url": STRING, "value": BYTES}, _PACKED, _packed),
        Message("google.protobuf.Empty", _EMPTY, {}, {}, lambda _: Made(_EMPTY, {})),
    ]


MESSAGES: Final[Mapping[str, Message]] = {message.name: message for message in _messages()}
"""By full name."""
