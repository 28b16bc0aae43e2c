"""A structural schema as a tree of nodes, made from an OpenAPI schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Final, NoReturn

import orjson

from webhook.cel import COMPATIBLE
from webhook.golang.json import read_numbers
from webhook.schema.formats import recognised

_DIGEST: Final = 16  # bytes; a collision is less likely than a memory error
_ONLY_JSON: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def intern_json(value: Any) -> Any:
    """An equal value in which equal dictionaries and lists are one object. The result must not be changed.

    Equal means the same JSON text: ``1``, ``1.0`` and ``true`` differ. A value that orjson cannot write (not JSON, or
    nested deeper than 254 levels) is returned unchanged.
    """
    interned: dict[bytes, Any] = {}

    def one(part: Any) -> Any:
        if type(part) is not dict and type(part) is not list:
            return part
        # A part that is already interned is not descended into: this covers most of a CRD that contains pods.
        key = blake2b(orjson.dumps(part, option=_ONLY_JSON), digest_size=_DIGEST).digest()
        if key not in interned:
            interned[key] = {k: one(v) for k, v in part.items()} if type(part) is dict else [one(item) for item in part]
        return interned[key]

    try:
        return one(value)
    except orjson.JSONEncodeError:
        return value


Version = tuple[int, int]

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "MISSING", "__slots__": ()})()
"""Stands for an absent key, because null is a value."""


CleanParts = AbstractSet[tuple[int, int]]
"""The identities of schema nodes and of objects and lists that each of them accepts as they are."""

NO_PARTS: Final[CleanParts] = frozenset()


class SchemaNode:
    """One node of a structural schema, with the names of apiextensions' ``Structural``. Immutable.

    ``type`` is the written type. ``types`` are the types that the OpenAPI validator accepts: two for int-or-string,
    none if the schema has no type. ``format`` is "" if the format is not checked. ``default`` is :data:`MISSING` if
    there is none. ``additional`` is the schema of additionalProperties; None if that is a boolean or absent.
    ``additional_known`` tells whether the keyword is present.

    A node stores only the keywords of its schema; the class has the values of absent ones, because most schemas have
    few keywords. A node does not know its place: equal schemas share one node.
    """

    raw: Mapping[str, Any]
    type: str = ""
    types: tuple[str, ...] = ()
    format: str = ""
    nullable: bool = False
    default: Any = MISSING
    properties: Mapping[str, SchemaNode] = MappingProxyType({})
    additional: SchemaNode | None = None
    additional_known: bool = False
    additional_allowed: bool = True
    items: SchemaNode | None = None
    required: tuple[str, ...] = ()
    enum: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: tuple[SchemaNode, ...] = ()
    any_of: tuple[SchemaNode, ...] = ()
    one_of: tuple[SchemaNode, ...] = ()
    not_: SchemaNode | None = None
    preserve: bool = False
    embedded: bool = False
    int_or_string: bool = False
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    map_type: str = ""
    rules: tuple[Mapping[str, Any], ...] = ()

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a schema node is immutable: cannot set {name}")

    def replace(self, **changes: Any) -> SchemaNode:
        """A copy with changed values."""
        return SchemaNode(self.__dict__ | changes)

    def child(self, key: str) -> SchemaNode | None:
        """The schema of one field: the property's, else that of additionalProperties, else None."""
        return self.properties.get(key, self.additional)

    def below(self) -> Iterator[SchemaNode]:
        """The schemas of properties, items and additionalProperties, without those of junctors."""
        yield from self.properties.values()
        if self.items is not None:
            yield self.items
        if self.additional is not None:
            yield self.additional


def distinct(root: SchemaNode, *, junctors: bool = False) -> Iterator[SchemaNode]:
    """Every node of a tree once, even if it is shared; with ``junctors`` also the nodes under allOf."""
    pending, seen = [root], {id(root)}
    while pending:
        node = pending.pop()
        yield node
        for child in (*node.below(), *(node.all_of if junctors else ())):
            if id(child) not in seen:
                seen.add(id(child))
                pending.append(child)


Build = Callable[[Mapping[str, Any]], SchemaNode]
Reader = Callable[[Any, Build], Any]


def _kept(value: Any, _: Build) -> Any:
    return value


def _number(value: Any, _: Build) -> float:
    return float(value)


def _row(value: Any, _: Build) -> tuple[Any, ...]:
    return tuple(value)


def _child(value: Any, make: Build) -> SchemaNode:
    return make(value)


def _branches(value: Any, make: Build) -> tuple[SchemaNode, ...]:
    return tuple(map(make, value))


_READERS: Final[Mapping[str, tuple[str, Reader]]] = {
    "nullable": ("nullable", _kept),
    "default": ("default", lambda value, _: read_numbers(value)),
    "properties": ("properties", lambda value, make: {name: make(schema) for name, schema in value.items()}),
    "items": ("items", _child),
    "required": ("required", _row),
    "enum": ("enum", lambda value, _: tuple(map(read_numbers, value))),
    "minimum": ("minimum", _number),
    "maximum": ("maximum", _number),
    "exclusiveMinimum": ("exclusive_minimum", _kept),
    "exclusiveMaximum": ("exclusive_maximum", _kept),
    "multipleOf": ("multiple_of", _number),
    "minLength": ("min_length", _kept),
    "maxLength": ("max_length", _kept),
    "pattern": ("pattern", _kept),
    "minItems": ("min_items", _kept),
    "maxItems": ("max_items", _kept),
    "uniqueItems": ("unique_items", _kept),
    "minProperties": ("min_properties", _kept),
    "maxProperties": ("max_properties", _kept),
    "allOf": ("all_of", _branches),
    "anyOf": ("any_of", _branches),
    "oneOf": ("one_of", _branches),
    "not": ("not_", _child),
    "x-kubernetes-preserve-unknown-fields": ("preserve", _kept),
    "x-kubernetes-embedded-resource": ("embedded", _kept),
    "x-kubernetes-list-type": ("list_type", _kept),
    "x-kubernetes-list-map-keys": ("list_keys", _row),
    "x-kubernetes-map-type": ("map_type", _kept),
    "x-kubernetes-validations": ("rules", _row),
}
"""By keyword, the attribute of the node and how its value is read; additionalProperties has three."""


def build(raw: Mapping[str, Any] | None, *, version: Version | None = COMPATIBLE) -> SchemaNode:
    """Read an ``openAPIV3Schema``; formats that Kubernetes ``version`` does not know are ignored.

    Without a version the tree is the one the API server uses to check defaults: formats are kept as written, and
    int-or-string allows any type.

    Equal schemas become one node with one dictionary: a CRD that contains a pod has ten thousand schemas, of which a
    few hundred differ.
    """
    shared = intern_json(raw or {})
    made: dict[int, SchemaNode] = {}

    def make(schema: Mapping[str, Any]) -> SchemaNode:
        node = made.get(id(schema))
        if node is None:
            node = made[id(schema)] = _read(schema, version, make)
        return node

    return make(shared)


def _read(schema: Mapping[str, Any], version: Version | None, make: Build) -> SchemaNode:
    kind = schema.get("type") or ""
    types: tuple[str, ...] = (kind,) if kind else ()
    fields: dict[str, Any] = {"raw": schema, "type": kind}
    if schema.get("x-kubernetes-int-or-string"):
        fields["int_or_string"] = True
        types = ("integer", "string") if version else types
    fields["types"] = types
    form = schema.get("format")
    if form:
        fields["format"] = form if version is None else recognised(form, types, version)
    for key, value in schema.items():
        if value is None:
            continue
        if key in _READERS:
            name, read = _READERS[key]
            fields[name] = read(value, make)
        elif key == "additionalProperties":
            fields["additional_known"] = True
            is_schema = isinstance(value, Mapping)
            fields["additional" if is_schema else "additional_allowed"] = make(value) if is_schema else value
    return SchemaNode(fields)
