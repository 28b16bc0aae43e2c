"""The fact of a reference: the other objects that an object names, by data of a pack.

Everything is bounded: of a list of names the first :data:`_LOOKED_AT` are looked at, and of the objects that are
looked for by a field or by labels as many are given. What is beyond is not missing. Expressions over the other objects
share one budget. Where others cannot be seen, or the budget is spent, the value has :data:`UNSEEN`, the reason, and
what reads it is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, Final, NamedTuple, Protocol

from webhook.cluster.view import TOO_MANY, ClusterView, Kind, Sought, Unwatched, is_unreadable
from webhook.facts.fact import BOOLEAN, INTEGER, INTEGERS, NUMBER, STRING, STRINGS, Fact, Keys, Schema, fields, listed
from webhook.facts.nodes import Memo, mapping, namespace_of, text, whole

_TYPES: Final[Mapping[str, tuple[Schema, Any]]] = {
    "boolean": (BOOLEAN, False),
    "integer": (INTEGER, 0),
    "integers": (INTEGERS, ()),
    "number": (NUMBER, 0.0),
    "string": (STRING, ""),
    "strings": (STRINGS, ()),
}
"""The schema of each type, and what stands for a value that is absent."""

_NAMED: Final = 5
"""Names of the objects that are looked for by a field or by labels: a message shows a few."""
_LOOKED_AT: Final = 64
"""Objects of one reference: a gate reads each by a request."""
_VALUES: Final = 1_000
"""Values that a path with ``*`` gives of one object."""
UNSEEN: Final = "unseen"
"""The key of the reason why a value cannot be relied on; no rule can read it."""


class TooCostlyError(Exception):
    """An expression over another object costs more than is left."""


class Projected(Protocol):
    """An expression over another object."""

    def budget(self) -> Any:
        """What all expressions over the objects of one reference may cost."""
        ...

    def __call__(self, other: dict[str, Any], budget: Any) -> Any:
        """The value, or None; raises :class:`TooCostlyError`."""
        ...


class Member(NamedTuple):
    """A value of the other object: where it is, its type, and what stands for it where it is absent.

    With a ``*`` in the path it is a list of what is there. With ``projection`` it is the value of an expression.
    """

    path: Keys
    type: str
    default: Any = None
    projection: Projected | None = None


class Looked(NamedTuple):
    """How the others are looked for, and where.

    By their names, which are at ``named_by`` or are the constant ``named``; by what is at ``named_by`` in their field
    ``by``; or by labels, which are at ``labels_at`` or are the constant ``labels``. In the ``namespace``, or in that at
    ``namespace_at``, or in that of the object; ``namespaced`` is false for a kind of the cluster, and for all
    namespaces.
    """

    named_by: Keys = ()
    named: tuple[str, ...] = ()
    by: Keys = ()
    labels_at: Keys = ()
    labels: tuple[tuple[str, str], ...] = ()
    namespaced: bool = True
    namespace: str = ""
    namespace_at: Keys = ()

    @property
    def searches(self) -> bool:
        """Whether the others are looked for in a list of all."""
        return bool(self.by or self.labels_at or self.labels)

    @property
    def finds_several(self) -> bool:
        return self.searches or "*" in self.named_by or len(self.named) > 1

    @property
    def read(self) -> list[Keys]:
        """The paths that are read of the object itself."""
        return [keys for keys in (self.named_by, self.labels_at, self.namespace_at) if keys]

    @property
    def read_of_others(self) -> list[Keys]:
        """The paths by which the others are looked for."""
        labels = [("metadata", "labels")] if self.labels or self.labels_at else []
        return [*([self.by] if self.by else []), *labels, *([("metadata", "name")] if self.searches else [])]

    def within(self, obj: dict[str, Any]) -> str:
        """The namespace of the others; "" for a kind of the cluster."""
        if not self.namespaced:
            return ""
        return self.namespace or (text(obj, *self.namespace_at) if self.namespace_at else "") or namespace_of(obj)


def referenced(kind: Kind, looked: Looked, members: Mapping[str, Member]) -> Fact:
    """The fact of a reference: ``found``, ``name``, and ``members`` of the other object.

    An object that names no other refers to nothing: the name is "". What is absent, or of another type, has the
    member's default: without one "", 0, false or an empty list. Where there may be several, ``items`` are all, each
    with ``name``, ``found`` and its members; ``names`` are their names, ``missing`` the names of those that do not
    exist, and ``count`` is how many exist. ``found`` and the members are then those of the first.
    """
    types = {name: _TYPES[member.type][0] for name, member in members.items()}
    single = {"found": BOOLEAN, "name": STRING, **types}
    several = {
        "names": STRINGS,
        "missing": STRINGS,
        "count": INTEGER,
        "items": listed(fields(**single)),
    }
    compute = partial(_values, Sought(*kind), looked, members)
    return Fact(compute, fields(**single, **(several if looked.finds_several else {})), refers=True)


def _values(
    kind: Kind, looked: Looked, members: Mapping[str, Member], obj: dict[str, Any], view: ClusterView
) -> dict[str, Any]:
    others = _Others()
    pairs = [*islice(_others(kind, looked, obj, view, others), _LOOKED_AT)]
    items = [{"found": other is not None, "name": name, **others.values(other, members)} for name, other in pairs]
    first = items[0] if items else {"found": False, **others.values(None, members)}
    if others.unseen:
        first[UNSEEN] = f"{kind.kind} {others.unseen}"
    if not looked.finds_several:
        return {"name": "", **first}
    name = text(obj, *looked.named_by) if looked.by and "*" not in looked.named_by else first.get("name", "")
    names = [item["name"] for item in items]
    return {
        **first,
        "name": name,
        "names": names[:_NAMED] if looked.searches else names,
        "missing": [item["name"] for item in items if not item["found"]],
        "count": sum(item["found"] for item in items),
        "items": items,
    }


class _Others:
    """What is read of the other objects of one reference: the cost that is left, and why not all can be seen."""

    def __init__(self) -> None:
        self._budget: Any = None
        self.unseen = ""

    def values(self, other: dict[str, Any] | None, members: Mapping[str, Member]) -> dict[str, Any]:
        """The members of one of them, or what stands for them."""
        return {name: self.value(other, member) for name, member in members.items()}

    def value(self, other: dict[str, Any] | None, member: Member) -> Any:
        """A member of one of them, or what stands for it."""
        value = None
        if member.projection is None:
            value = _at_path(other, member)
        elif other is not None and not self.unseen:
            self._budget = self._budget or member.projection.budget()
            try:
                value = _read(member.projection(other, self._budget), member.type)
            except TooCostlyError:
                self.unseen = "objects are too large for an expression of the reference (CEL cost limit)"
        if value is None:
            value = _TYPES[member.type][1] if member.default is None else member.default
        return list(value) if isinstance(value, tuple) else value


def _others(
    kind: Kind, looked: Looked, obj: dict[str, Any], view: ClusterView, others: _Others
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The other objects by their names; None for one that does not exist."""
    if looked.searches:
        for other in _found(kind, looked, obj, view, others):
            yield text(other, "metadata", "name"), other
        return
    for name in dict.fromkeys(looked.named or filter(None, _texts(obj, looked.named_by))):
        named = view.get(kind, looked.within(obj), name)
        if is_unreadable(named):
            others.unseen = "objects may not be read: grant the right to get them"
        yield name, named


def _found(
    kind: Kind, looked: Looked, obj: dict[str, Any], view: ClusterView, others: _Others
) -> Iterator[dict[str, Any]]:
    """The other objects with a value or with labels; none that cannot be seen."""
    labels = looked.labels or tuple(mapping(obj, *looked.labels_at).items())
    if not (any(_texts(obj, looked.named_by)) if looked.by else labels):
        return
    listed: Sequence[dict[str, Any]] = ()
    try:
        listed = view.list(kind, looked.within(obj) if looked.namespaced else None)
    except Unwatched:
        others.unseen = "objects may not be listed: grant the right to list them"
    if listed and is_unreadable(listed[0]):
        listed, others.unseen = (), "objects may not be listed: grant the right to list them"
    elif listed and listed[0] is TOO_MANY:
        listed, others.unseen = (), "objects are too many to list them for a review"
    own = _identity(obj)
    if looked.by:
        values = dict.fromkeys(filter(None, _texts(obj, looked.named_by)))
        index = _BY_FIELD(listed, looked.by)
        alike = [*{id(other): other for value in values for other in index.get(value, ())}.values()]
    else:
        alike = [*_with_labels(listed, labels)]
    yield from (other for other in alike if _identity(other) != own)


def _with_labels(listed: Sequence[dict[str, Any]], labels: Sequence[tuple[Any, Any]]) -> Sequence[dict[str, Any]]:
    """The objects that have all these labels; without labels none, as nothing is selected by them."""
    if not labels or not all(isinstance(value, str) for _, value in labels):
        return ()
    first, *others = labels
    candidates = _BY_LABEL(listed).get(first, ())
    return [
        candidate
        for candidate in candidates
        if all(text(candidate, "metadata", "labels", key) == value for key, value in others)
    ]


def _by_field(listed: Sequence[dict[str, Any]], by: Keys) -> dict[str, list[dict[str, Any]]]:
    objects: dict[str, list[dict[str, Any]]] = {}
    for one in listed:
        for value in dict.fromkeys(_texts(one, by)):
            objects.setdefault(value, []).append(one)
    return objects


def _by_label(listed: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    objects: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in listed:
        for key, value in mapping(one, "metadata", "labels").items():
            if isinstance(value, str):
                objects.setdefault((key, value), []).append(one)
    return objects


_BY_FIELD: Final = Memo(_by_field, limit=16)
_BY_LABEL: Final = Memo(_by_label, limit=16)
"""The objects of a list by the value of a field, and by each label. A view gives the same list until an object of it
changes."""


def _identity(obj: dict[str, Any]) -> tuple[str, str, str, str]:
    """Group, kind, namespace and name."""
    group = text(obj, "apiVersion").rpartition("/")[0]
    return group, text(obj, "kind"), namespace_of(obj), text(obj, "metadata", "name")


def _texts(obj: Any, keys: Keys) -> list[str]:
    return [value for value in _at(obj, keys) if isinstance(value, str)]


def _at(node: Any, keys: Keys) -> Iterator[Any]:
    """The values at a path, where ``*`` is every item of a list or every value of a map; a thousand at most."""
    nodes = [node]
    for key in keys:
        if key != "*":
            nodes = [node[key] for node in nodes if isinstance(node, dict) and key in node]
        else:
            lists = (
                each if isinstance(each, list) else each.values() for each in nodes if isinstance(each, list | dict)
            )
            nodes = [*islice(chain.from_iterable(lists), _VALUES)]
    yield from nodes


def _at_path(other: Any, member: Member) -> Any:
    """The value at the path of a member; None if it is absent or of another type."""
    values = [*_at(other, member.path)]
    if "*" in member.path:
        return _read(values, member.type) if values else None
    return _read(values[0], member.type) if values else None


def _read(value: Any, sort: str) -> Any:
    """A value of a type; None where it is of another one."""
    if sort == "string":
        return value if isinstance(value, str) else None
    if sort == "boolean":
        return value if isinstance(value, bool) else None
    if sort == "integer":
        return whole(value)
    if sort == "number":
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if not isinstance(value, list):
        return None
    return [item for item in value if (isinstance(item, str) if sort == "strings" else whole(item) is not None)]
