"""``Object{…}`` and ``JSONPatch{…}``: the values that mutations make (``cel/mutation``).

Nothing is known of an object's fields when an expression is compiled, so each may be
anything; that the name of its type is its path is checked when it has been made.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.cel.carriers import Made, reveal
from webhook.cel.carriers import equal as carried_equal
from webhook.cel.errors import CelError
from webhook.cel.times import format_duration, format_timestamp
from webhook.cel.types import DYN, STRING, Type, list_of, object_of
from webhook.cel.values import Duration, Opaque, Opt, Timestamp, UInt, from_map_key, type_name, type_of_value

__all__ = ["APPLY_CONFIGURATION", "JSON_PATCHES", "PatchValue", "json_of", "make", "mismatches", "native", "resolve"]


class _AnyField(Mapping[str, Type]):
    """Every field is declared, and may be anything."""

    def __getitem__(self, name: str) -> Type:
        return DYN

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


_ANY_FIELD: Final = _AnyField()
_ROOT: Final = "Object"
APPLY_CONFIGURATION: Final = object_of(_ROOT, _ANY_FIELD)
_JSON_PATCH: Final = object_of("JSONPatch", {"op": STRING, "path": STRING, "from": STRING, "value": DYN})
JSON_PATCHES: Final = list_of(_JSON_PATCH)


def resolve(name: str) -> Type | None:
    """The type that a name denotes in a mutation: ``JSONPatch``, ``Object``, ``Object.spec`` …"""
    if name == "JSONPatch":
        return _JSON_PATCH
    if name == _ROOT:
        return APPLY_CONFIGURATION
    return object_of(name, _ANY_FIELD) if name.startswith("Object.") else None


class ObjectValue(Made):
    """An ``Object{…}``, equal to one of the same type and fields only."""

    def cel_equal(self, other: Any) -> bool:
        if other.__class__ is not self.__class__ or self.cel_type != other.cel_type or self.keys() != other.keys():
            return False
        return all(carried_equal(value, other[key]) for key, value in self.items())


class PatchValue(ObjectValue):
    """A ``JSONPatch{…}``: one operation. An empty text is as good as none."""


def make(of: Type, fields: dict[str, Any]) -> Made:
    """The value of an object expression."""
    if of.name != "JSONPatch":
        return ObjectValue(of, fields)
    return PatchValue(of, {key: value for key, value in fields.items() if key == "value" or value})


def mismatches(value: Any, path: tuple[str, ...] = (_ROOT,)) -> list[str]:
    """The objects whose type's name is not the path of their field."""
    found: list[str] = []
    if isinstance(value, Made):
        wanted, name = ".".join(path), value.cel_type.name
        if name != wanted:
            where = "which matches field name path from root Object type"
            found.append(f'unexpected type name "{name}", expected "{wanted}", {where}')
        for key, item in value.items():
            found += mismatches(item, (*path, key))
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            found += mismatches(item, path)
    return found


def native(value: Any) -> Any:
    """A CEL value as the JSON of an apply configuration.

    Raises:
        CelError: a map whose keys are no strings, or a value JSON has no word for.
    """
    value = reveal(value)
    if isinstance(value, Made):
        return {key: _field(key, item) for key, item in value.items()}
    if value.__class__ is Opt:
        return native(value.value) if value.present else None
    if isinstance(value, dict):
        return {_string_key(key): native(item) for key, item in value.items()}
    if isinstance(value, list):
        return [native(item) for item in value]
    return _scalar(value)


def _field(name: str, value: Any) -> Any:
    try:
        return native(value)
    except CelError as error:
        raise CelError(f'fail to convert field "{name}": {error.message}') from None


def _string_key(key: Any) -> str:
    key = from_map_key(key)
    if isinstance(key, str):
        return key
    name = type_name(type_of_value(key))
    quoted = f"'{chr(key)}'" if name in {"int", "uint"} and 0 <= key < 0x110000 else str(key)
    raise CelError(f"map key {quoted} is of type types.{name.capitalize()}, not string")


def json_of(value: Any) -> Any:
    """A CEL value as the value of a JSON patch (``google.protobuf.Value``): keys and times become text.

    Raises:
        CelError: a value that JSON has no word for.
    """
    value = reveal(value)
    if value.__class__ is Opt:
        return json_of(value.value) if value.present else None
    if isinstance(value, Made):
        return {key: _field(key, item) for key, item in value.items()}
    if isinstance(value, dict):
        return {_text_key(key): json_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [json_of(item) for item in value]
    return _scalar(value)


def _text_key(key: Any) -> str:
    key = from_map_key(key)
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(int(key)) if isinstance(key, int) else str(key)


def _scalar(value: Any) -> Any:
    if value.__class__ is float and value.is_integer():
        return int(value)
    if value is None or value.__class__ in (bool, int, float, str):
        return value
    if value.__class__ is UInt:
        return int(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, (Opaque, Type)):
        raise CelError(f"unsupported conversion of {type_name(type_of_value(value))} to JSON")
    raise CelError(f"no JSON value: {value.__class__.__name__}")
