"""How the parts of a kind merge: atomic, as a set, or by key (the schema of structured-merge-diff).

The types are made from an OpenAPI schema as in the API server (``kube-openapi/pkg/schemaconv``), for a custom resource
from the schema that it publishes, with the metadata that a CRD leaves out. The type of an undeclared field is deduced
from its value: scalar, atomic list, open map. ``builtin.json`` has the schemas of the API server's built-in kinds
(``make crds``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

import orjson

from webhook.admission import GroupVersionKind

_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_TEXTS: Final = {"type": "object", "additionalProperties": _TEXT}
_INTEGER: Final = {"type": "integer"}
_BOOLEAN: Final = {"type": "boolean"}
_OWNER: Final = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "properties": {
        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _TEXT),
        **dict.fromkeys(("controller", "blockOwnerDeletion"), _BOOLEAN),
    },
}
_OBJECT_META: Final = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion", "selfLink"), _TEXT),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), _INTEGER),
        **dict.fromkeys(("labels", "annotations"), _TEXTS),
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": _TEXT},
        "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object"}},
        "ownerReferences": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "items": _OWNER,
        },
    },
}
OBJECT_FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _OBJECT_META}
"""The fields that every object has."""


def published(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The published schema, made from the schema in the CRD."""
    return {**schema, "type": "object", "properties": {**(schema.get("properties") or {}), **OBJECT_FIELDS}}


Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ListType:
    """``relation`` is atomic, set or map; ``defaults`` are the defaults of the keys of a map list."""

    relation: str
    keys: tuple[str, ...]
    items: MergeType
    defaults: Mapping[str, Any]


@dataclass(slots=True)
class MapType:
    """``schemas`` are the schemas of the declared fields, ``element`` is the type of other fields; None forbids them.

    The types of fields are made on first use.
    """

    atomic: bool
    schemas: Mapping[str, Schema]
    element: MergeType | None
    preserve: bool
    _fields: dict[str, MergeType] = field(default_factory=dict)

    def declared(self, name: str) -> MergeType | None:
        if name not in self.schemas:
            return None
        if name not in self._fields:
            self._fields[name] = _type_of(self.schemas[name], preserve=self.preserve)
        return self._fields[name]

    def of(self, name: str) -> MergeType | None:
        """The type of a field, declared or not."""
        return self.declared(name) or self.element


@dataclass(slots=True)
class MergeType:
    """The types that a value may have. ``scalar`` is numeric, string, boolean, untyped, or "" (no scalar)."""

    scalar: str = ""
    list: ListType | None = None
    map: MapType | None = None


_SCALARS: Final = {"integer": "numeric", "number": "numeric", "boolean": "boolean", "string": "string"}
_TEXTUAL: Final = frozenset({None, "", "byte"})
"""The formats that are strings in Go; a string with another format may have another Go type."""

_ATOMIC: Final = MergeType("untyped")
_ATOMIC.list = ListType("atomic", (), _ATOMIC, {})
_ATOMIC.map = MapType(True, {}, _ATOMIC, False)
DEDUCED: Final = MergeType("untyped", ListType("atomic", (), _ATOMIC, {}))
"""The type of an undeclared field."""
DEDUCED.map = MapType(False, {}, DEDUCED, False)


METADATA_ONLY: Final = MergeType(map=MapType(False, OBJECT_FIELDS, DEDUCED, False))
"""The type of an object of an unknown kind: only apiVersion, kind and metadata are declared."""


def type_of_kind(schema: Schema) -> MergeType:
    """The type of an object, made from the schema in its CRD."""
    return _type_of(published(schema))


@cache
def builtin_type(kind: GroupVersionKind) -> MergeType | None:
    """The type of an object of a built-in kind; None for other kinds."""
    schema = builtin_schema(kind)
    return None if schema is None else _type_of(schema)


def builtin_schema(kind: GroupVersionKind) -> Schema | None:
    """A reference to the schema of a built-in kind, for :func:`resolved`; None for other kinds."""
    name = _builtin()["kinds"].get("/".join(filter(None, (kind.group, kind.version, kind.kind))))
    return None if name is None else {"$ref": name}


@cache
def _builtin() -> dict[str, dict[str, Any]]:
    text = files("webhook.vap.mutating").joinpath("builtin.json").read_bytes()
    found: dict[str, dict[str, Any]] = orjson.loads(text)
    return found


def resolved(schema: Schema) -> Schema:
    """The schema, with its reference resolved. Only schemas of built-in kinds have references."""
    name = schema.get("$ref")
    if name is None:
        return schema
    named = _builtin()["types"][name]
    return named if len(schema) == 1 else {**named, **schema}


def _type_of(schema: Schema, *, preserve: bool = False) -> MergeType:
    schema = resolved(schema)
    preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
    kind = schema.get("type")
    if kind in _SCALARS:
        loose = kind == "string" and schema.get("format") not in _TEXTUAL
        return MergeType("untyped" if loose else _SCALARS[kind])
    if kind == "object":
        return MergeType(map=_map_of(schema, preserve=preserve))
    if kind == "array":
        return MergeType(list=_list_of(schema, preserve=preserve))
    return MergeType("untyped", _list_of(schema, preserve=preserve), _map_of(schema, preserve=preserve))


def _map_of(schema: Schema, *, preserve: bool) -> MapType:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    element: MergeType | None = None
    if isinstance(additional, Mapping):
        element = _type_of(additional, preserve=preserve)
    elif additional is True or (additional is None and (preserve or not properties)):
        element = DEDUCED
    return MapType(schema.get("x-kubernetes-map-type") == "atomic", properties, element, preserve)


def _list_of(schema: Schema, *, preserve: bool) -> ListType:
    items = resolved(schema["items"]) if isinstance(schema.get("items"), Mapping) else None
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    declared = (items.get("properties") or {}) if items is not None else {}
    defaults = {key: declared[key]["default"] for key in keys if "default" in declared.get(key, {})}
    item = _ATOMIC if items is None else _type_of(items, preserve=preserve)
    return ListType(schema.get("x-kubernetes-list-type") or "atomic", keys, item, defaults)
