"""Values that remember the schema they came from.

The closures know statically which schema a raw list or dict is under. Where a value goes to a
place that does not know it (``dyn(…)``, an argument of a function, an element of a literal),
:func:`schema_aware_value` makes a list or dict of CEL values that keeps what the API server
knows: the order of a set does not matter, a list map is merged by key, and an object may have
unknown fields. Everything that works on lists and dicts works on these; only equality, ``+``
and ``in`` ask them first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Final

from webhook.cel.errors import CelError
from webhook.cel.types import Type, opaque
from webhook.cel.values.nodes import COMPOSITE, Node, escape, unescape
from webhook.cel.values.value import Duration, Opaque, Opt, Timestamp, equal
from webhook.golang.json import deep_equal

ABSENT: Final = object()


class Invalid(Opaque):
    """A member whose raw value does not fit its schema: an error when it is read, a value to functions of lists."""

    __slots__ = ("error",)
    cel_type: ClassVar[Type] = opaque("error")

    def __init__(self, error: CelError) -> None:
        self.error = error

    def __str__(self) -> str:
        return self.error.message

    def cel_equal(self, _other: Any) -> bool:
        raise self.error


def is_whole(value: Any) -> bool:
    """Whether no member at any depth is invalid."""
    for member in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        if member.__class__ is Invalid or (isinstance(member, (list, dict)) and not is_whole(member)):
            return False
    return True


def reveal(value: Any) -> Any:
    """The member; raises its error if it is :class:`Invalid`."""
    if value.__class__ is Invalid:
        raise value.error
    return value


def schema_aware_value(raw: Any, node: Node) -> Any:
    """Raw JSON (already entered, or null) as a CEL value, deeply."""
    if raw is None or node.kind == "scalar":
        return raw
    return _VALUES[node.kind](raw, node)


def _member(raw: Any, node: Node) -> Any:
    try:
        value = node.value(raw)
    except CelError as error:
        return Invalid(error.with_traceback(None))  # a traceback would keep the frames, for each of many members
    return schema_aware_value(value, node) if node.kind in COMPOSITE else value


def _elements(raw: Iterable[Any], node: Node) -> list[Any]:
    items = node.items
    return [_member(element, items) for element in raw]


def _same(a: Any, b: Any) -> bool:
    """Whether members are equal. An invalid one on the left is an error; on the right it is unequal to any scalar."""
    mine = reveal(a)
    if b.__class__ is Invalid and not isinstance(mine, (list, dict)):
        return False
    return equal(mine, reveal(b))


def contains(container: Any, value: Any) -> bool:
    """``value in container``; an element that cannot be compared is an error if no other matches."""
    if isinstance(container, dict):
        if value.__class__ is not str:
            raise CelError("no such overload")
        return reveal(_find(container, value)) is not ABSENT
    if not isinstance(container, list):
        raise CelError("no such overload")
    failure = None
    for element in container:
        try:
            if _same(element, value):
                return True
        except CelError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return False


class Listing(list[Any]):
    """A list whose order matters."""

    def cel_equal(self, other: Any) -> bool:
        if not isinstance(other, list):
            raise CelError("no such overload")
        return len(self) == len(other) and all(map(_same, self, other))


class SetList(list[Any]):
    """``x-kubernetes-list-type: set``: equal in any order, ``+`` is the union."""

    def cel_equal(self, other: Any) -> bool:
        if not isinstance(other, list):
            raise CelError("no such overload")
        if len(self) != len(other):
            return False
        mine = set(map(_scalar_key, self))
        seen = set()
        for element in other:
            key = _scalar_key(element)
            if key not in mine:
                return False
            seen.add(key)
        return len(seen) == len(mine)

    def __add__(self, other: list[Any]) -> SetList:
        """The union: the order of this list, then what is new."""
        mine = {_scalar_key(element): element for element in self}
        added = {_scalar_key(element): element for element in other}
        return SetList([*self, *(element for key, element in added.items() if key not in mine)])


class MapList(list[Any]):
    """``x-kubernetes-list-type: map``: elements are matched by their keys, in any order.

    ``keys`` are CEL identifiers. ``is_raw`` says that the list came from an object, where the
    API server looks for the keys in the raw elements, without undoing the escapes.
    """

    keys: tuple[str, ...]
    is_raw: bool

    def __init__(self, elements: Iterable[Any], keys: tuple[str, ...], *, is_raw: bool) -> None:
        super().__init__(elements)
        self.keys = keys
        self.is_raw = is_raw

    def cel_equal(self, other: Any) -> bool:
        if not isinstance(other, list):
            raise CelError("no such overload")
        if len(self) != len(other):
            return False
        mine = {self._key(element): element for element in self}
        seen = set()
        for element in other:
            key = self._key(element)
            if key not in mine or not _same(mine[key], element):
                return False
            seen.add(key)
        return len(seen) == len(mine)

    def __add__(self, other: list[Any]) -> MapList:
        """The merge: an element with the key of an existing one takes its place, the others follow."""
        merged = list(self)
        places = {_entry_key(element, self.keys): place for place, element in enumerate(merged)}
        for element in other:
            place = places.get(_entry_key(element, self.keys))
            if place is None:
                merged.append(element)
            else:
                merged[place] = element
        return MapList(merged, self.keys, is_raw=False)

    def _key(self, element: Any) -> Any:
        if not self.is_raw:
            return _entry_key(element, self.keys)
        if not isinstance(element, (Struct, Mapped)):
            return object()
        return tuple(_scalar_key(element.raw.get(key)) for key in self.keys)


def _entry_key(element: Any, keys: tuple[str, ...]) -> Any:
    if not isinstance(element, dict):
        return tuple(_scalar_key(None) for _ in keys)
    find = element.find if isinstance(element, Struct) else element.get
    found = (find(key) for key in keys)
    return tuple(_scalar_key(None if value.__class__ is Invalid else value) for value in found)


def _scalar_key(value: Any) -> Any:
    """A key with the equality of Go's interface values: no two types are equal."""
    if value.__class__ is Invalid:
        return object()  # an error is the same only as itself
    if isinstance(value, (list, dict)):
        raise CelError("listSet operations are only supported on lists of scalar values")
    if value.__class__ is Timestamp:
        return (Timestamp, value.ns, value.offset and object())  # each parsed zone is a pointer of its own
    if value.__class__ is Duration:
        return (Duration, value.ns)
    return (value.__class__, value)


class Mapped(dict[Any, Any]):
    """A map of ``additionalProperties``."""

    raw: dict[str, Any]

    def __init__(self, raw: dict[str, Any], node: Node) -> None:
        super().__init__((key, _member(value, node.items)) for key, value in raw.items())
        self.raw = raw

    def cel_equal(self, other: Any) -> bool:
        if not isinstance(other, dict):
            raise CelError("no such overload")
        return len(self) == _size(other) and all(
            key in other and _same(value, other[key]) for key, value in self.items()
        )


class Struct(dict[Any, Any]):
    """An object: its declared, present fields by CEL identifier, and the raw object for the rest."""

    raw: dict[str, Any]
    node: Node

    def __init__(self, raw: dict[str, Any], node: Node) -> None:
        super().__init__()
        self.raw = raw
        self.node = node
        for name, value in raw.items():
            child = node.field(name)
            identifier = escape(name)
            if child is not None and identifier is not None and value is not None:
                self[identifier] = _member(value, child)

    def find(self, identifier: str, default: Any = None) -> Any:
        """The value of a field; ``default`` for an absent or undeclared one."""
        name = unescape(identifier)
        if name is None or self.raw.get(name) is None:
            return default
        child = self.node.field(name)
        return default if child is None else _member(self.raw[name], child)

    def met(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the declared fields as cel-go does; a null field yields ``ABSENT``."""
        for name in self.raw:
            identifier = escape(name)
            if identifier is not None and self.node.field(name) is not None:
                yield identifier, self.get(identifier, ABSENT)

    def cel_equal(self, other: Any) -> bool:
        if not isinstance(other, dict):
            raise CelError("no such overload")
        return len(self.raw) == _size(other) and all(self._has_same(other, name) for name in self.raw)

    def _has_same(self, other: dict[Any, Any], name: str) -> bool:
        if self.node.field(name) is None:
            if not isinstance(other, (Struct, Mapped)):
                raise CelError("no such overload")
            return name not in other.raw or deep_equal(self.raw[name], other.raw[name])
        mine, theirs = self.find(name, ABSENT), _find(other, name)
        if mine is ABSENT or theirs is ABSENT:
            return mine is theirs
        return _same(mine, theirs)


class Made(dict[Any, Any]):
    """An object that an expression made: ``Object.spec{replicas: 1}``; its fields, and its type."""

    cel_type: Type

    def __init__(self, of: Type, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.cel_type = of


def _find(value: dict[Any, Any], name: str) -> Any:
    return value.find(name, ABSENT) if isinstance(value, Struct) else value.get(name, ABSENT)


def _size(value: dict[Any, Any]) -> int:
    return len(value.raw) if isinstance(value, Struct) else len(value)


def schema_aware_optional(value: Opt, node: Node) -> Opt:
    return Opt.of(schema_aware_value(value.value, node)) if value.present else value


_VALUES: dict[str, Callable[[Any, Node], Any]] = {
    "object": Struct,
    "map": Mapped,
    "list": lambda raw, node: Listing(_elements(raw, node)),
    "set": lambda raw, node: SetList(_elements(raw, node)),
    "maplist": lambda raw, node: MapList(_elements(raw, node), node.keys, is_raw=True),
}
