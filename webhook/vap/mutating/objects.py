"""``Object{…}`` and ``JSONPatch{…}``: the values that mutations construct (``cel/mutation``).

The fields of an object are unknown when an expression is compiled, so every field is dyn. :func:`mismatches` checks
the constructed value: the name of each type must be the path of its field.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.cel import CelError, Steps
from webhook.cel.types import DYN, STRING, Type, list_of, object_of
from webhook.cel.values import (
    Duration,
    Made,
    Opt,
    Timestamp,
    equal,
    format_duration,
    format_timestamp,
    from_map_key,
    reveal,
)


class _AnyField(Mapping[str, Type]):
    """Declares every field as dyn."""

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
    """The type with a name in a mutation: ``JSONPatch``, ``Object``, ``Object.spec`` …"""
    if name == "JSONPatch":
        return _JSON_PATCH
    if name == _ROOT:
        return APPLY_CONFIGURATION
    return object_of(name, _ANY_FIELD) if name.startswith("Object.") else None


MEMBERS: Final = 500_000
"""Members of what a mutation writes: an object of 3 MiB, the largest that an API server takes, has fewer."""


class ObjectValue(Made):
    """An ``Object{…}``. Equality is identity of type and fields: 1 and 1.0 differ."""

    def cel_equal(self, other: Any) -> bool:
        return _identical(self, other, Steps(MEMBERS))


def _identical(a: Any, b: Any, steps: Steps) -> bool:
    """Go's ``reflect.DeepEqual``."""
    steps.take(1)
    if a.__class__ is not b.__class__:
        return False
    if isinstance(a, dict):
        same_type = not isinstance(a, Made) or a.cel_type == b.cel_type
        return same_type and a.keys() == b.keys() and all(_identical(item, b[key], steps) for key, item in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(_identical(item, other, steps) for item, other in zip(a, b, strict=True))
    return bool(a == b)


class PatchValue(Made):
    """A ``JSONPatch{…}``: one operation. An empty text counts as absent."""

    def cel_equal(self, other: Any) -> bool:
        if other.__class__ is not self.__class__ or self.keys() != other.keys():
            return False
        return all(equal(value, other[key]) for key, value in self.items())


def make(of: Type, fields: dict[str, Any]) -> Made:
    """Construct the value of an object expression."""
    if of.name != "JSONPatch":
        return ObjectValue(of, fields)
    return PatchValue(of, {key: value for key, value in fields.items() if key == "value" or value})


def mismatches(value: Any, path: tuple[str, ...] = (_ROOT,), steps: Steps | None = None) -> list[str]:
    """The errors of objects whose type name is not the path of their field."""
    steps = steps or Steps(MEMBERS)
    steps.take(1)
    found: list[str] = []
    if isinstance(value, Made):
        wanted, name = ".".join(path), value.cel_type.name
        if name != wanted:
            where = "which matches field name path from root Object type"
            found.append(f'unexpected type name "{name}", expected "{wanted}", {where}')
        for key, item in value.items():
            found += mismatches(item, (*path, key), steps)
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            found += mismatches(item, path, steps)
    return found


def json_of(value: Any, steps: Steps | None = None) -> Any:
    """Convert a CEL value to the value of a JSON patch (``google.protobuf.Value``): keys and times become text.

    Raises:
        CelError: JSON cannot represent the value, or it has too many members: in JSON, no two share one.
    """
    steps = steps or Steps(MEMBERS)
    steps.take(1)
    value = reveal(value)
    if value.__class__ is Opt:
        if not value.present:
            raise CelError("optional.none() dereference")
        return json_of(value.value, steps)
    if isinstance(value, PatchValue):
        raise CelError("cannot convert to native type: *structpb.Value")
    if isinstance(value, Made):
        return {key: json_of(item, steps) for key, item in value.items()}
    if isinstance(value, dict):
        return {_text_key(key): json_of(item, steps) for key, item in value.items()}
    if isinstance(value, list):
        return [json_of(item, steps) for item in value]
    return _scalar(value)


def _text_key(key: Any) -> str:
    key = from_map_key(key)
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(int(key)) if isinstance(key, int) else str(key)


_MAX_SAFE_INTEGER: Final = 2**53 - 1
"""Doubles represent all integers up to this one exactly; greater integers become text."""


def _scalar(value: Any) -> Any:
    if value is None or value.__class__ in (bool, str):
        return value
    if isinstance(value, int):
        return int(value) if -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER else str(int(value))
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Type):
        raise CelError("type conversion not supported for 'type'")
    raise CelError(f"type conversion error from '{value.__class__.__name__}' to '*structpb.Value'")


def _number(value: float) -> float:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
        marshalling = "json: error calling MarshalJSON for type *structpb.Value"
        raise CelError(f"{marshalling}: proto: google.protobuf.Value.number_value: invalid {name} value")
    return int(value) if value.is_integer() else value
