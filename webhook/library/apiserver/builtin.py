"""Objects of the API server's built-in kinds: their fields and types, as its decoder reads them.

The API server validates these kinds in code beyond their published schema. Required fields and values are therefore not
checked here: a schema requires some fields that the API server fills in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.admission import Cause, GroupVersionKind
from webhook.golang.strconv import INT64
from webhook.schema import OMIT, FieldError
from webhook.vap import builtin_schema, resolved

Schema = Mapping[str, Any]

_INT32: Final = range(-(2**31), 2**31)
_ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Decoded apart: see :mod:`webhook.library.apiserver.receive`."""


def is_builtin(kind: GroupVersionKind) -> bool:
    """Whether the fields of a kind are known here."""
    return builtin_schema(kind) is not None


def decode_builtin(kind: GroupVersionKind, value: dict[str, Any]) -> tuple[dict[str, Any], list[Cause]]:
    """The object without the nulls that the decoder drops, and the causes of unknown fields and of wrong types."""
    schema = builtin_schema(kind)
    if schema is None:
        return value, []
    causes: list[Cause] = []
    body = {key: item for key, item in value.items() if key not in _ENVELOPE}
    decoded = _decode(body, schema, "", causes)
    return {**{key: value[key] for key in value if key in _ENVELOPE}, **decoded}, causes


def _decode(value: Any, schema: Schema, path: str, causes: list[Cause]) -> Any:
    schema = resolved(schema)
    kind = schema.get("type")
    if value is None or kind is None:
        fault = _loose_fault(value, schema)
    elif kind == "object":
        if isinstance(value, dict):
            return _decode_object(value, schema, path, causes)
        fault = "object"
    elif kind == "array":
        if isinstance(value, list):
            items = schema["items"]
            return [_decode(item, items, f"{path}[{index}]", causes) for index, item in enumerate(value)]
        fault = "array"
    else:
        fault = "" if _fits(value, kind, schema.get("format", "")) else kind
    if fault:
        shown = OMIT if isinstance(value, dict | list) else value
        body = FieldError("FieldValueTypeInvalid", path, f"must be of type {fault}", shown).body()
        causes.append(Cause(path, "FieldValueTypeInvalid", body))
    return value


def _decode_object(value: dict[str, Any], schema: Schema, path: str, causes: list[Cause]) -> dict[str, Any]:
    declared: Schema = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    decoded: dict[str, Any] = {}
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        if key in declared:
            if item is not None:  # the decoder leaves the field as it is: absent
                decoded[key] = _decode(item, declared[key], where, causes)
        elif isinstance(others, Mapping):
            decoded[key] = _decode(item, others, f"{path}[{key}]", causes)
        else:
            decoded[key] = item
            if declared:
                causes.append(Cause(where, "FieldValueInvalid", "unknown field"))
    return decoded


def _loose_fault(value: Any, schema: Schema) -> str:
    """The type that a value without a type in its schema lacks; "" if it may be anything."""
    if value is not None and schema.get("format") == "int-or-string" and not _is_int_or_string(value):
        return "integer or string"
    return ""


def _is_int_or_string(value: Any) -> bool:
    return isinstance(value, str) or _fits(value, "integer", "int32")


def _fits(value: Any, kind: str, form: str) -> bool:
    if kind == "string":
        return isinstance(value, str) or (form == "quantity" and _fits(value, "number", ""))
    if kind == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == "integer":
        return isinstance(value, int) and value in (_INT32 if form == "int32" else INT64)
    return isinstance(value, int | float)
