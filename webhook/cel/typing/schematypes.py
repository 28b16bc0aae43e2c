"""From an OpenAPI schema to the type that rules see.

The rules of Kubernetes' ``apiserver/pkg/cel/common/schemas.go``: a field exists for CEL when
its schema has a type that CEL has a word for and its name can be written; fields that are
merely preserved do not exist. What sizes values may have, which cost estimates need, is
kept beside the type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    object_of,
)
from webhook.cel.values.nodes import escape, has_metadata

MAX_REQUEST: Final = 3 * 1024 * 1024  # bytes of the largest request an API server reads; bounds every size
_RFC3339: Final = 32  # "9999-12-31T23:59:59.999999999Z" with its quotation marks; also taken for durations
_DATE: Final = 12  # "2006-01-02" with quotation marks
_NAME_LENGTH: Final = 253  # of a DNS subdomain
_TEXT: Final = {"type": "string"}
_UNBOUNDED: Final = MAX_REQUEST - 2  # without the two brackets or quotation marks

# type names that an environment with a schema has in addition to the standard ones
SCALARS: Final[Mapping[str, Type]] = {"duration": DURATION, "timestamp": TIMESTAMP}


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A type and the bounds of the size of its values.

    ``max_elements`` bounds the length of a string or bytes (in bytes), or the number of items
    or entries; 0 for values without a size. ``min_size`` is the minimum of bytes of JSON a value
    takes. ``element`` is the type of items or map values, ``fields`` those of an object by
    their escaped names, declared when first used: a rule about a pod reads few of them.
    """

    type: Type
    min_size: int
    max_elements: int = 0
    element: Declared | None = None
    declare_fields: Callable[[], Mapping[str, Declared]] = field(default=dict, repr=False)

    @property
    def fields(self) -> Mapping[str, Declared]:
        return self.declare_fields()

    @property
    def occurrences(self) -> int:
        """How often such a value can occur in one request: each takes its minimal size and a comma."""
        return MAX_REQUEST // (self.min_size + 1)


def type_of_schema(schema: Mapping[str, Any], *, is_root: bool = False, name: str) -> Type:
    """The type of values under a schema; ``dyn`` for a schema without a type.

    ``name`` names the type, if it is an object, and prefixes the names of the objects within.
    ``is_root`` is for the schema of a whole resource, which has apiVersion, kind,
    metadata.name and metadata.generateName whatever the schema says.
    """
    declared = declare(schema, is_root=is_root, name=name)
    return DYN if declared is None else declared.type


def declare(schema: Mapping[str, Any], *, is_root: bool = False, name: str) -> Declared | None:
    """The type and sizes of values under a schema; None if CEL has no type for it: rules cannot see such a field."""
    if schema.get("x-kubernetes-int-or-string"):
        return Declared(DYN, 1, _string_bound(schema, _UNBOUNDED))
    if is_root:
        schema = _with_metadata(schema)
    match schema.get("type"):
        case "array":
            return _list(schema, name)
        case "object":
            values = schema.get("additionalProperties")
            return _map(schema, values, name) if isinstance(values, Mapping) else _object(schema, name)
        case "string":
            return _string(schema)
        case "boolean":
            return Declared(BOOL, 4)
        case "number":
            return Declared(DOUBLE, 1)
        case "integer":
            return Declared(INT, 1)
    return None


def _child(schema: Mapping[str, Any], name: str) -> Declared | None:
    return declare(schema, is_root=bool(schema.get("x-kubernetes-embedded-resource")), name=name)


def _list(schema: Mapping[str, Any], name: str) -> Declared | None:
    items = schema.get("items")
    element = _child(items, f"{name}.@idx") if isinstance(items, Mapping) else None
    if element is None:
        return None
    bound = _bound(schema, "maxItems", _UNBOUNDED // (element.min_size + 1))
    return Declared(list_of(element.type), 2, bound, element)


def _map(schema: Mapping[str, Any], values: Mapping[str, Any], name: str) -> Declared | None:
    element = _child(values, f"{name}.@elem")
    if element is None:
        return None
    bound = _bound(schema, "maxProperties", _UNBOUNDED // (element.min_size + 6))  # "" : and , around a value
    return Declared(map_of(STRING, element.type), 2, bound, element)


def _object(schema: Mapping[str, Any], name: str) -> Declared:
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties") or {}
    min_size = 2
    for key in set(schema.get("required") or ()) & properties.keys():
        declared = _child(properties[key], key) if properties[key].get("default") is None else None
        if declared is not None:
            min_size += len(key.encode()) + declared.min_size + 4
    fields = _Fields(properties, name)
    return Declared(object_of(name, fields.types), min_size, declare_fields=fields.declared)


class _Fields:
    """The fields of an object. They are declared at their first use, and kept: a catalog has thousands of objects."""

    __slots__ = ("_declared", "_name", "_properties", "_types")

    def __init__(self, properties: Mapping[str, Mapping[str, Any]], name: str) -> None:
        self._properties = properties
        self._name = name
        self._declared: Mapping[str, Declared] | None = None
        self._types: Mapping[str, Type] | None = None

    def declared(self) -> Mapping[str, Declared]:
        if self._declared is None:  # two threads may both do this; the results are equal
            named = ((escape(key), child) for key, child in self._properties.items())
            declared = {key: _child(child, f"{self._name}.{key}") for key, child in named if key is not None}
            self._declared = {key: field for key, field in declared.items() if field is not None}
        return self._declared

    def types(self) -> Mapping[str, Type]:
        if self._types is None:
            self._types = {key: declared.type for key, declared in self.declared().items()}
        return self._types


def _string(schema: Mapping[str, Any]) -> Declared:
    match schema.get("format"):
        case "byte":
            return Declared(BYTES, 2, _bound(schema, "maxLength", _UNBOUNDED))
        case "duration":
            return Declared(DURATION, 3, _RFC3339)
        case "date":
            return Declared(TIMESTAMP, _DATE, _DATE)
        case "date-time":
            return Declared(TIMESTAMP, 21, _RFC3339)
    longest = [len(value.encode()) for value in schema.get("enum") or () if isinstance(value, str)]
    unbounded = max(longest, default=0) if schema.get("enum") else _UNBOUNDED
    return Declared(STRING, 2, _string_bound(schema, unbounded))


def _string_bound(schema: Mapping[str, Any], default: int) -> int:
    """``maxLength`` counts code points, of up to four bytes."""
    return default if schema.get("maxLength") is None else 4 * _bound(schema, "maxLength", 0)


def _bound(schema: Mapping[str, Any], keyword: str, default: int) -> int:
    limit = schema.get(keyword)
    return default if limit is None else max(0, int(limit))


def _with_metadata(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with the fields of every resource; rules see no other fields of its metadata."""
    properties = dict(schema.get("properties") or {})
    if has_metadata(properties):
        return schema
    known = (properties.get("metadata") or {}).get("properties") or {}
    names = {
        "name": _name(known.get("name"), _NAME_LENGTH),
        "generateName": _name(known.get("generateName"), _NAME_LENGTH - 1),  # the suffix has at least one byte
    }
    metadata = {"type": "object", "properties": names}
    return {**schema, "properties": {**properties, "apiVersion": _TEXT, "kind": _TEXT, "metadata": metadata}}


def _name(declared: Mapping[str, Any] | None, limit: int) -> dict[str, Any]:
    """The schema of a name, at most as long as a DNS subdomain, even if the CRD says more (Kubernetes 1.37)."""
    length = (declared or {}).get("maxLength")
    return {**_TEXT, "maxLength": limit if length is None else min(limit, length)}
