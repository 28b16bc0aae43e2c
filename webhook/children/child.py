"""The children of an object, and where in the object a place of a child comes from."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from webhook.cel import BudgetExceeded, CelError
from webhook.cluster import Kind
from webhook.facts import inputs_of
from webhook.ground.fieldpath import field_keys, field_path
from webhook.policy import (
    FACTS,
    MISSING,
    OBJECT,
    SELF,
    Built,
    ChildRule,
    Computed,
    Frame,
    Leaf,
    Merged,
    PolicyScope,
    Source,
    TooManyError,
)

Place: TypeAlias = tuple[str | int, ...]
"""Keys of a field, in a child or in the object."""

_NAMES: Final = ("name", "mountPath", "containerPort", "key", "devicePath", "topologyKey", "ip")
"""What tells the items of a list apart, where the operator merges lists."""
_KEYS: Final = {
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
"""By list, the key that is tried first. OME's merge has its own table of such keys (``facts/ome/merging``)."""
_CHILDREN: Final = 200
"""Children of one rule of a description that are made."""
_METADATA: Final = ("metadata", "name")
_NAMESPACE: Final = ("metadata", "namespace")
"""Facts read the namespace to find other objects, and it decides nothing else."""


class Origin(NamedTuple):
    """The ``field`` of the object from which a place in a child comes, "" if none does, and ``others`` that decide it.

    ``exact``: the value is there as it is. ``rest`` is the path below the field, where the object has no part, and
    ``merged`` names what the object is merged with. ``reads`` are all fields that decide it, also those that the object
    does not have.
    """

    field: str = ""
    others: tuple[str, ...] = ()
    exact: bool = False
    rest: str = ""
    merged: str = ""
    reads: tuple[str, ...] = ()


NOWHERE: Final = Origin()


class Child:
    """One object that the operator makes, as it sends it: without the API server's defaults."""

    def __init__(self, made: dict[str, Any], rule: ChildRule, frame: Frame, owner: Kind) -> None:
        self.object, self.rule, self.frame, self.owner = made, rule, frame, owner
        self._places: dict[tuple[int, str], dict[Any, int]] = {}
        self._built = Built()

    @property
    def name(self) -> str:
        """What it is called in texts: ``Deployment "a"``."""
        metadata = self.object.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return f'{self.rule.kind} "{name}"' if isinstance(name, str) and name else self.rule.kind

    def of(self, made: dict[str, Any]) -> Child:
        """The same child, whose object has more."""
        return Child(made, self.rule, self.frame, self.owner)

    def source(self, place: Place) -> Source:
        """What its description says of a place."""
        return self.rule.object.source(self.frame, place, self._built)

    def origin(self, keys: Sequence[str | int], value: Any = MISSING) -> Origin:
        """The origin of a place. Of several fields, it is the one that has the ``value``, or else that has the name of
        the place, or else the first one that the object has. Where the child has no value, it may be one that the
        object lacks, too.

        Kubernetes tells a fault of an entry at its map: the origin is that of the entry, or the map that it is from.
        """
        node = _at(self.object, tuple(keys))
        if isinstance(node, Mapping) and isinstance(value, str):
            key = value if value in node else next((entry for entry in node if node[entry] == value), None)
            if key is not None:
                origin, around = self._origin((*keys, key), value), self._origin(tuple(keys), value)
                origin = origin._replace(reads=(*origin.reads, *around.reads))
                path = field_keys(origin.field)
                return (
                    origin._replace(field=field_path(path[:-1])) if path[-1:] == [key] else origin._replace(exact=False)
                )
        return self._origin(tuple(keys), value)

    def _origin(self, place: Place, value: Any) -> Origin:
        owner = self.frame.scope.object
        source = self.source(place)
        if source.over is not None:
            return self._merged(source.over, source.below, place)
        if source.exact and source.paths[0][0] == OBJECT:
            path = source.paths[0][1:]
            return Origin(field_path(path), exact=True)
        paths = [*dict.fromkeys(path for each in source.paths for path in self._decisive(each))]
        if not paths:
            return NOWHERE
        is_absent = _at(self.object, place) in (MISSING, "")
        first, *others = sorted(paths, key=lambda path: _rank(owner, path, place, value, is_absent))
        if _has(_at(owner, first), value):  # it is the cause, whatever else the expression reads
            others = []
        written = (field_path(path) for path in others if _at(owner, path) is not MISSING)
        return Origin(field_path(first), tuple(islice(written, 3)), reads=tuple(map(field_path, paths)))

    def _decisive(self, path: Place) -> Iterator[Place]:
        """The fields of the object at a path: itself, or what a fact reads."""
        if path[0] == OBJECT:
            yield path[1:]
        elif len(path) > 1:
            for kind, keys in inputs_of(self.owner, str(path[1])):
                if kind == self.owner and keys != _NAMESPACE:
                    yield keys[: keys.index("*")] if "*" in keys else keys

    def _merged(self, node: Merged, below: Place, place: Place) -> Origin:
        """The nearest node of the object, at or below the one that was merged with others."""
        owner, merged = self.frame.scope.object, _at(self.object, place[: len(place) - len(below)])
        there = next(count for count in range(len(node.at), -1, -1) if _at(owner, node.at[:count]) is not MISSING)
        path, rest = node.at[:there], (*node.at[there:], *below)
        written = _at(owner, path)
        while rest:
            beside = node.beside.get(field_path(rest[:2])) if path == node.at else None
            taken, rest = (rest[:1], rest[1:]) if beside is None else (rest[:2], rest[2:])
            merged = _at(merged, taken)
            step = beside or self._step(written, merged, path[-1:], taken[0])
            deeper = _below(written, step)
            if deeper is MISSING:
                return Origin(field_path(path), (), False, field_path((beside or taken[0], *rest)), node.others)
            path, written = (*path, step), deeper
        is_there = isinstance(written, Mapping | list) or written == _at(self.object, place)
        return Origin(field_path(path), (), is_there, "", node.others)

    def _step(self, items: Any, item: Any, name: Place, index: str | int) -> str | int:
        """Where a list of the object has an item of the merged list. The list is searched once for all places."""
        if not isinstance(items, list) or not isinstance(item, Mapping):
            return index
        if "targetPort" in item:  # of a Service
            item = {"containerPort": item["targetPort"]}
        own = _KEYS.get(str(*name), "name")
        key = own if own in item else next((name for name in _NAMES if name in item), None)
        if key is None:
            return index
        places = self._places.get((id(items), key))
        if places is None:
            values = ((at, entry.get(key)) for at, entry in enumerate(items) if isinstance(entry, Mapping))
            places = {value: at for at, value in reversed([*values]) if isinstance(value, Hashable)}
            self._places[id(items), key] = places
        return places.get(item[key], -1) if isinstance(item[key], Hashable) else -1

    def judged(self) -> Iterator[Place]:
        """The paths of the parts of the object that are in it: what is judged of it is judged of them.

        One that ends with "" is of a node alone, whose fields may be parts that are elsewhere.
        """
        yield from self.rule.copies
        for leaf in self.rule.leaves:
            merged = leaf.merged(self.frame)
            if merged is not None and merged.alone is not MISSING:
                at = (*merged.at, *leaf.path[2 if leaf.path[0] == SELF else 3 :])
                value = leaf.build(self.frame)
                yield (*at, "")
                yield from (
                    (*at, key) for key in (*merged.beside.values(), *(value if isinstance(value, Mapping) else ()))
                )

    def alone(self) -> dict[str, Any]:
        """What it would be without what the object writes, where a fact says that.

        Raises:
            CelError: an expression fails.
        """
        made: dict[str, Any] = self.rule.object.build(self.frame._replace(alone=True))
        return made


class Failure(NamedTuple):
    """A description that has no value for an object, and why."""

    rule: ChildRule
    reason: str


def children_of(
    rules: Sequence[ChildRule], scope: PolicyScope, owner: Kind, hidden: frozenset[str] = frozenset()
) -> Iterator[Child | Failure]:
    """The objects that the operator makes of an object of the kind ``owner``.

    A rule that reads one of the ``hidden`` facts is left out: it is not known what becomes of it.

    Raises:
        BudgetExceeded: the expressions cost more than the scope has; what its facts raise.
    """
    for rule in rules:
        if not rule.facts.isdisjoint(hidden):
            continue
        try:
            for frame in islice(rule.frames(scope), _CHILDREN):
                yield Child(rule.object.build(frame), rule, frame, owner)
        except BudgetExceeded:
            raise
        except (CelError, TooManyError) as error:
            yield Failure(rule, str(error))


def are_none(rules: tuple[ChildRule, ...], scope: PolicyScope, owner: Kind) -> bool:
    """Whether it is certain that nothing is made of an object, which is told where the object alone decides it."""
    conditions, frame = _conditions(rules, owner), Frame(scope)
    try:
        return bool(conditions) and all(condition.build(frame) is not True for condition in conditions)
    except CelError:
        return False


@lru_cache(256)
def _conditions(rules: tuple[ChildRule, ...], owner: Kind) -> tuple[Leaf, ...]:
    """The different conditions of the children, if each has one, and none of them reads other objects; else none."""
    different = dict[object, Leaf]()
    for rule in rules:
        when = rule.when
        if rule.each is not None or when is None or any(_may_read_others(path, owner) for path in when.reads()):
            return ()
        different.setdefault(when.expression.source if isinstance(when, Computed) else when, when)
    return tuple(different.values())


def _may_read_others(path: Place, owner: Kind) -> bool:
    """Whether a path is of a fact that reads other objects, or of which it is not recorded what it reads."""
    inputs = inputs_of(owner, str(path[1])) if path[0] == FACTS else ()
    return path[0] == FACTS and (not inputs or any(kind != owner for kind, _ in inputs))


def _at(value: Any, path: Place) -> Any:
    for key in path:
        value = _below(value, key)
    return value


def _below(value: Any, key: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(key, MISSING)
    return value[key] if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value) else MISSING


def _rank(owner: Any, path: Place, place: Place, value: Any, is_absent: bool) -> tuple[bool, bool, bool, bool]:
    written = _at(owner, path)
    is_same = _has(written, value)
    name = next((key for key in reversed(place) if isinstance(key, str)), "")
    is_lacking = written is MISSING and not (is_absent and path[-1:] == (name,))
    return not is_same, is_lacking, path == _METADATA, path[-1:] != (name,)


def _has(written: Any, value: Any) -> bool:
    """Whether a value is what is written, in a list or map that is, or a key; of a whole float, the integer is."""
    if value is MISSING or written is MISSING:
        return False
    entries = [*written, *written.values()] if isinstance(written, Mapping) else written
    if isinstance(entries, list):
        return isinstance(value, str) and value in entries
    return str(int(written) if isinstance(written, float) and written.is_integer() else written) == str(value)
