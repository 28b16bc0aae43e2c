"""One function for all rules of a kind decides as the rules one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.laws import is_quick
from tests.policies.test_cases import files, read, target
from webhook import engine
from webhook.admission import Request
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import run
from webhook.cluster import MemoryView
from webhook.engine import Options, rules
from webhook.policy import PolicyFault, Profile

CHANGES = 6
"""Mutants of an object of a case; make check makes them of each fifth case."""
COVERED = 0.95
"""The part of a kind's rules, and of the valid objects, that the function must decide: else this proves nothing."""


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*at, key))
    yield at


def mutant(obj: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """The object with one part removed, doubled, or replaced by a part from elsewhere in it."""
    paths = [path for path in leaves(obj) if path and path[0] == "spec"] or [("spec",)]
    at, other = dice.choice(paths), dice.choice(paths)
    value: Any = dice.choice([None, "", "x", 0, 7, True, [], {}, _get(obj, other)])
    return _set(obj, at, value)


def _get(value: Any, at: tuple[Any, ...]) -> Any:
    for key in at:
        value = value[key] if isinstance(value, list) or key in value else None
        if not isinstance(value, dict | list):
            return value
    return value


def _set(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    copy = value.copy()
    copy[at[0]] = _set(value[at[0]] if isinstance(value, list) else value.get(at[0], {}), at[1:], new)
    return copy


def requests(request: Request, dice: random.Random, changes: int) -> Iterator[Request]:
    assert request.object is not None
    yield request
    for _ in range(changes):
        changed = mutant(request.object, dice)
        yield replace(request, object=changed, operation="CREATE", old_object=None)
        yield replace(request, object=changed, operation="UPDATE", old_object=request.object)


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_one_function_for_all_rules_decides_as_the_rules_one_by_one(file, loaded: Catalog, monkeypatch):
    dice = random.Random(file.stem)
    taken: list[bool] = []
    suspects = rules._suspects
    judged = 0
    for document in read(file):
        known: KnownKind = target(document, loaded)
        loaded.prepared(known).prepare()
        for number, case in enumerate(document.cases):
            changes = 0 if is_quick() and number % 5 else CHANGES
            view = MemoryView(case.others)
            options = Options(Profile(case.profile), settings=case.settings)
            for request in requests(run(case, known, loaded).request, dice, changes):

                def counted(*args: Any) -> Any:
                    found = suspects(*args)
                    if not args[0].errors:
                        taken.append(found is not None)
                    return found

                monkeypatch.setattr(rules, "_suspects", counted)
                fused = outcome(request, loaded, view, options)
                monkeypatch.setattr(rules, "_suspects", lambda *_: None)
                assert fused == outcome(request, loaded, view, options), (case.name, request.object)
                judged += 1
    assert judged >= CHANGES
    assert sum(taken) >= COVERED * len(taken)


def outcome(request: Request, loaded: Catalog, view: MemoryView, options: Options) -> Any:
    try:
        return engine.validate(request, loaded, view, options)
    except PolicyFault as fault:
        return str(fault)


def with_rules(loaded: Catalog) -> list[KnownKind]:
    return [known for known in loaded.kinds.values() if known.policy.validations]


def test_the_function_covers_all_rules(loaded: Catalog):
    left = {str(known.gvk): loaded.prepared(known).prepare().rules.others for known in with_rules(loaded)}
    assert not any(left.values()), left


def test_the_function_computes_all_variables(loaded: Catalog):
    texts = {str(known.gvk): loaded.prepared(known).prepare().rules.text() for known in with_rules(loaded)}
    assert [kind for kind, text in texts.items() if "S.variable(" in text] == []


def test_what_the_function_cannot_decide_is_counted(loaded: Catalog, monkeypatch):
    known = next(known for gvk, known in loaded.kinds.items() if gvk.kind == "Model")
    prepared = loaded.prepared(known)
    screen, before = prepared.prepare().rules, prepared.undecided
    obj = {"apiVersion": f"{known.gvk.group}/v1alpha1", "kind": "Model", "metadata": {"name": "m"}}
    request = Request(known.gvk, known.plural, "CREATE", {**obj, "spec": {"source": "org/repo"}}, name="m")
    decided = engine.validate(request, loaded, MemoryView())
    assert prepared.undecided == before
    monkeypatch.setattr(screen, "run", lambda *_: None)
    assert engine.validate(request, loaded, MemoryView()) == decided
    assert prepared.undecided == before + 1
