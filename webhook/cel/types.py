"""The types of the Common Expression Language.

A :class:`Type` is an immutable tree: ``list(map(string, int))`` is
``list_of(map_of(STRING, INT))``. Object types carry their fields: in Kubernetes, an object has
the fields that its schema declares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Type:
    """One CEL type.

    ``kind`` is one of: dyn, any, null, bool, int, uint, double, string, bytes, timestamp,
    duration, list, map, object, optional, type, opaque, param (a type parameter of an
    overload), error. ``params`` are the type arguments (list: element; map: key, value;
    optional and type: the inner type). ``name`` is the name of an object, opaque type or
    type parameter. ``fields`` are the field types of an object, or a function that returns
    them, for lazily declared schemas; equality ignores them: object types with equal names are
    equal. ``nullable`` marks the type of a protobuf wrapper such as ``google.protobuf.Int64Value``: it is equal to the
    type that it wraps, and null is assignable to it.
    """

    kind: str
    params: tuple[Type, ...] = ()
    name: str = ""
    fields: Mapping[str, Type] | Callable[[], Mapping[str, Type]] | None = field(
        default=None, compare=False, hash=False, repr=False
    )
    nullable: bool = field(default=False, compare=False, hash=False, repr=False)

    @property
    def is_open(self) -> bool:
        """Whether a value may have another type at run time than an overload takes: null fits many."""
        return self.kind in ("dyn", "any", "param", "null") or any(inner.is_open for inner in self.params)

    def __str__(self) -> str:
        match self.kind:
            case "object" | "opaque" | "param":
                return self.name + (f"({', '.join(map(str, self.params))})" if self.params else "")
            case "null":
                return "null"
            case "timestamp" | "duration":
                return f"google.protobuf.{self.kind.capitalize()}"
            case "optional":
                return f"optional_type({self.params[0]})"
            case _ if self.params:
                return f"{self.kind}({', '.join(map(str, self.params))})"
        return self.kind


ANY = Type("any")
BOOL = Type("bool")
BYTES = Type("bytes")
DOUBLE = Type("double")
DURATION = Type("duration")
DYN = Type("dyn")
INT = Type("int")
NULL = Type("null")
STRING = Type("string")
TIMESTAMP = Type("timestamp")
UINT = Type("uint")


def list_of(element: Type) -> Type:
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(inner: Type) -> Type:
    return Type("optional", (inner,))


def type_of(inner: Type) -> Type:
    """The type of a type denotation: ``int`` in CEL source has type ``type(int)``."""
    return Type("type", (inner,))


def opaque(name: str) -> Type:
    """A library type without fields: ``kubernetes.Quantity``, ``net.IP``."""
    return Type("opaque", name=name)


def wrapper_of(inner: Type) -> Type:
    """The type of a wrapper message of protobuf."""
    return replace(inner, nullable=True)


def param(name: str) -> Type:
    """A type parameter of an overload: the ``A`` of ``list(A).contains(A)``."""
    return Type("param", name=name)


def object_of(name: str, fields: Mapping[str, Type] | Callable[[], Mapping[str, Type]]) -> Type:
    return Type("object", name=name, fields=fields)
