"""The law of doubling: twice as many items take at most so many times the steps, alone and beside another object.

A step is a call of a function, in Python or in C, which is the same on every machine. What a call does with a long list
within itself is not counted; ``make hostile`` measures time as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import orjson

from tests.hostile import bodies, timing
from tests.hostile.attacks import Change
from tests.hostile.bodies import Json
from tests.hostile.places import Place, Schema, kind_of, places
from tests.hostile.timing import Call
from webhook import engine
from webhook.admission import GroupVersionKind, group_version, review
from webhook.catalog import KnownKind
from webhook.cluster import Kind, MemoryView

MOST: Final = 2.3
"""The steps of twice the length, by those of the length: 2 is a line."""

DEPTH: Final = 5
"""Levels of an item that are filled."""

Text = Callable[[int], str]

TEXTS: Final[dict[str, Text]] = {
    "equal": lambda _: "a",
    "different": lambda number: f"a{number}",
    "wrong": lambda number: f"A_{number}=",
    "colliding": lambda number: ("a", "a/b", "a/b/c", "/a", "/a/b")[number % 5],
}
"""The texts of an item, by its number: names, keys and paths. Those that collide are beginnings of each other."""


def item(schema: Schema, text: str, number: int, depth: int = 0) -> Any:
    """A value with all its fields, whose texts are those of an item of this number."""
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"]) if text == "different" else 0]
    kind, varies = schema.get("type"), text == "different"
    if schema.get("x-kubernetes-int-or-string") or kind in {"integer", "number"}:
        return 1 + number % 60_000 if varies else 1
    if kind == "string":
        is_number = "0-9" in schema.get("pattern", "") or "KMGTP" in schema.get("pattern", "")
        return "1" if is_number else TEXTS[text](number)
    if kind == "boolean":
        return True
    if depth >= DEPTH:
        return [] if kind == "array" else {}
    if kind == "array":
        return [item(schema.get("items", {}), text, number, depth + 1)]
    if isinstance(schema.get("additionalProperties"), dict):
        return {TEXTS[text](number): item(schema["additionalProperties"], text, number, depth + 1)}
    fields = schema.get("properties", {}).items()
    return {name: item(child, text, number, depth + 1) for name, child in fields}


def filling(schema: Schema, text: str, count: int) -> Any:
    """So many items, keys or characters at a place of this schema."""
    kind = kind_of(schema)
    if kind == "text":
        return (TEXTS[text](0) + "/") * (count // 2)
    if kind == "list":
        return [item(schema.get("items", {}), text, number, 1) for number in range(count)]
    inner = schema.get("additionalProperties")
    inner = inner if isinstance(inner, dict) else {"type": "integer"}
    return {f"{TEXTS[text](number)}{number}": item(inner, text, number, 1) for number in range(count)}


@dataclass(frozen=True)
class Case:
    """An object among others, which grow; ``make`` gives both for a length. ``name`` says what grows."""

    name: str
    known: KnownKind
    make: Callable[[int], tuple[Json, list[Json]]] = field(repr=False)

    def ratio(self, count: int, call: Call = "validate", change: Change = "CREATE") -> float:
        """How many times the steps of a length twice the length takes.

        Where it is more than :data:`MOST`, twice that is tried as well, and the smaller of both counts: a limit between
        two lengths is not a square.
        """
        steps = [self.steps(count, call, change), self.steps(2 * count, call, change)]
        if steps[1] > MOST * steps[0]:
            steps.append(self.steps(4 * count, call, change))
        return min(after / before for before, after in pairwise(steps))

    def steps(self, count: int, call: Call = "validate", change: Change = "CREATE", rounds: int = 1) -> int:
        """The calls of functions of one review, the last of some in the same view."""
        obj, others = self.make(count)
        old = {"CREATE": None, "UPDATE same": obj, "UPDATE other": _reordered(obj)}[change]
        body, view = bodies.review(self.known, obj, old), MemoryView(others)
        return [steps_of(call, body, view) for _ in range(rounds)][-1]


def _reordered(obj: Json) -> Json:
    """The same with its lists in another order, so that each item is another."""

    def turned(node: Any) -> Any:
        if isinstance(node, list):
            return [*map(turned, reversed(node))]
        return {key: turned(value) for key, value in node.items()} if isinstance(node, dict) else node

    return {**obj, "spec": turned(obj.get("spec"))}


def steps_of(call: Call, body: bytes, view: MemoryView) -> int:
    """The calls of functions from the body to the reply."""
    decide = engine.mutate if call == "mutate" else engine.validate
    timing.forget()
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        version, request = review.decode(body)
        review.encode(call, version, request, decide(request, bodies.loaded(), view))
    finally:
        sys.setprofile(before)
    return count


@cache
def grown(gvk: GroupVersionKind) -> list[Place]:
    """The lists and maps of a kind that a user writes."""
    found = places(dict(bodies.loaded().kinds[gvk].schema.raw))
    return [place for place in found if kind_of(place.schema) in {"list", "map"} and place.steps[0] != "status"]


Grown = tuple[str | int, bytes]
"""What is the same at all places where one list occurs: its name and its schema."""


def likeness(place: Place) -> Grown:
    return place.steps[-1], orjson.dumps(place.schema)


def alone(known: KnownKind, texts: Iterable[str] = TEXTS, tried: set[Any] | None = None) -> Iterator[Case]:
    """An object with one list or map that grows; without those that were ``tried``, which are added."""
    good, tried = bodies.good(known), set() if tried is None else tried
    for place in grown(known.gvk):
        if likeness(place) not in tried:
            for text in texts:
                yield Case(f"{place}: {text}", known, partial(_alone, good, place, text))
    tried.update(map(likeness, grown(known.gvk)))


def _alone(good: Json, place: Place, text: str, count: int) -> tuple[Json, list[Json]]:
    return place.put(good, filling(place.schema, text, count)), []


class Pair(NamedTuple):
    """An object that reads the last of some others."""

    known: KnownKind
    obj: Json
    others: list[Json]
    other: Kind

    def __str__(self) -> str:
        return f"{bodies.name_of(self.known)} beside {self.other.kind}"

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind of the other."""
        return GroupVersionKind(*group_version(self.others[-1]["apiVersion"]), self.other.kind)


VARIANTS: Final = 3
"""Cases of one pair that differ by the fields which their object sets."""


@cache
def pairs() -> list[Pair]:
    """Each kind beside each other one that its facts read, by the smallest cases that have both."""
    smallest: dict[tuple[GroupVersionKind, Kind], dict[frozenset[str], Pair]] = {}
    written = [(gvk, case) for gvk, cases in bodies.cases().items() for case in cases if not case.keys() & _SPECIAL]
    for gvk, case in sorted(written, key=lambda entry: len(orjson.dumps(entry[1]))):
        known, given = bodies.loaded().kinds[gvk], case.get("object") or {"spec": case.get("spec")}
        if not isinstance(given.get("spec"), dict):
            continue
        for other in case.get("others", ()):
            kind = Kind(group_version(other["apiVersion"])[0], other["kind"])
            metadata = {
                "name": "a",
                **({"namespace": "default"} if known.namespaced else {}),
                **given.get("metadata", {}),
            }
            obj = {"apiVersion": f"{gvk.group}/{gvk.version}", "kind": gvk.kind, **given, "metadata": metadata}
            others = [*(each for each in case["others"] if each is not other), other]
            variants = smallest.setdefault((gvk, kind), {})
            variants.setdefault(frozenset(given["spec"]), Pair(known, obj, others, kind))
    return [pair for variants in smallest.values() for pair in [*variants.values()][:VARIANTS]]


_SPECIAL: Final = {"oldObject", "oldSpec", "settings", "release", "unstamped"}


def beside(pair: Pair, texts: Iterable[str] = TEXTS, tried: set[Any] | None = None) -> Iterator[Case]:
    """Very many others; one other that grows; and both at the same place. ``tried`` as in :func:`alone`."""
    yield Case("very many", pair.known, partial(_many, pair))
    tried, gvk = set() if tried is None else tried, pair.gvk
    if gvk not in bodies.loaded().kinds:
        return
    same: dict[Grown, list[Place]] = {}
    for place in grown(pair.known.gvk):
        same.setdefault(likeness(place), []).append(place)
    for place in grown(gvk):
        key = (pair.known.api, likeness(place), likeness(place) in same)
        if key in tried:
            continue
        nearest = max(same.get(likeness(place), ()), key=lambda each: _alike(each, place), default=None)
        for text in texts:
            yield Case(f"{place} of the other: {text}", pair.known, partial(_beside, pair, place, text, None))
            if nearest is not None:
                name = f"{nearest} and {place} of the other: {text}"
                yield Case(name, pair.known, partial(_beside, pair, place, text, nearest))
    tried.update((pair.known.api, likeness(place), likeness(place) in same) for place in grown(gvk))


def _alike(one: Place, other: Place) -> int:
    """How alike two places are: by their last steps, and by the part of the object in which they are."""
    ours, theirs = [*map(str, one.steps)], [*map(str, other.steps)]
    common = next((n for n, (a, b) in enumerate(zip(ours[::-1], theirs[::-1], strict=False)) if a != b), 0)
    return 2 * common + (theirs[1].startswith(ours[1]) or ours[1].startswith(theirs[1]))


def _many(pair: Pair, count: int) -> tuple[Json, list[Json]]:
    last = pair.others[-1]
    more = [{**last, "metadata": {**last["metadata"], "name": f"x{number}"}} for number in range(count)]
    return pair.obj, [*pair.others, *more]


def _beside(pair: Pair, place: Place, text: str, mine: Place | None, count: int) -> tuple[Json, list[Json]]:
    other = place.put(pair.others[-1], filling(place.schema, text, count))
    obj = pair.obj if mine is None else mine.put(pair.obj, filling(mine.schema, text, count))
    return obj, [*pair.others[:-1], other]
