"""The messages of protobuf that an expression can make: ``google.protobuf.Duration{seconds: 1}``.

cel-go knows these in every environment, and turns each into a CEL value at once: a duration, a number, a map. The types
of wrappers are those of their values; in cel-go, such a type also accepts null.
"""

from __future__ import annotations

import struct
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
    wrapper_of,
)
from webhook.cel.values.natives import EMPTY, Empty, to_native
from webhook.cel.values.value import Duration, Timestamp, UInt, type_name, type_of_value
from webhook.golang.time import SECOND

_SECONDS: Final = 10**12  # 30,000 years, which calendars can still compute; cel-go accepts more
_INT64: Final = 2**63
_STRUCT, _LIST = map_of(STRING, DYN), list_of(DYN)
_CONTAINERS: Final = frozenset({"list", "map"})

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """A message: the type of its value, the types of its fields, and how fields become the value.

    ``natives`` are Go's types of the fields, which errors name.
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
        of, native = type_of_value(value), self.natives[name]
        if native in _CONTAINERS and of.kind != native:
            shown = str(of) if of.kind in {"list", "map", "optional"} else type_name(of)
            raise CelError(f"unsupported field type for {self.name}.{name}: {shown}")
        try:
            return to_native(value, native)
        except CelError as error:
            why = f"field type conversion error for {self.name}.{name} value type: {error.message}"
            raise CelError(why) from None


def _nanoseconds(fields: Fields) -> int:
    return int(fields.get("seconds", 0)) * SECOND + int(fields.get("nanos", 0))


def _duration(fields: Fields) -> Duration:
    return Duration(min(max(_nanoseconds(fields), -_INT64), _INT64 - 1))


def _timestamp(fields: Fields) -> Timestamp:
    if abs(fields.get("seconds", 0)) > _SECONDS:
        raise CelError("timestamp overflow")
    return Timestamp(_nanoseconds(fields))


def _held(name: str, default: Any) -> Callable[[Fields], Any]:
    return lambda fields: fields.get(name, default)


def _float(fields: Fields) -> float:
    """The nearest number in 32 bits."""
    value = float(fields.get("value", 0.0))
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _value(fields: Fields) -> Any:
    """The last field that is set: they are alternatives."""
    *_, (name, value) = fields.items() or [("null_value", 0)]
    return None if name == "null_value" else value


def _packed(_: Fields) -> Any:
    raise CelError("unsupported conversion to ref.Val: (*dynamicpb.Message)")


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
_NATIVES: Final = {
    "null_value": "protoreflect.EnumNumber",
    "number_value": "float64",
    "string_value": "string",
    "bool_value": "bool",
    "struct_value": "*structpb.Struct",
    "list_value": "*structpb.ListValue",
}
_PACKED: Final = {"type_url": "string", "value": "[]uint8"}


def _messages() -> list[Message]:
    wrappers = [
        ("BoolValue", BOOL, "bool", _held("value", False)),
        ("BytesValue", BYTES, "[]uint8", _held("value", b"")),
        ("DoubleValue", DOUBLE, "float64", _held("value", 0.0)),
        ("FloatValue", DOUBLE, "float32", _float),
        ("Int32Value", INT, "int32", _held("value", 0)),
        ("Int64Value", INT, "int64", _held("value", 0)),
        ("StringValue", STRING, "string", _held("value", "")),
        ("UInt32Value", UINT, "uint32", _held("value", UInt(0))),
        ("UInt64Value", UINT, "uint64", _held("value", UInt(0))),
    ]
    return [
        *(
            Message(f"google.protobuf.{name}", wrapper_of(of), {"value": of}, {"value": go}, make)
            for name, of, go, make in wrappers
        ),
        Message("google.protobuf.Duration", DURATION, _MOMENT, _MOMENTS, _duration),
        Message("google.protobuf.Timestamp", TIMESTAMP, _MOMENT, _MOMENTS, _timestamp),
        Message("google.protobuf.Struct", _STRUCT, {"fields": _STRUCT}, {"fields": "map"}, _held("fields", {})),
        Message("google.protobuf.ListValue", _LIST, {"values": _LIST}, {"values": "list"}, _held("values", [])),
        Message("google.protobuf.Value", DYN, _ALTERNATIVES, _NATIVES, _value),
        Message("google.protobuf.Any", ANY, {"type_url": STRING, "value": BYTES}, _PACKED, _packed),
        Message("google.protobuf.Empty", EMPTY, {}, {}, lambda _: Empty()),
    ]


MESSAGES: Final[Mapping[str, Message]] = {message.name: message for message in _messages()}
"""By full name."""

ENUMS: Final[Mapping[str, int]] = {"google.protobuf.NullValue.NULL_VALUE": 0}
