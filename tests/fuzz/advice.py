"""Findings whose advice a program can follow end without a new error: ``python -m tests.fuzz.advice -n 20000``.

The objects are those of the policies' cases, as creations, and mutants of them. A finding says "remove it",
"set a: b", "use x" or names the supported values: each of these is done to a copy, which is judged again, until nothing
can be followed. What was said must be gone, and nothing else of the object may be refused that was not refused before.
Where a finding names several ways out, one of them must do; no way may lead back.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final, NamedTuple

from tests.engine.test_screen import mutant
from tests.policies.test_cases import files, read, target
from webhook import catalog
from webhook.admission import Cause, Warn
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import Case, run
from webhook.facts.settings import Behaviour
from webhook.ground.fieldpath import field_keys
from webhook.kubernetes import LINE
from webhook.policy import MISSING

Keys = list[str | int]

STEPS: Final = 8
"""The most that one object needs; a longer chain is an endless one."""

_PATH: Final = r"[A-Za-z][\w.\[\]]*"
_REMOVE: Final = re.compile(rf"\bremove (?P<name>it|{_PATH})(?=$|,(?! and )|[;:)]| or )")
_SET: Final = re.compile(rf'\bset (?P<name>{_PATH}): (?P<value>"[^"]*"|[\w./@-]+)(?=$|[,;)]| or )')
_USE: Final = re.compile(r'\b(?:use|write) (?P<value>"[^"]*"|-?\d[\w.]*)(?=$|[,;)]| or (?!more))')
_SUPPORTED: Final = re.compile(r'supported values: ("[^"]*"(?:, "[^"]*")*)')


class Step(NamedTuple):
    """A change that a finding asks for: the ``value`` at a path, or none there."""

    text: str
    keys: Keys
    value: Any = None


class Finding(NamedTuple):
    """What is said of an object, with a line for each hint, and whether it ``refuses``."""

    refuses: bool
    code: str
    field: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, said: Cause | Warn) -> Finding:
        hints = [hint.message for hint in said.hints] if isinstance(said, Cause) else []
        return cls(isinstance(said, Cause), said.code, said.field, (said.message, *hints))

    @property
    def message(self) -> str:
        return "; ".join(self.lines)

    @property
    def is_about_others(self) -> bool:
        """Whether it is about other objects, which are looked up only once the object says what to look for."""
        return self.code[2:3] == "4"

    @property
    def is_short(self) -> bool:
        """Whether each line is one that a reader takes in at once."""
        return all(len(line) <= LINE and "\n" not in line for line in self.lines)

    def __str__(self) -> str:
        return f"{self.code or 'schema'} {'error' if self.refuses else 'warning'} at {self.field}: {self.message}"


def steps(finding: Finding, obj: dict[str, Any]) -> Iterator[Step]:
    """What a program can do of a finding, each by itself."""
    keys = field_keys(finding.field) if finding.field else []
    for match in _REMOVE.finditer(finding.message):
        at = keys if match["name"] == "it" else _resolved(match["name"], keys, obj)
        if at and _has(obj, at):
            yield Step(match[0], at)
    for match in _SET.finditer(finding.message):
        at = _resolved(match["name"], keys, obj) or _beside(match["name"], keys, obj)
        if at:
            yield Step(match[0], at, _value(match["value"]))
    written = _at(obj, keys)
    if keys and isinstance(written, str | int | float):
        values = [match["value"] for match in _USE.finditer(finding.message)][:1]
        for value in values:
            yield Step(f"use {value}", keys, str(_value(value)) if isinstance(written, str) else _value(value))
        for value in _values(finding.message):
            yield Step(f"use {value}", keys, value)


def _values(message: str) -> Iterator[Any]:
    """The supported values that a finding names, as texts and as what they are in JSON."""
    for text in _SUPPORTED.findall(message):
        for value in re.findall(r'"([^"]*)"', text):
            yield from dict.fromkeys((value, _value(value)))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _at(value: Any, keys: Keys) -> Any:
    for key in keys:
        is_there = key in value if isinstance(value, dict) else isinstance(value, list) and isinstance(key, int)
        value = value[key] if is_there and (not isinstance(key, int) or key < len(value)) else None
    return value


def _has(obj: Any, keys: Keys) -> bool:
    return _at(obj, keys) is not None


def _resolved(name: str, keys: Keys, obj: dict[str, Any]) -> Keys:
    """The path of what is written under a name: from the root, below the field, or beside it or what it is in."""
    path = field_keys(name)
    if path[0] in {"spec", "metadata"}:
        return path
    places = ([*keys[:count], *path] for count in range(len(keys), 0, -1))
    return next((place for place in places if _has(obj, place)), [])


def _beside(name: str, keys: Keys, obj: dict[str, Any]) -> Keys:
    """Where a name is to be written: at the field if it ends so, else in it if it is a map, else beside it."""
    path = field_keys(name)
    if not keys:
        return []
    if keys[-len(path) :] == path:
        return keys
    parents = (keys, keys[:-1])
    return next(([*parent, *path] for parent in parents if isinstance(_at(obj, parent), dict)), [])


def changed(obj: dict[str, Any], step: Step) -> dict[str, Any]:
    """A copy of the object with the change."""
    made = deepcopy(obj)
    parent: Any = made
    for key in step.keys[:-1]:
        if isinstance(parent, dict) and not isinstance(parent.get(key), dict | list):
            parent[key] = {}
        parent = parent[key]
    if step.value is None:
        del parent[step.keys[-1]]
    else:
        parent[step.keys[-1]] = step.value
    return made


class Judge(NamedTuple):
    """What judges the objects of a case."""

    case: Case
    kind: KnownKind
    loaded: Catalog

    def said(self, obj: dict[str, Any]) -> list[Finding]:
        result = run(self.case.model_copy(update={"object": obj}), self.kind, self.loaded).validation
        return [*map(Finding.of, result.causes), *map(Finding.of, result.warnings)]


def problems(judge: Judge, obj: dict[str, Any], followed: Counter[str]) -> Iterator[str]:
    """What is wrong with the advice about an object."""
    states = [json.dumps(obj, sort_keys=True)]
    found = judge.said(obj)
    yield from (f"{len(one.message)} characters: {one}" for one in found if not one.is_short)
    for _ in range(STEPS):
        finding, ways = next(((each, ways) for each in found if (ways := [*steps(each, obj)])), (None, []))
        if finding is None:
            return
        tried = []
        for step in ways:
            better = changed(obj, step)
            after = judge.said(better)
            fault = _fault(finding, found, after)
            if json.dumps(better, sort_keys=True) in states:
                fault = "leads back"
            tried.append((fault, step, better, after))
        followed[finding.code or "schema"] += 1
        fault, step, better, after = min(tried, key=lambda one: len(one[0]))
        if fault:
            yield f"{finding} → {step.text}: {fault}"
            return
        obj, found = better, after
        states.append(json.dumps(obj, sort_keys=True))
    yield f"does not end: {[str(each) for each in found][:3]}"


def _fault(finding: Finding, before: list[Finding], after: list[Finding]) -> str:
    """What is wrong after advice was followed; "" if nothing is."""
    if any((one.code, one.field, one.lines) == (finding.code, finding.field, finding.lines) for one in after):
        return "it is said again"
    refused = {(one.code, one.field) for one in before}
    if not finding.code:  # the rules of a definition run once all types are right
        after = [one for one in after if one.code or one.field == finding.field]
    new = [one for one in after if one.refuses and (one.code, one.field) not in refused and not one.is_about_others]
    return f"new: {new[0]}" if new else ""


def judges(loaded: Catalog) -> Iterator[tuple[Judge, dict[str, Any]]]:
    """The cases that are creations, each with its object."""
    for file in files():
        for document in read(file):
            known = target(document, loaded)
            for case in document.cases:
                of_other = case.release or case.settings.ome is not Behaviour.RECOMMENDED
                if not of_other and not {"oldObject", "oldSpec"} & case.model_fields_set:
                    obj = run(case, known, loaded).request.object
                    plain = case.model_copy(update={"spec": MISSING, "profile": "standard"})
                    yield Judge(plain, known, loaded), deepcopy(obj or {})


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.advice", description=__doc__)
    parser.add_argument("-n", type=int, default=2000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    every, dice, followed = [*judges(catalog.load())], random.Random(options.seed), Counter[str]()
    wrong: dict[str, str] = {}
    count = 0
    for number in range(len(every) + options.n):
        judge, obj = every[number] if number < len(every) else dice.choice(every)
        for _ in range(0 if number < len(every) else dice.choice((1, 1, 2, 3))):
            obj = mutant(obj, dice)
        for text in problems(judge, obj, followed):
            count += 1
            if wrong.setdefault(re.sub(r'"[^"]*"|\d+', "_", text), text) is text:
                print(f"{judge.kind.gvk.kind} ({judge.case.name}): {text}", flush=True)
    print(f"{len(every) + options.n} objects, {followed.total()} times advice of {len(followed)} codes: {count} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
