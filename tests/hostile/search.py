"""Search all places of a kind for what costs the gate the most CPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from tests.hostile import bodies
from tests.hostile.attacks import CHANGES, Attack, Change, attacks
from tests.hostile.timing import CALLS, Call, cpu_ms
from webhook.engine.catalog import KnownKind

FINALISTS = 6
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
        return f"{self.attack.known.gvk.kind} {self.change} {self.call}: {self.attack}"


def small(known: KnownKind, seconds: float = float("inf")) -> list[Found]:
    """The costliest small reviews of a kind, worst first, found within about so many seconds.

    Every place is tried once, as an update that changes everything. The worst are tried in all ways, with stamps, too.
    """
    until = time.monotonic() + seconds
    tried: list[Found] = []
    for one in attacks(known):
        tried.append(measured(one, "UPDATE other", "validate"))
        if time.monotonic() > until:
            break
    finals = [measured(*way) for found in _worst(tried) for way in _ways(found.attack)]
    return _worst([again(found) for found in _worst(finals)])


def again(found: Found) -> Found:
    """Measured thrice more: what the machine did meanwhile does not count."""
    return replace(found, ms=min(found.ms, cpu_ms(found.call, found.body, rounds=3)))


def _worst(found: list[Found]) -> list[Found]:
    return sorted(found, key=lambda each: -each.ms)[:FINALISTS]


def _ways(one: Attack) -> Iterator[tuple[Attack, Change, Call]]:
    stamped = (one, *(replace(one, stamp=size) for size in STAMPS))
    return product(stamped, CHANGES, CALLS)


def measured(one: Attack, change: Change, call: Call) -> Found:
    """The largest small review of an attack, and its CPU."""
    body = one.largest(change, bodies.is_small)
    return Found(one, change, call, cpu_ms(call, body), body)
