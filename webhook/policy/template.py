"""The template of a child: an object with expressions in its leaves, as data.

A node makes its value in a :class:`Frame`, and tells for a place in this value where it comes from. What is copied from
the object keeps its place exactly; what an expression computes comes from the fields that the expression reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from webhook.cel import CelError
from webhook.cel.values import Duration, Opt, Timestamp, format_duration, format_timestamp
from webhook.ground.fieldpath import field_keys
from webhook.policy.path import MISSING
from webhook.policy.reads import FACTS, OBJECT, SELF, Expression, is_above

T = TypeVar("T")

Place: TypeAlias = tuple[str | int, ...]

MOST: Final = 10_000
"""Items of the lists of one child that are made of items of the object or of facts."""


class TooManyError(ValueError):
    """A list of a child has more than :data:`MOST` items."""


class Scope(Protocol):
    """What the expressions of a policy can read: see :class:`webhook.policy.evaluate.PolicyScope`."""

    @property
    def object(self) -> Any: ...

    def fact(self, name: str, /) -> Any: ...

    def at(self, node: Any, /) -> Mapping[str, Any]: ...

    def value(self, expression: Expression, bindings: Mapping[str, Any] | None, /) -> Any: ...


class Frame(NamedTuple):
    """Where a template is filled in: the scope of its policy, and the ``item`` of a loop, which is at ``at``.

    ``alone``: without what the object itself writes, where a fact says what that would be.
    """

    scope: Scope
    item: Any = MISSING
    at: Place = ()
    alone: bool = False

    def root(self, name: str) -> Any:
        """The value that the first key of a path stands for."""
        if name == OBJECT:
            return self.scope.object
        return self.item if name == SELF else None

    def concrete(self, path: Place) -> Place:
        """A path that begins with ``self`` as one of the object or of facts."""
        return (*self.at, *path[1:]) if path[:1] == (SELF,) else path


class Built:
    """What nodes make in the frames of one child, made once however many places of the child are asked about."""

    def __init__(self) -> None:
        self._values: dict[tuple[int, Place], Any] = {}

    def once(self, node: Node | Each, frame: Frame, make: Callable[[Frame], T]) -> T:
        """What ``make`` gives for a node in a frame."""
        key = id(node), frame.at
        if key not in self._values:
            self._values[key] = make(frame)
        made: T = self._values[key]
        return made


class Merged(NamedTuple):
    """What a fact says of a value in it that is a node of the object, merged with others: its member ``merged``.

    ``at`` is the node, ``others`` names what it is merged with, and ``alone`` is the value without it; none if the
    value is not whole. ``beside``: items of lists in the value, such as ``containers[0]``, that are not in the node's
    list but at a key of the node.
    """

    at: Place
    alone: Any = MISSING
    beside: Mapping[str, str] = MappingProxyType({})
    others: str = ""

    @classmethod
    def of(cls, holder: Any, member: str) -> Merged | None:
        """Of a member of a fact, or of an item of one."""
        told = holder.get("merged") if isinstance(holder, Mapping) else None
        node = told.get(member) if isinstance(told, Mapping) else None
        if node is None:
            return None
        return cls(
            tuple(field_keys(node["at"])), node.get("alone", MISSING), node.get("beside", {}), node.get("with", "")
        )


class Source(NamedTuple):
    """Where a place in a child comes from: paths that begin with ``object`` or ``facts``.

    ``exact``: the one path is just this place. ``over`` is a node that is merged with others, and ``below`` are the
    keys in the merged value.
    """

    paths: tuple[Place, ...] = ()
    exact: bool = False
    over: Merged | None = None
    below: Place = ()


CONSTANT: Final = Source()
"""Of what no field decides."""


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A value without an expression in it."""

    value: Any

    def build(self, _: Frame) -> Any:
        return self.value

    def source(self, _frame: Frame, _keys: Place, _built: Built) -> Source:
        return CONSTANT

    def reads(self) -> Iterator[Place]:
        yield from ()


@dataclass(frozen=True, slots=True, eq=False)
class Copied:
    """The value at a path of the object, the facts or the item of a loop, as it is; ``other`` if there is none."""

    path: tuple[str, ...]
    other: Any = MISSING

    def build(self, frame: Frame) -> Any:
        value, keys = self._root(frame)
        if frame.alone and keys and (merged := Merged.of(value, keys[0])) is not None:
            value, keys = merged.alone, keys[1:]
        for key in keys:
            value = value.get(key, MISSING) if isinstance(value, Mapping) else MISSING
        return self.other if value is MISSING or value is None else value

    def source(self, frame: Frame, keys: Place, _: Built) -> Source:
        paths = ((*frame.concrete(self.path), *keys),)
        below, merged = self._root(frame)[1][1:], self.merged(frame)
        return Source(paths, exact=True, over=merged, below=() if merged is None else (*below, *keys))

    def merged(self, frame: Frame) -> Merged | None:
        """The node of the object that is merged in the value, if a fact says so."""
        value, keys = self._root(frame)
        return Merged.of(value, keys[0]) if keys and self.path[0] != OBJECT else None

    def _root(self, frame: Frame) -> tuple[Any, tuple[str, ...]]:
        """The value in which the path begins, and the rest of the path."""
        name, *keys = self.path
        return (frame.scope.fact(keys[0]), tuple(keys[1:])) if name == FACTS else (frame.root(name), tuple(keys))

    def reads(self) -> Iterator[Place]:
        yield self.path


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """The value of an expression, and the paths that it reads."""

    expression: Expression
    paths: tuple[tuple[str, ...], ...]

    def build(self, frame: Frame) -> Any:
        """The value as JSON.

        Raises:
            CelError: the expression fails.
        """
        bindings = None if frame.item is MISSING else frame.scope.at(frame.item)
        return _plain(frame.scope.value(self.expression, bindings))

    def source(self, frame: Frame, _: Place, _built: Built) -> Source:
        return Source(tuple(map(frame.concrete, self.paths)))

    def reads(self) -> Iterator[Place]:
        yield from self.paths


Leaf: TypeAlias = Constant | Copied | Computed


class Entry(NamedTuple):
    """An entry of a map. Without a ``name`` the node makes many, which are merged ``over`` a node of the object."""

    name: str
    node: Node
    over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """A map, whose later entries win. With ``when``, there is none where that is not true."""

    entries: tuple[Entry, ...]
    when: Leaf | None = None

    def build(self, frame: Frame) -> Any:
        if self.when is not None and self.when.build(frame) is not True:
            return MISSING
        values: dict[str, Any] = {}
        for name, node, _ in self.entries:
            value = node.build(frame)
            if value is MISSING:
                continue
            if name:
                values[name] = value
            elif isinstance(value, Mapping):
                values.update(value)
        return values

    def source(self, frame: Frame, keys: Place, built: Built) -> Source:
        for name, node, over in reversed(self.entries) if keys else ():
            if name == keys[0]:
                return node.source(frame, keys[1:], built)
            if not name:
                value = built.once(node, frame, node.build)
                if isinstance(value, Mapping) and keys[0] in value:
                    source = node.source(frame, keys, built)
                    return source._replace(over=Merged(over), below=keys) if over else source
        over = next((entry.over for entry in reversed(self.entries) if entry.over), ()) if keys else ()
        if over:  # where the object could have what the child lacks
            return Source(over=Merged(over), below=keys)
        return Source(tuple(dict.fromkeys(map(frame.concrete, self.reads()))))

    def reads(self) -> Iterator[Place]:
        for entry in self.entries:
            yield from entry.node.reads()
        if self.when is not None:
            yield from self.when.reads()


@dataclass(frozen=True, slots=True, eq=False)
class Each:
    """A node for each item of a list, in which ``self`` is the item; with ``when``, for those where that is true."""

    items: Copied
    node: Node
    when: Leaf | None = None

    def frames(self, frame: Frame) -> Iterator[Frame]:
        """The frames of the items.

        Raises:
            TooManyError: there are more than :data:`MOST`.
        """
        items = self.items.build(frame)
        if not isinstance(items, Sequence) or isinstance(items, str):
            return
        if len(items) > MOST:
            raise TooManyError(f"{'.'.join(self.items.path)} has {len(items):,} items; a child has at most {MOST:,}")
        at = frame.concrete(self.items.path)
        for index, item in enumerate(items):
            each = Frame(frame.scope, item, (*at, index), frame.alone)
            if self.when is None or self.when.build(each) is True:
                yield each

    def made(self, frame: Frame) -> Iterator[Any]:
        yield from (value for each in self.frames(frame) if (value := self.node.build(each)) is not MISSING)

    def made_frames(self, frame: Frame) -> list[Frame]:
        return [each for each in self.frames(frame) if _is_made(self.node, each)]

    def reads(self) -> Iterator[Place]:
        yield self.items.path
        conditions = () if self.when is None else self.when.reads()
        yield from (path for path in (*self.node.reads(), *conditions) if path[0] != SELF)


class All(NamedTuple):
    """The items of a list that a leaf gives."""

    items: Leaf

    def reads(self) -> Iterator[Place]:
        yield from self.items.reads()


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A list, of nodes and of what makes many."""

    elements: tuple[Node | Each | All, ...]

    def build(self, frame: Frame) -> Any:
        return [value for element in self.elements for value in _made(element, frame)]

    def source(self, frame: Frame, keys: Place, built: Built) -> Source:
        first = keys[0] if keys else -1
        left, below = (first, keys[1:]) if isinstance(first, int) else (-1, keys)
        for element in self.elements if left >= 0 else ():  # each item of a long list may have a fault: build none
            if isinstance(element, All):
                values = built.once(element.items, frame, element.items.build)
                count = len(values) if isinstance(values, list | tuple) else 0
                if left < count:
                    return element.items.source(frame, (left, *below), built)
            elif isinstance(element, Each):
                frames = built.once(element, frame, element.made_frames)
                count = len(frames)
                if left < count:
                    return element.node.source(frames[left], below, built)
            elif (count := int(_is_made(element, frame))) and not left:
                return element.source(frame, below, built)
            left -= count
        return Source(tuple(dict.fromkeys(map(frame.concrete, self.reads()))))

    def reads(self) -> Iterator[Place]:
        for element in self.elements:
            yield from element.reads()


Node: TypeAlias = Leaf | Fields | Items


def _made(element: Node | Each | All, frame: Frame) -> Iterator[Any]:
    """The items that an element of a list makes."""
    if isinstance(element, Each):
        yield from element.made(frame)
    elif isinstance(element, All):
        values = element.items.build(frame)
        yield from values if isinstance(values, list | tuple) else ()
    elif (value := element.build(frame)) is not MISSING:
        yield value


def _is_made(node: Node, frame: Frame) -> bool:
    """Whether a node has a value, which is not built for it if it is a map or a list."""
    if isinstance(node, Fields):
        return node.when is None or node.when.build(frame) is True
    return isinstance(node, Items) or node.build(frame) is not MISSING


def _plain(value: Any) -> Any:
    """A value of CEL as JSON; MISSING for null and for an optional without a value."""
    match value:
        case None:
            return MISSING
        case Opt():
            return _plain(value.value) if value.present else MISSING
        case bool() | str():
            return value
        case int():
            return int(value)
        case float():
            return int(value) if value.is_integer() else value
        case list():
            return [item for item in map(_plain, value) if item is not MISSING]
        case dict():
            return {key: item for key, each in value.items() if (item := _plain(each)) is not MISSING}
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_duration(value)
    raise CelError(f"a value of the type {type(value).__name__} has no JSON")


@dataclass(frozen=True, slots=True, eq=False)
class ChildRule:
    """How one child, or one for each item of a list, is made; see :class:`webhook.policy.document.Child`.

    ``facts`` are those that it reads, directly or through variables. ``copies`` are the paths of the object whose
    values are in it as they are, ``leaves`` what is copied from facts, and ``expressions`` all that are evaluated.
    """

    name: str
    api_version: str
    kind: str
    when: Leaf | None
    each: Copied | None
    object: Fields
    becomes: str
    facts: frozenset[str]
    copies: frozenset[tuple[str, ...]]
    leaves: tuple[Copied, ...] = ()
    expressions: tuple[Expression, ...] = ()
    assumed: bool = False

    def needs(self, absent: Collection[Place]) -> bool:
        """Whether it reads a field of the object that the definition does not have."""
        leaves = [each for each in (self.when, self.each) if each is not None]
        reads = (path for node in (self.object, *leaves) for path in node.reads())
        of_object = {path[1:] for path in reads if path[0] == OBJECT}
        return any(is_above(field, path) for field in absent for path in of_object)

    def frames(self, scope: Scope) -> Iterator[Frame]:
        """Where it is filled in, once for each child.

        Raises:
            CelError: the condition fails.
            TooManyError: it is made for too many items.
        """
        frame = Frame(scope)
        if self.each is not None:
            yield from Each(self.each, self.object, self.when).frames(frame)
        elif self.when is None or self.when.build(frame) is True:
            yield frame
