"""Search all places of a kind for what costs the gate the most CPU."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from tests.hostile import attacks, bodies
from tests.hostile.attacks import CHANGES, Attack, Change
from tests.hostile.timing import CALLS, Call, cpu_ms
from webhook.catalog import KnownKind

FINALISTS = 6
SLOW_MS = 500.0
STAMPS = (16 * 1024,)


@dataclass(frozen=True)
class Found:
    """A small review and the CPU that it takes."""

    attack: Attack
    change: Change
    call: Call
    ms: float
    body: bytes

    def __str__(self) -> str:
        return f"{bodies.name_of(self.attack.known)} {self.change} {self.call}: {self.attack}"


def small(known: KnownKind, seconds: float = float("inf")) -> list[Found]:
    """The costliest small reviews of a kind, worst first, found within about so many seconds.

    Every place is tried once, as an update that changes everything. The worst are tried in all ways, with stamps, too.
    """
    everything = list(attacks.attacks(known))
    random.Random(0).shuffle(everything)  # a search that is cut short has seen every corner,
    everything.sort(key=lambda one: len(one.place.steps))  # and first the places that rules are about
    tried = list(_within(seconds, ((one, "UPDATE other", "validate") for one in everything)))
    ways = (way for found in _worst(tried) for way in _ways(found.attack))
    finals = _worst([*_within(seconds, ways), *tried])
    return _worst([again(found) for found in finals])


def _within(seconds: float, ways: Iterable[tuple[Attack, Change, Call]]) -> Iterator[Found]:
    until = time.monotonic() + seconds
    for way in ways:
        yield measured(*way)
        if time.monotonic() > until:
            return


def again(found: Found) -> Found:
    """Measured again, more often where it is quick: what the machine did meanwhile does not count."""
    return replace(found, ms=min(found.ms, cpu_ms(found.call, found.body, rounds=3 if found.ms < SLOW_MS else 1)))


def _worst(found: list[Found]) -> list[Found]:
    return sorted(found, key=lambda each: -each.ms)[:FINALISTS]


def _ways(one: Attack) -> Iterator[tuple[Attack, Change, Call]]:
    stamped = (one, *(replace(one, stamp=size) for size in STAMPS))
    return product(stamped, CHANGES, CALLS)


def measured(one: Attack, change: Change, call: Call) -> Found:
    """The largest small review of an attack, and its CPU."""
    body = one.largest(change, attacks.small)
    return Found(one, change, call, cpu_ms(call, body), body)
