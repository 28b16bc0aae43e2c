"""Converts an ``Object{…}`` to an apply configuration: JSON, and :class:`Foreign` for the values JSON cannot represent.

Go passes the values of an expression to the merge unchanged, and the merge refuses a value that no field can have.
So such values are kept, with the names that the merge's errors print.
"""

from __future__ import annotations

from typing import Any

from webhook.cel import CelError
from webhook.cel.values import (
    Duration,
    Made,
    Opt,
    Timestamp,
    UInt,
    format_duration,
    format_timestamp,
    from_map_key,
    reveal,
    type_name,
    type_of_value,
)


class Foreign:
    """A value that no field of a Kubernetes object can have: its Go type, and its text with ``%v`` and ``%#v``."""

    __slots__ = ("name", "shown", "source")

    def __init__(self, name: str, shown: str, source: str = "") -> None:
        self.name = name
        self.shown = shown
        self.source = source or shown


def native(value: Any) -> Any:
    """Convert a CEL value to the JSON of an apply configuration; other values become :class:`Foreign`.

    Raises:
        CelError: a map directly within the object has a key that is not a string.
    """
    value = reveal(value)
    if isinstance(value, Made):
        return {key: _field(key, item) for key, item in value.items()}
    if value.__class__ is Opt:
        return native(value.value) if value.present else None
    if isinstance(value, dict):
        return {_string_key(key): _nested(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_nested(item) for item in value]
    return _go_value(value)


def _nested(value: Any) -> Any:
    """Convert a nested object on its own: an error replaces its value."""
    if not isinstance(value, Made):
        return native(value)
    try:
        return native(value)
    except CelError as error:
        return Foreign("*types.Err", error.message)


def _field(name: str, value: Any) -> Any:
    try:
        return _nested(value)
    except CelError as error:
        raise CelError(f'fail to convert field "{name}": {error.message}') from None


def _string_key(key: Any) -> str:
    key = from_map_key(key)
    if isinstance(key, str):
        return key
    name = type_name(type_of_value(key))
    raise CelError(f"map key {_quoted(key)} is of type types.{name.capitalize()}, not string")


def _quoted(key: Any) -> str:
    """Go's ``%q``, which prints an integer as a character."""
    if isinstance(key, bool) or not isinstance(key, int) or not 0 <= key < 0x110000:
        return f"%!q({'true' if key is True else 'false' if key is False else key})"
    return repr(chr(key)) if key != ord("'") else "'\\''"


def _go_value(value: Any) -> Any:
    if value.__class__ in (bool, int, float, str):
        return value
    if value is None:
        return Foreign("structpb.NullValue", "NULL_VALUE", "0")
    if value.__class__ is UInt:
        return Foreign("uint64", str(int(value)), hex(value))
    if isinstance(value, bytes):
        return Foreign("[]uint8", f"[{' '.join(map(str, value))}]")
    if isinstance(value, Timestamp):
        return Foreign("time.Time", format_timestamp(value).replace("T", " ").replace("Z", " +0000 UTC"))
    if isinstance(value, Duration):
        return Foreign("time.Duration", format_duration(value))
    return Foreign(type_name(type_of_value(value)), str(value))
