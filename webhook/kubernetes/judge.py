"""The verdict in progress, and the rules that are data: required, enum, format, nested types.

Data and rules are those of one release of Kubernetes, which the package names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook.ground.budget import Budget
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.values import Json, integer
from webhook.schema.fielderror import ERRORS, OMIT, FieldError, forbidden, invalid, not_supported, required

DATA: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))
"""The rules that are data: ``types``, each with its ``fields``, and lists that the modules of this package read."""

_ERROR: Final = 8
"""Steps of an error and its text, beside those of the text of its path."""
_CHARACTERS: Final = 16
_SIZED: Final = frozenset[object]({list, dict})
_ITEM: Final = 8
"""Steps of an object in a list."""
_STEPS: Final = 64
"""Steps that are counted together."""


@dataclass(slots=True)
class PodContext:
    """What the rules of a container read of its pod. A part without a pod has these defaults.

    ``claim_names`` are the claims as an error names them. ``files``: the names of the volumes from which the containers
    read variables, with the paths of the names.
    """

    volumes: dict[str, Json] = field(default_factory=dict)
    claims: frozenset[str] = frozenset()
    claim_names: str = ""
    grace: int = 30
    os: str = ""
    host_users: bool = True
    restart: str = ""
    files: list[tuple[FieldPath, str]] = field(default_factory=list)


@dataclass(slots=True)
class Judge:
    """Collects the errors of one value.

    With ``part``, the value is merged with another one later, so errors about absent fields, references and duplicates
    are left out. With ``templates``, a text with ``{{`` is filled in later, so errors about it are left out.
    ``runners`` are the names of further containers of the pod. What is looked at, and what is said, spends ``budget``;
    ``steps`` is what it does not count yet. ``updates``: the value takes the place of a stored one.
    """

    part: bool = False
    templates: bool = False
    owner: str = "deployment"
    runners: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)
    steps: int = 0
    updates: bool = False
    pod: PodContext = field(default_factory=PodContext)
    errors: list[FieldError] = field(default_factory=list)
    _seen: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, error: FieldError, *, only_if_complete: bool = False) -> None:
        """Note an error, once. ``only_if_complete``: what the value is merged with may heal it.

        Raises:
            EnoughError: it is one more than :data:`ERRORS`.
        """
        if only_if_complete and self.part:
            return
        value = error.bad_value if isinstance(error.bad_value, str) else error.body()
        self.steps += _ERROR + len(error.field) // _CHARACTERS
        self.spend(error.field)
        key = (error.type, error.field, error.detail, value)
        if key in self._seen:  # before a long value is searched again
            return
        self._seen.add(key)
        if self.templates and "{{" in value and isinstance(error.bad_value, str):
            return
        if len(self.errors) == ERRORS:
            raise EnoughError
        self.errors.append(error)

    def add_invalid(self, problems: Iterable[str], value: Any, at: FieldPath, *below: str) -> None:
        """Note each of the problems of the value at a path, or at the names below it."""
        for problem in problems:
            self.add(invalid(at.child(*below) if below else at, value, problem))

    def judged(self, place: FieldPath, judge_value: Callable[[], object]) -> list[FieldError]:
        """The errors after ``judge_value``, which adds them; after :data:`ERRORS` there is one more, which says so."""
        try:
            judge_value()
            self.spend(place)
        except EnoughError:
            why = f"it has more than {ERRORS:,} faults, so what comes after them is not judged"
            self.errors.append(FieldError("FieldValueTooMany", str(place), why, OMIT))
        return self.errors

    def spend(self, place: object) -> None:
        """Count the steps that were made."""
        steps, self.steps = self.steps, 0
        self.budget.spend(steps, place)


class EnoughError(Exception):
    """A value has more errors than anybody reads."""


Rule = Callable[[Judge, Json, FieldPath], None]
"""The rules of a type that are not data, of a value at a path."""
_Check = Callable[[Judge, Any, FieldPath], None]
"""The rules of a member, of its value and the path of the object that has it."""
ListRule = Callable[[Judge, list[Any], FieldPath], None]
"""All rules of a list of values of a type, of the list and its path."""
_own: Final[dict[str, Rule]] = {}
_of_lists: Final[dict[str, ListRule]] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """The decorated function has the rules of this type that are not data."""

    def register(function: Rule) -> Rule:
        _own[name] = function
        return function

    return register


def list_rule(name: str) -> Callable[[ListRule], ListRule]:
    """The decorated function judges lists of values of this type, instead of :func:`walk` for each item."""

    def register(function: ListRule) -> ListRule:
        _of_lists[name] = function
        return function

    return register


def walk(judge: Judge, name: str, value: Json, at: FieldPath) -> None:
    """Add the errors of a value of this type."""
    checks, needed, absent, own = _type(name)
    for key, item in value.items():
        check = checks.get(key)
        if check is None:
            if item.__class__ in _SIZED:  # a function of this package reads it
                judge.steps += _ITEM * len(item)
                if judge.steps > _STEPS:
                    judge.spend(at)
        elif item is not None:
            check(judge, item, at)
    for key, whole, zero, check in absent:
        if value.get(key) is None and not (whole and judge.part):
            check(judge, zero, at)
    for key, whole, detail in needed:
        if not value.get(key):
            judge.add(required(at.child(key), detail), only_if_complete=whole)
    if own is not None:
        own(judge, value, at)


def check_first(judge: Judge, value: Json, at: FieldPath, sources: list[list[str]], noun: str) -> int:
    """Check the first source that is present; every further one is an error, and its content is not looked at.

    ``sources`` has, for each, its key, its type, and how Kubernetes spells its path outside and within. The result is
    the number of sources.
    """
    count = 0
    for key, name, outer, inner in sources:
        item = value.get(key)
        if not isinstance(item, dict):
            continue
        count += 1
        if count > 1:
            judge.add(forbidden(at.child(outer), f"may not specify more than 1 {noun} type"))
        else:
            walk(judge, name, item, at.child(inner))
    return count


class _Type(NamedTuple):
    """A type: the checks of its members, its required members, zero values that are checked, and its function."""

    checks: dict[str, _Check]
    needed: tuple[tuple[str, bool, str], ...]
    absent: tuple[tuple[str, bool, Any, _Check], ...]
    own: Rule | None


@cache
def _type(name: str) -> _Type:
    fields: dict[str, Any] = DATA["types"].get(name, {})
    needed = [(key, bool(spec.get("whole")), spec.get("why", "")) for key, spec in fields.items() if spec.get("needed")]
    checks = {key: _check(key, spec) for key, spec in fields.items() if spec.keys() & _KINDS.keys()}
    absent = [
        (key, bool(spec.get("whole")), spec["absent"], checks[key]) for key, spec in fields.items() if "absent" in spec
    ]
    return _Type(checks, tuple(needed), tuple(absent), _own.get(name))


def _check(key: str, spec: Json) -> _Check:
    (kind,) = spec.keys() & _KINDS.keys()
    return _KINDS[kind](key, spec, spec[kind])


def _enum(key: str, spec: Json, names: list[str]) -> _Check:
    blank = bool(spec.get("blank"))

    def check(judge: Judge, item: Any, at: FieldPath) -> None:
        if item not in names and isinstance(item, str) and (item or blank):
            judge.add(not_supported(at.child(key), item, names))

    return check


def _format(key: str, spec: Json, name: str) -> _Check:
    kind, problems_of = FORMATS[name]
    blank = bool(spec.get("blank"))

    def check(judge: Judge, item: Any, at: FieldPath) -> None:
        if item.__class__ is float:
            item = integer(item)
        if item.__class__ is kind and (blank or item != ""):
            for problem in problems_of(item):
                judge.add(invalid(at.child(key), item, problem))

    return check


def _formats(key: str, _spec: Json, name: str) -> _Check:
    kind, problems_of = FORMATS[name]

    def check(judge: Judge, items: Any, at: FieldPath) -> None:
        if isinstance(items, list):
            judge.steps += len(items)
            for index, item in enumerate(items):
                read = integer(item) if item.__class__ is float else item
                if read.__class__ is kind:
                    for problem in problems_of(read):
                        judge.add(invalid(at.child(key).index(index), read, problem))

    return check


def _nested(key: str, _spec: Json, name: str) -> _Check:
    def check(judge: Judge, item: Any, at: FieldPath) -> None:
        if isinstance(item, dict):
            walk(judge, name, item, at.child(key))

    return check


def _each(key: str, _spec: Json, name: str) -> _Check:
    own = _of_lists.get(name)

    def check_items(judge: Judge, items: list[Any], path: FieldPath) -> None:
        for index, item in enumerate(items):
            if item is None or isinstance(item, dict):
                walk(judge, name, item or {}, path.index(index))

    check_list = own or check_items

    def check(judge: Judge, items: Any, at: FieldPath) -> None:
        if isinstance(items, list):
            judge.steps += _ITEM * len(items)
            judge.spend(at)
            check_list(judge, items, at.child(key))

    return check


def _labels(key: str, _spec: Json, _: bool) -> _Check:
    return lambda judge, item, at: check_labels(judge, item, at.child(key))


def check_labels(judge: Judge, labels: Any, path: FieldPath) -> None:
    """``ValidateLabels``: Kubernetes gives the path of the map."""
    problems_of_key, problems_of_value = FORMATS["key"][1], FORMATS["value"][1]
    if isinstance(labels, dict):
        judge.steps += len(labels)
        for name, text in labels.items():
            for problem in problems_of_key(name):
                judge.add(invalid(path, name, problem))
            if isinstance(text, str):
                for problem in problems_of_value(text):
                    judge.add(invalid(path, text, problem))


_KINDS: Final[dict[str, Callable[[str, Json, Any], _Check]]] = {
    "enum": _enum,
    "format": _format,
    "formats": _formats,
    "is": _nested,
    "each": _each,
    "labels": _labels,
}
