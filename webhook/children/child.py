"""The children of an object, and where in the object a place of a child comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from webhook.cel import BudgetExceeded, CelError
from webhook.cluster import Kind
from webhook.facts import inputs_of
from webhook.ground.fieldpath import field_path
from webhook.policy import FACTS, MISSING, OBJECT, ChildRule, Frame, PolicyScope, Source, TooManyError

Place: TypeAlias = tuple[str | int, ...]
"""Keys of a field, in a child or in the object."""

_NAMES: Final = ("name", "mountPath", "containerPort", "key", "devicePath", "topologyKey", "ip")
"""What tells the items of a list apart, where the operator merges lists."""
_CHILDREN: Final = 200
"""Children of one rule of a description that are made."""
_METADATA: Final = ("metadata", "name")


class Origin(NamedTuple):
    """The ``field`` of the object from which a place in a child comes, "" if none does, and ``others`` that decide it.

    ``exact``: the value is there as it is. ``rest`` is the path below the field, where the object has no part.
    """

    field: str = ""
    others: tuple[str, ...] = ()
    exact: bool = False
    rest: str = ""


NOWHERE: Final = Origin()


class Child(NamedTuple):
    """One object that the operator makes, as it sends it: without the API server's defaults."""

    object: dict[str, Any]
    rule: ChildRule
    frame: Frame
    owner: Kind

    @property
    def name(self) -> str:
        """What it is called in texts: ``Deployment "a"``."""
        metadata = self.object.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return f'{self.rule.kind} "{name}"' if isinstance(name, str) and name else self.rule.kind

    def origin(self, keys: Sequence[str | int], value: Any = MISSING) -> Origin:
        """The origin of a place. Of several fields, it is the one that has the ``value``, or else that has the name of
        the place, or else the first one that the object has. Where the child has no value, it may be one that the
        object lacks, too.
        """
        place, owner = tuple(keys), self.frame.scope.object
        source = self.rule.object.source(self.frame, place)
        if source.over:
            return self._merged(source, place)
        if source.exact and source.paths[0][0] == OBJECT:
            path = source.paths[0][1:]
            return Origin(field_path(path), exact=True)
        paths = [*dict.fromkeys(path for each in source.paths for path in self._decisive(each))]
        if not paths:
            return NOWHERE
        is_absent = _at(self.object, place) in (MISSING, "")
        ranks = {path: _rank(owner, path, place, value, index, is_absent) for index, path in enumerate(paths)}
        first, *others = sorted(paths, key=ranks.__getitem__)
        if _has(_at(owner, first), value):  # it is the cause, whatever else the expression reads
            return Origin(field_path(first))
        written = (field_path(path) for path in others if _at(owner, path) is not MISSING)
        return Origin(field_path(first), tuple(islice(written, 3)))

    def _decisive(self, path: Place) -> Iterator[Place]:
        """The fields of the object at a path: itself, or what a fact reads."""
        if path[0] == OBJECT:
            yield path[1:]
        elif path[0] == FACTS and len(path) > 1:
            for kind, keys in inputs_of(self.owner, str(path[1])):
                if kind == self.owner:
                    yield keys[: keys.index("*")] if "*" in keys else keys

    def _merged(self, source: Source, place: Place) -> Origin:
        """The nearest node of the object, below the one that was merged with others."""
        path: Place = source.over[1:]
        written = _at(self.frame.scope.object, path)
        merged = _at(self.object, place[: len(place) - len(source.below)])
        for position, key in enumerate(source.below):
            merged = _below(merged, key)
            step = _index(written, merged, key) if isinstance(written, list) else key
            deeper = _below(written, step)
            if deeper is MISSING:
                return Origin(field_path(path), rest=field_path(source.below[position:]))
            path, written = (*path, step), deeper
        return Origin(field_path(path), exact=True)


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


def _at(value: Any, path: Place) -> Any:
    for key in path:
        value = _below(value, key)
    return value


def _below(value: Any, key: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(key, MISSING)
    if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    return MISSING


def _rank(
    owner: Any, path: Place, place: Place, value: Any, index: int, is_absent: bool
) -> tuple[bool, bool, bool, bool, int]:
    written = _at(owner, path)
    is_same = _has(written, value)
    name = next((key for key in reversed(place) if isinstance(key, str)), "")
    is_lacking = written is MISSING and not (is_absent and path[-1:] == (name,))
    return not is_same, is_lacking, path == _METADATA, path[-1:] != (name,), index


def _has(written: Any, value: Any) -> bool:
    """Whether a value is what is written, or a key or a value of a map that is."""
    if value is MISSING or written is MISSING:
        return False
    if isinstance(written, Mapping):
        return isinstance(value, str) and (value in written or value in written.values())
    return str(written) == str(value)


def _index(items: list[Any], item: Any, index: str | int) -> str | int:
    """Where a list of the object has an item of the merged list."""
    if not isinstance(item, Mapping):
        return index
    name = next((each for each in _NAMES if each in item), None)
    if name is None:
        return index
    same = (at for at, each in enumerate(items) if isinstance(each, Mapping) and each.get(name) == item[name])
    return next(same, -1)
