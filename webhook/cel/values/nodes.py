"""How a value under an OpenAPI schema looks to CEL.

A :class:`Node` is the CEL view of one schema. The backends keep the raw JSON of an object
and ask the node at the place where a member is read: what the member is called, whether
null is "absent", and what its value is (a ``date-time`` string is a timestamp, a ``number``
written ``1`` is a double). The rules are those of Kubernetes'
``apiserver/pkg/cel/common/valuesunstructured.go``; so are the error texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.syntax.ast import RESERVED
from webhook.cel.values import scalars

Enter = Callable[[Any], Any]

COMPOSITE: Final = frozenset({"object", "map", "list", "set", "maplist"})

_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_UNESCAPES: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_TO_ESCAPE = re.compile(r"__|[-./]|[^a-zA-Z0-9_]")
_TO_UNESCAPE = re.compile(r"__[^_]+__")


def escape(name: str) -> str | None:
    """The CEL identifier of a property name; None for a name that has none (``1up``, ``@x``)."""
    if name in RESERVED:
        return f"__{name}__"
    if not name or "0" <= name[0] <= "9":
        return None
    if name.isidentifier() and name.isascii() and "__" not in name:
        return name
    if any(found not in _ESCAPES for found in _TO_ESCAPE.findall(name)):
        return None
    return _TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], name)


def unescape(identifier: str) -> str | None:
    """The property name that a CEL identifier stands for; None for an unknown escape sequence."""
    if "__" not in identifier:
        return identifier
    valid = True

    def replace(found: re.Match[str]) -> str:
        nonlocal valid
        word = found[0][2:-2]
        if word in _UNESCAPES:
            return _UNESCAPES[word]
        valid = valid and word in RESERVED and found[0] == identifier
        return word

    name = _TO_UNESCAPE.sub(replace, identifier)
    return name if valid else None


class Node:
    """The CEL view of one schema; immutable, its children made when first asked for.

    ``kind`` is object (declared properties, maybe none), map (additionalProperties), list,
    set or maplist (by x-kubernetes-list-type), or ``scalar``. ``enter`` turns non-null raw
    JSON into what the backends work on: a CEL value for a scalar, the raw list or dict, its
    class checked, for the others. It raises CelError ("invalid data, …").

    With ``whole_floats`` a float like ``5.0`` is an integer. The API server accepts it in an
    integer field and sends it to webhooks as ``5``; to rules in CRDs it stays a float.
    """

    __slots__ = ("_fields", "_items", "enter", "keys", "kind", "nullable", "schema", "whole_floats")

    kind: str
    nullable: bool
    keys: tuple[str, ...]
    enter: Enter

    def __init__(self, schema: Mapping[str, Any], *, whole_floats: bool = False) -> None:
        self.schema = schema
        self.whole_floats = whole_floats
        self.nullable = bool(schema.get("nullable"))
        self._fields: dict[str, Node | None] = {}
        self._items: Node | None = None
        self.kind, enter = _shape(schema)
        self.enter = _WHOLE_FLOATS.get(enter, enter) if whole_floats else enter
        self.keys = tuple(escape(key) or key for key in schema.get("x-kubernetes-list-map-keys") or ())

    def field(self, name: str) -> Node | None:
        """The node of a property by its real name, or None for an undeclared one."""
        if name not in self._fields:
            schema = (self.schema.get("properties") or {}).get(name)
            self._fields[name] = None if schema is None else node_of(schema, whole_floats=self.whole_floats)
        return self._fields[name]

    @property
    def items(self) -> Node:
        """The node of a list's items or of a map's values."""
        if self._items is None:
            schema = self.schema.get("additionalProperties") if self.kind == "map" else self.schema.get("items")
            given = schema if isinstance(schema, Mapping) else {}
            self._items = node_of(given, whole_floats=self.whole_floats)
        return self._items

    def value(self, raw: Any) -> Any:
        """As ``enter``, for a raw value that may be null.

        Raises:
            CelError: for null under a schema that is not nullable, or a value of the wrong JSON type.
        """
        if raw is None:
            if self.nullable:
                return None
            raise CelError("invalid data, got null for schema with nullable=false")
        return self.enter(raw)


def node_of(schema: Mapping[str, Any], *, is_root: bool = False, whole_floats: bool = False) -> Node:
    """The node of a schema; a resource's root and embedded resources always have type and object metadata."""
    if schema.get("x-kubernetes-embedded-resource") or is_root:
        schema = with_metadata(schema)
    return Node(schema, whole_floats=whole_floats)


def with_metadata(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with what every resource has; no other metadata can be seen, unless all this is declared."""
    text = {"type": "string"}
    known = {
        "apiVersion": text,
        "kind": text,
        "metadata": {"type": "object", "properties": {"name": text, "generateName": text}},
    }
    properties = dict(schema.get("properties") or {})
    return schema if has_metadata(properties) else {**schema, "properties": properties | known}


def has_metadata(properties: Mapping[str, Any]) -> bool:
    """Whether a schema's properties declare what every object has."""
    metadata = properties.get("metadata") or {}
    inner = metadata.get("properties") or {}
    texts = (properties.get("kind"), properties.get("apiVersion"), inner.get("name"), inner.get("generateName"))
    return metadata.get("type") == "object" and all((text or {}).get("type") == "string" for text in texts)


def _shape(schema: Mapping[str, Any]) -> tuple[str, Enter]:
    if schema.get("x-kubernetes-int-or-string"):
        return "scalar", scalars.int_or_string
    match schema.get("type"):
        case "object":
            additional = schema.get("additionalProperties")
            is_map = schema.get("properties") is None and isinstance(additional, Mapping)
            return ("map" if is_map else "object"), scalars.mapping
        case "array":
            return _LIST_KINDS.get(schema.get("x-kubernetes-list-type") or "", "list"), scalars.sequence
        case "string":
            return "scalar", scalars.STRINGS.get(schema.get("format") or "", scalars.text)
        case "number":
            return "scalar", scalars.number
        case "integer":
            return "scalar", scalars.integer
        case "boolean":
            return "scalar", scalars.boolean
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return "scalar", scalars.Unknown
    return "scalar", scalars.untyped


_WHOLE_FLOATS: Final[Mapping[Enter, Enter]] = {
    scalars.integer: scalars.whole,
    scalars.int_or_string: scalars.whole_or_string,
}
_LIST_KINDS: Final = {"set": "set", "map": "maplist"}
