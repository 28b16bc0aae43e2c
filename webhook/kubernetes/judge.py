"""The verdict in progress, and the rules that are data: required, enum, format, nested types."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.values import Json, integer
from webhook.schema.fielderror import FieldError, forbidden, invalid, not_supported, required

__all__ = ["DATA", "Judge", "Pod", "Rule", "check_labels", "not_found", "one_of", "plain", "rule", "walk"]

DATA: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))
"""The rules that are data: ``types``, each with its ``fields``, and lists that the modules of this package read."""

Rule = Callable[["Judge", Json, str], None]
_Check = Callable[["Judge", Any, str], None]
_own: Final[dict[str, Rule]] = {}
_ArePlain = Callable[[list[Any]], bool]
_plain: Final[dict[str, _ArePlain]] = {}


@dataclass(slots=True)
class Pod:
    """What rules for a container read of its pod. A part without a pod has this default.

    ``files``: by path, the names of the volumes from which the containers read variables.
    """

    volumes: dict[str, Json] = field(default_factory=dict)
    claims: frozenset[str] = frozenset()
    grace: int = 30
    os: str = ""
    host_users: bool = True
    restart: str = ""
    files: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Judge:
    """Collects the errors of one value.

    A ``part`` is completed by another one: what only the whole shows is not said of it. ``templates``: a text with
    ``{{`` is filled in later, so no error is said of it. ``runners``: further containers of the pod, by name.
    """

    part: bool = False
    templates: bool = False
    owner: str = "deployment"
    runners: tuple[str, ...] = ()
    pod: Pod = field(default_factory=Pod)
    errors: list[FieldError] = field(default_factory=list)

    def say(self, error: FieldError) -> None:
        """An error that what is present makes."""
        if not (self.templates and isinstance(error.bad_value, str) and "{{" in error.bad_value):
            self.errors.append(error)

    def whole(self, error: FieldError) -> None:
        """An error that another part may heal: of what is absent, referred to, or listed twice."""
        if not self.part:
            self.say(error)


def not_found(path: str, value: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueNotFound", path, detail, value)


def rule(name: str) -> Callable[[Rule], Rule]:
    """The decorated function has the rules of this type that are not data. ``at`` is its path with a dot, or ""."""

    def register(function: Rule) -> Rule:
        _own[name] = function
        return function

    return register


def plain(name: str) -> Callable[[_ArePlain], _ArePlain]:
    """The decorated function tells fast, of most lists of a type of which there are many, that all items are right."""

    def register(function: _ArePlain) -> _ArePlain:
        _plain[name] = function
        return function

    return register


def walk(judge: Judge, name: str, value: Json, at: str) -> None:
    """Add the errors of a value of this type."""
    checks, needed, absent, own = _type(name)
    for key, item in value.items():
        check = checks.get(key)
        if check is not None and item is not None:
            check(judge, item, at)
    for key, whole, zero, check in absent:
        if value.get(key) is None and not (whole and judge.part):
            check(judge, zero, at)
    for key, whole, detail in needed:
        if not value.get(key):
            (judge.whole if whole else judge.say)(required(at + key, detail))
    if own is not None:
        own(judge, value, at)


def one_of(
    judge: Judge, value: Json, at: str, sources: list[list[str]], check: Callable[[str, Json, str], None], noun: str
) -> int:
    """Check the first source that is present; every further one is an error, and its content is not looked at.

    ``sources`` has, for each, its key, its type, and how Kubernetes spells its path outside and within. The result is
    the number of sources.
    """
    found = 0
    for key, name, outer, inner in sources:
        if key not in value:
            continue
        item = value[key]
        if not isinstance(item, dict):
            continue
        found += 1
        if found > 1:
            judge.say(forbidden(at + outer, f"may not specify more than 1 {noun} type"))
        else:
            check(name, item, f"{at}{inner}.")
    return found


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

    def check(judge: Judge, item: Any, at: str) -> None:
        if item not in names and isinstance(item, str) and (item or blank):
            judge.say(not_supported(at + key, item, names))

    return check


def _format(key: str, spec: Json, name: str) -> _Check:
    kind, problems_of = FORMATS[name]
    blank = bool(spec.get("blank"))

    def check(judge: Judge, item: Any, at: str) -> None:
        if kind is int and item.__class__ is float:
            item = integer(item)
        if item.__class__ is kind and (blank or item != ""):
            for problem in problems_of(item):
                judge.say(invalid(at + key, item, problem))

    return check


def _formats(key: str, _spec: Json, name: str) -> _Check:
    kind, problems_of = FORMATS[name]

    def check(judge: Judge, items: Any, at: str) -> None:
        if isinstance(items, list):
            for index, item in enumerate(items):
                read = integer(item) if kind is int and item.__class__ is float else item
                if read.__class__ is kind:
                    for problem in problems_of(read):
                        judge.say(invalid(f"{at}{key}[{index}]", read, problem))

    return check


def _nested(key: str, _spec: Json, name: str) -> _Check:
    def check(judge: Judge, item: Any, at: str) -> None:
        if isinstance(item, dict):
            walk(judge, name, item, f"{at}{key}.")

    return check


def _each(key: str, _spec: Json, name: str) -> _Check:
    are_plain = _plain.get(name)

    def check(judge: Judge, items: Any, at: str) -> None:
        if isinstance(items, list) and not (are_plain is not None and are_plain(items)):
            for index, item in enumerate(items):
                if item is None or isinstance(item, dict):
                    walk(judge, name, item or {}, f"{at}{key}[{index}].")

    return check


def _labels(key: str, _spec: Json, _: bool) -> _Check:
    return lambda judge, item, at: check_labels(judge, item, at + key)


def check_labels(judge: Judge, labels: Any, path: str) -> None:
    """``ValidateLabels``: Kubernetes gives the path of the map."""
    problems_of_key, problems_of_value = FORMATS["key"][1], FORMATS["value"][1]
    if isinstance(labels, dict):
        for name, text in labels.items():
            for problem in problems_of_key(name):
                judge.say(invalid(path, name, problem))
            if isinstance(text, str):
                for problem in problems_of_value(text):
                    judge.say(invalid(path, text, problem))


_KINDS: Final[dict[str, Callable[[str, Json, Any], _Check]]] = {
    "enum": _enum,
    "format": _format,
    "formats": _formats,
    "is": _nested,
    "each": _each,
    "labels": _labels,
}
