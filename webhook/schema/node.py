"""A structural schema as a tree of nodes: the raw OpenAPI dictionary, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn

from webhook.cel import COMPATIBLE
from webhook.golang.fmt import go_numbers
from webhook.schema.formats import recognised
from webhook.schema.intern import share

__all__ = ["MISSING", "Node", "Version", "build", "distinct"]

Version = tuple[int, int]

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "MISSING", "__slots__": ()})()
"""What stands where a key is absent, so that null keeps its own meaning."""


class Node:
    """One node of a structural schema, with the names of apiextensions' ``Structural``. Immutable.

    ``types`` is what the OpenAPI validator checks (two names for int-or-string, none where
    the schema says nothing), ``type`` what was written. ``format`` is "" for one that is not
    checked. ``default`` is :data:`MISSING` where there is none. ``additional`` is the schema of
    additionalProperties, None where it is a boolean; ``additional_known`` says that the keyword
    is there.

    A node holds what its schema says and the class holds the rest, since most say little. It
    knows nothing of where it stands: schemas that say the same are one node, wherever they are.
    """

    raw: Mapping[str, Any]
    type: str = ""
    types: tuple[str, ...] = ()
    format: str = ""
    nullable: bool = False
    default: Any = MISSING
    properties: Mapping[str, Node] = MappingProxyType({})
    additional: Node | None = None
    additional_known: bool = False
    additional_allowed: bool = True
    items: Node | None = None
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
    all_of: tuple[Node, ...] = ()
    any_of: tuple[Node, ...] = ()
    one_of: tuple[Node, ...] = ()
    not_: Node | None = None
    preserve: bool = False
    embedded: bool = False
    int_or_string: bool = False
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    map_type: str = ""
    rules: tuple[Mapping[str, Any], ...] = ()

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.__dict__.update(said)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a schema node is immutable: cannot set {name}")

    def replace(self, **changes: Any) -> Node:
        """A copy with other values."""
        return Node(self.__dict__ | changes)

    def child(self, key: str) -> Node | None:
        """The schema of one field: the property's, else that of additionalProperties, else None."""
        return self.properties.get(key, self.additional)

    def below(self) -> Iterator[Node]:
        """The schemas of what the value holds, without those of junctors."""
        yield from self.properties.values()
        if self.items is not None:
            yield self.items
        if self.additional is not None:
            yield self.additional


def distinct(root: Node, *, junctors: bool = False) -> Iterator[Node]:
    """Every node of a tree once, however many places it stands at; with ``junctors`` those under allOf, too."""
    pending, seen = [root], {id(root)}
    while pending:
        node = pending.pop()
        yield node
        for child in (*node.below(), *(node.all_of if junctors else ())):
            if id(child) not in seen:
                seen.add(id(child))
                pending.append(child)


_NUMBERS: Final = {"minimum": "minimum", "maximum": "maximum", "multipleOf": "multiple_of"}
_SCALARS: Final = {
    "nullable": "nullable",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "x-kubernetes-preserve-unknown-fields": "preserve",
    "x-kubernetes-embedded-resource": "embedded",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-map-type": "map_type",
}
_TUPLES: Final = {
    "required": "required",
    "x-kubernetes-list-map-keys": "list_keys",
    "x-kubernetes-validations": "rules",
}
_BRANCHES: Final = {"allOf": "all_of", "anyOf": "any_of", "oneOf": "one_of"}
_CHILDREN: Final = {"items": "items", "not": "not_"}

Build = Callable[[Mapping[str, Any]], Node]
Reader = Callable[[dict[str, Any], Any, Build], None]


def _store(name: str, convert: Callable[[Any], Any] | None = None) -> Reader:
    def read(said: dict[str, Any], value: Any, _: Build) -> None:
        said[name] = value if convert is None else convert(value)

    return read


def _child(name: str) -> Reader:
    def read(said: dict[str, Any], value: Any, make: Build) -> None:
        said[name] = make(value)

    return read


def _branches(name: str) -> Reader:
    def read(said: dict[str, Any], value: Any, make: Build) -> None:
        said[name] = tuple(map(make, value))

    return read


def _properties(said: dict[str, Any], value: Any, make: Build) -> None:
    said["properties"] = {name: make(schema) for name, schema in value.items()}


def _additional(said: dict[str, Any], value: Any, make: Build) -> None:
    said["additional_known"] = True
    if isinstance(value, Mapping):
        said["additional"] = make(value)
    else:
        said["additional_allowed"] = value


_READERS: Final[Mapping[str, Reader]] = {
    **{key: _store(name) for key, name in _SCALARS.items()},
    **{key: _store(name, float) for key, name in _NUMBERS.items()},
    **{key: _store(name, tuple) for key, name in _TUPLES.items()},
    "default": _store("default", go_numbers),
    "enum": _store("enum", lambda values: tuple(map(go_numbers, values))),
    **{key: _child(name) for key, name in _CHILDREN.items()},
    **{key: _branches(name) for key, name in _BRANCHES.items()},
    "properties": _properties,
    "additionalProperties": _additional,
}


def build(raw: Mapping[str, Any] | None, *, version: Version | None = COMPATIBLE) -> Node:
    """Read an ``openAPIV3Schema``; formats that Kubernetes ``version`` does not know are ignored.

    Without a version it is read as the API server reads it to check default values: formats
    stay as written, and int-or-string values may be of any type.

    Schemas that are equal become one node, and one dictionary that it holds: a definition with a
    pod in it has ten thousand of them, and some hundred that differ.
    """
    shared = share(raw or {})
    made: dict[int, Node] = {}

    def make(schema: Mapping[str, Any]) -> Node:
        node = made.get(id(schema))
        if node is None:
            node = made[id(schema)] = _read(schema, version, make)
        return node

    return make(shared)


def _read(schema: Mapping[str, Any], version: Version | None, make: Build) -> Node:
    kind = schema.get("type") or ""
    types: tuple[str, ...] = (kind,) if kind else ()
    said: dict[str, Any] = {"raw": schema, "type": kind}
    if schema.get("x-kubernetes-int-or-string"):
        said["int_or_string"] = True
        types = ("integer", "string") if version else types
    said["types"] = types
    form = schema.get("format")
    if form:
        said["format"] = form if version is None else recognised(form, types, version)
    for key, value in schema.items():
        reader = _READERS.get(key)
        if reader is not None and value is not None:
            reader(said, value, make)
    return Node(said)
