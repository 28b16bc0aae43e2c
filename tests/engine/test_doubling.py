"""Twice as many items take at most 2.3 times the steps: over the lists and maps of all kinds, alone and in pairs.

A place counts once for all kinds that have it, and a part of the places is tried: ``make hostile`` tries all of them,
longer, and in more ways.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from tests.hostile import bodies
from tests.hostile.attacks import Change
from tests.hostile.doubling import MOST, Case, alone, beside, pairs
from tests.laws import is_quick
from webhook.facts import KNOWN

LENGTH: Final = 40
WAYS: Final[tuple[tuple[str, Change], ...]] = (("different", "CREATE"), ("colliding", "UPDATE other"))
PART, QUICK = 3, 8
"""One place of so many is tried; fewer where a contributor waits."""


def too_steep(cases: Iterable[Case], change: Change) -> list[str]:
    """The cases that take more, at this length and at twice of it: a memory that is full at one length is apart."""
    tried = [*cases][:: QUICK if is_quick() else PART]
    ratios = ((case, case.ratio(LENGTH, change=change)) for case in tried)
    steep = ((case, ratio) for case, ratio in ratios if ratio > MOST and case.ratio(2 * LENGTH, change=change) > MOST)
    return [f"{case.name}: {ratio:.2f}" for case, ratio in steep]


def once_each(text: str) -> dict[str, list[Case]]:
    tried: set[object] = set()
    return {name: [*alone(known, [text], tried)] for name, known in bodies.kinds().items()}


def once_each_pair(text: str) -> dict[str, list[Case]]:
    tried: set[object] = set()
    cases: dict[str, list[Case]] = {}
    for pair in pairs():
        cases.setdefault(str(pair), []).extend(beside(pair, [text], tried))
    return cases


@pytest.mark.parametrize("name", bodies.kinds())
@pytest.mark.parametrize(("text", "change"), WAYS)
def test_twice_the_items_of_an_object_take_twice_the_steps(name: str, text: str, change: Change) -> None:
    assert too_steep(once_each(text)[name], change) == []


@pytest.mark.parametrize("name", sorted({str(pair) for pair in pairs()}))
def test_twice_the_items_of_two_objects_take_twice_the_steps(name: str) -> None:
    assert too_steep(once_each_pair("different")[name], "CREATE") == []


def test_every_kind_that_facts_read_is_in_a_pair() -> None:
    read = {kind for known in KNOWN.values() for kind in (*known.watched, *(each.kind for each in known.fetched))}
    assert read <= {pair.other for pair in pairs()}


@pytest.mark.parametrize("kind", ["ServingRuntime", "ClusterServingRuntime", "BaseModel", "ClusterBaseModel"])
def test_a_service_takes_no_more_steps_among_twice_as_many(kind: str) -> None:
    """Once its choice is known, a tenant with thousands of runtimes costs the others nothing."""
    beside_them = [pair for pair in pairs() if str(pair) == f"InferenceService beside {kind}"]
    assert beside_them
    for pair in beside_them:
        very_many = next(beside(pair))
        few, many = (very_many.steps(count, rounds=2) for count in (100, 400))
        assert many <= few * 1.1, pair
