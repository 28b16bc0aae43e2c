"""One way to make an object costly, and the largest reviews of it that stay within a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import orjson

from tests.hostile import bodies
from tests.hostile.bodies import Json
from tests.hostile.places import Make, Place, fillings, places
from webhook.catalog import KnownKind

Change = Literal["CREATE", "UPDATE same", "UPDATE other"]
CHANGES: Final[tuple[Change, ...]] = ("CREATE", "UPDATE same", "UPDATE other")
Share = Callable[[bytes], float]
"""How much of a bound a review takes: 1 is just within."""

PROBE: Final = 64
"""Items of the review from which the size of larger ones is reckoned."""

OBJECT_BYTES: Final = 3 * 1024 * 1024
"""The API server takes no larger object; etcd, as it is set by default, takes half of it."""

MOST_VALUES: Final = 50_000
"""JSON values of an object that the gate still judges."""


@dataclass(frozen=True, eq=False)
class Attack:
    """A place of a kind, and what it is filled with; ``stamp`` bytes of a made-up stamp beside it."""

    known: KnownKind
    place: Place
    filling: str
    make: Make
    stamp: int = 0

    def __str__(self) -> str:
        stamp = f", stamp of {self.stamp // 1024} KiB" if self.stamp else ""
        return f"{self.place}: {self.filling}{stamp}"

    def object(self, count: int) -> Json:
        made: Json = self.place.put(bodies.good(self.known), self.make(count))
        return bodies.stamped(made, bodies.made_up_stamp(self.stamp)) if self.stamp else made

    def review(self, change: Change, count: int) -> bytes:
        obj = self.object(count)
        if change == "CREATE":
            return bodies.review(self.known, obj)
        return bodies.review(self.known, obj, obj if change == "UPDATE same" else bodies.good(self.known))

    def largest(self, change: Change, share: Share) -> bytes:
        """The largest review of this attack that is within a bound, or nearly; with one item where nothing is."""
        first, probe = share(self.review(change, 1)), share(self.review(change, PROBE))
        if first > 1 or probe <= first:
            return self.review(change, 1)
        count = max(1, int((1 - first) / (probe - first) * (PROBE - 1)))
        while share(body := self.review(change, count)) > 1 and count > 1:  # numbers in names become longer
            count -= max(1, count // 50)
        return body


def attacks(known: KnownKind) -> Iterator[Attack]:
    """All places of a kind with all their fillings."""
    for place in places(dict(known.schema.raw)):
        for name, make in fillings(place.schema).items():
            yield Attack(known, place, name, make)


def attack(kind: str, place: str, filling: str) -> Attack:
    """One by its names.

    Raises:
        LookupError: the kind has no such place, or the place no such filling.
    """
    for each in attacks(bodies.kinds()[kind]):
        if (str(each.place), each.filling) == (place, filling):
            return each
    raise LookupError(f"{kind} has no place {place} to fill with {filling}")


def small(body: bytes) -> float:
    """The share that a review takes of the bound of small ones."""
    return max(len(body) / bodies.FEW_BYTES, bodies.tokens(body) / bodies.FEW_TOKENS)


def widest(body: bytes) -> float:
    """The share that a review's objects take of the largest that a caller can have."""
    return max(len(orjson.dumps(obj)) for obj in _objects(body)) / OBJECT_BYTES


def let_in(body: bytes) -> float:
    """The share that a review's objects take of the largest that the gate judges."""
    return max(widest(body), max(map(bodies.values, _objects(body))) / MOST_VALUES)


def _objects(body: bytes) -> list[Any]:
    request = orjson.loads(body)["request"]
    return [request[name] for name in ("object", "oldObject") if request[name]]


@cache
def large(one: Attack, change: Change) -> tuple[bytes, bytes]:
    """The largest review there is of an attack, and the largest that the gate judges."""
    return one.largest(change, widest), one.largest(change, let_in)
