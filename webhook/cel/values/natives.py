"""Values as Go's types: what cel-go's ``ConvertToNative`` accepts, and its errors."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, ClassVar, Final

from webhook.cel.errors import CelError
from webhook.cel.limits import Steps
from webhook.cel.types import Type, object_of
from webhook.cel.values.times import format_duration, format_timestamp
from webhook.cel.values.value import Duration, Opaque, Opt, Timestamp, UInt, from_map_key, type_name, type_of_value

_SAFE: Final = 2**53 - 1  # the largest integer in JSON; cel-go writes larger ones as text
_RANGES: Final = {"int32": (-(2**31), 2**31), "uint32": (0, 2**32), "protoreflect.EnumNumber": (-(2**31), 2**31)}
_ACCEPTED: Final[dict[str, type]] = {
    "bool": bool,
    "[]uint8": bytes,
    "float32": float,
    "float64": float,
    "int32": int,
    "int64": int,
    "protoreflect.EnumNumber": int,
    "string": str,
    "uint32": UInt,
    "uint64": UInt,
}

_NAMES: Final = {bool: "bool", bytes: "Bytes", float: "Double"}
_OTHERS: Final = {"kubernetes.NamedFormat": "Format", "google.protobuf.Empty": "*dynamicpb.Message"}
EMPTY: Final = object_of("google.protobuf.Empty", {})


class Empty(Opaque):
    """``google.protobuf.Empty{}``, the one message that stays a message."""

    __slots__ = ()
    cel_type: ClassVar[Type] = EMPTY

    def __str__(self) -> str:
        return ""

    def cel_equal(self, other: Any) -> bool:
        return other.__class__ is Empty


def to_native(value: Any, native: str) -> Any:
    """A value for a field of a Go type: ``int32``, ``[]uint8``, ``*structpb.Struct`` …; an optional gives its value.

    Raises:
        CelError: the value has another type, or does not fit.
    """
    if value.__class__ is Opt:
        return to_native(dereferenced(value), native)
    if native == "[]uint8" and isinstance(value, list):
        return bytes(map(_byte, value))
    if native in {"*structpb.Struct", "map"} and isinstance(value, dict):
        steps = Steps()
        return {_key(key): to_json(item, steps) for key, item in value.items()}
    if native in {"*structpb.ListValue", "list"} and (isinstance(value, list) or value == {}):
        steps = Steps()
        return [to_json(item, steps) for item in value]
    if value.__class__ is not _ACCEPTED.get(native):
        raise _refusal(value, native)
    low, high = _RANGES.get(native, (None, None))
    if low is not None and high is not None and not low <= value < high:  # type: ignore[operator]
        raise CelError("unsigned integer overflow" if value.__class__ is UInt else "integer overflow")
    return value


def to_json(value: Any, steps: Steps | None = None) -> Any:
    """A value as ``google.protobuf.Value`` holds it: numbers are doubles, and other scalars texts."""
    steps = steps or Steps()
    steps.take(1)
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
        case Opt():
            return to_json(dereferenced(value), steps)
        case list():
            return [to_json(item, steps) for item in value]
        case dict():
            return {_key(key): to_json(item, steps) for key, item in value.items()}
        case Empty():
            return {}
    raise _refusal(value, "*structpb.Value")


def dereferenced(optional: Opt) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _byte(value: Any) -> int:
    if value.__class__ is Opt:
        return _byte(dereferenced(value))
    if value.__class__ is not UInt:
        raise _refusal(value, "uint8")
    if value > 255:
        raise CelError("unsigned integer overflow")
    return int(value)


def _key(key: Any) -> str:
    value = from_map_key(key)
    if value.__class__ is not str:
        raise _refusal(value, "string")
    return str(value)


def _refusal(value: Any, native: str) -> CelError:
    """The error of a value of another type. Each type of cel-go has its own words."""
    name = type_name(type_of_value(value))
    match value:
        case bool() | bytes() | float():
            return CelError(f"type conversion error from {_NAMES[value.__class__]} to '{native}'")
        case int():
            return CelError(f"unsupported type conversion from '{name}' to {native}")
        case str():
            return CelError(f"unsupported native conversion from string to '{native}'")
        case list() | dict():
            return CelError(f"type conversion error from {name} to '{native}'")
        case Type():
            return CelError("type conversion not supported for 'type'")
    return CelError(f"type conversion error from '{_OTHERS.get(name) or name.rpartition('.')[2]}' to '{native}'")
