"""Values between cel-python's classes and the engine's native ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from celpy import celtypes

from webhook.cel.errors import CelError
from webhook.cel.values.value import Duration, Timestamp, UInt, from_map_key, map_key

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def from_celpy(value: Any) -> Any:
    """The native value of one of cel-python's; a native value, such as decoded JSON, is returned as it is.

    Raises:
        CelError: cel-python's value has no native counterpart (a function, a type).
    """
    convert = _NATIVE.get(value.__class__)
    if convert is not None:
        return convert(value)
    if value.__class__.__module__ == celtypes.__name__:
        raise CelError(f"unsupported value of type {value.__class__.__name__}")
    return value


def to_celpy(value: Any) -> Any:
    """The value as cel-python's runners return it.

    A fraction of a microsecond is lost, because cel-python's times are Python's. Optionals,
    types and what Kubernetes' libraries add (quantities, addresses …) are returned as they are.
    """
    convert = _CELPY.get(value.__class__)
    if convert is not None:
        return convert(value)
    if isinstance(value, list):
        return celtypes.ListType([to_celpy(item) for item in value])
    if isinstance(value, dict):
        return celtypes.MapType({to_celpy(from_map_key(key)): to_celpy(item) for key, item in value.items()})
    return value


def _map(value: celtypes.MapType) -> dict[Any, Any]:
    return {map_key(from_celpy(key)): from_celpy(item) for key, item in value.items()}


def _timestamp(value: datetime) -> Timestamp:
    offset = value.utcoffset() or timedelta()
    return Timestamp((value - _EPOCH) // _MICROSECOND * 1000, int(offset.total_seconds()))


_NATIVE: Final[dict[type, Callable[[Any], Any]]] = {
    celtypes.BoolType: bool,
    celtypes.IntType: int,
    celtypes.UintType: UInt,
    celtypes.DoubleType: float,
    celtypes.StringType: str,
    celtypes.BytesType: bytes,
    celtypes.NullType: lambda _: None,
    celtypes.ListType: lambda value: [from_celpy(item) for item in value],
    celtypes.MapType: _map,
    celtypes.MessageType: _map,
    celtypes.TimestampType: _timestamp,
    celtypes.DurationType: lambda value: Duration(value // _MICROSECOND * 1000),
}
_CELPY: Final[dict[type, Callable[[Any], Any]]] = {
    bool: celtypes.BoolType,
    int: celtypes.IntType,
    UInt: celtypes.UintType,
    float: celtypes.DoubleType,
    str: celtypes.StringType,
    bytes: celtypes.BytesType,
    Timestamp: lambda value: celtypes.TimestampType(_EPOCH + timedelta(microseconds=value.ns // 1000)),
    Duration: lambda value: celtypes.DurationType(timedelta(microseconds=value.ns // 1000)),
}
