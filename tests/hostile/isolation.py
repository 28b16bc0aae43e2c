"""Parts 1 and 2: what four hostile callers with the worst object of a kind do to all others, and what they get."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.hostile import bodies, worst
from tests.hostile.attacks import CHANGES, Change, large
from tests.hostile.bars import Report
from tests.hostile.callers import TIMEOUT, Crowd, Hostile, Latency
from tests.hostile.cgroup import memory_group
from tests.hostile.processes import of_others
from tests.hostile.serving import Gate, serving
from tests.hostile.timing import CALLS, Call
from tests.hostile.wire import Target

PART = "isolation"
OTHERS = 0.1
"""Cores that other programs may take in a round; a round in which they take more is repeated."""
GRACE = 1.0
"""Seconds over its timeout that a hostile call may take: handshake, and a body of megabytes on a busy core."""


@dataclass(frozen=True)
class Round:
    """One kind, change and call: what good callers, probes and hostile callers met."""

    name: str
    good: Latency
    probes: Latency
    hostile: Hostile
    others: float
    """Cores that other programs took."""


@dataclass
class Rounds:
    """All rounds, and how often the gate ended."""

    done: list[Round] = field(default_factory=list)
    deaths: Counter[int] = field(default_factory=Counter)


def run(report: Report, seconds: float, names: Sequence[str] = (), tries: int = 6) -> None:
    """Attack with every kind (or these), and report against the bars. A disturbed round is tried so often."""
    crowd = Crowd()
    try:
        idle, rounds = _rounds(crowd, seconds, names or [*bodies.kinds()], tries)
    finally:
        crowd.close()
    _report(report, idle, rounds)


def _rounds(crowd: Crowd, seconds: float, names: Sequence[str], tries: int) -> tuple[tuple[Latency, Latency], Rounds]:
    rounds, idle = Rounds(), None
    left = list(_ways(names))
    while left:
        with memory_group() as group, serving(group=group) as gate:
            idle = idle or crowd.good(_target(gate), good_body(), max(seconds, 3)).result()
            while left and gate.ended() is None:
                rounds.done.append(_quiet(crowd, gate, seconds, tries, *left.pop(0)))
            if gate.ended() is not None:
                rounds.deaths[gate.ended() or 0] += 1
    assert idle is not None
    return idle, rounds


def _ways(names: Sequence[str]) -> Iterator[tuple[str, Change, Call]]:
    for name in names:
        for change in CHANGES[:2]:
            for call in CALLS:
                yield name, change, call


def good_body() -> bytes:
    """A small review of a kind that every rule set has."""
    known = bodies.kinds()["Model"]
    return bodies.review(known, bodies.good(known))


def _target(gate: Gate) -> Target:
    return Target(gate.port, str(gate.authority_file))


def _quiet(crowd: Crowd, gate: Gate, seconds: float, tries: int, name: str, change: Change, call: Call) -> Round:
    """The first round that other programs do not disturb, or the one that they disturb least."""
    found: list[Round] = []
    while not found or (found[-1].others > OTHERS and len(found) < tries and gate.ended() is None):
        found.append(_round(crowd, gate, seconds, name, change, call))
    best = min(found, key=lambda each: each.others)
    wrong = [each for each in found if each.good.failed or each.probes.failed or each.hostile.wrong]
    return wrong[0] if wrong else best  # no other program excuses a wrong answer


def _round(crowd: Crowd, gate: Gate, seconds: float, name: str, change: Change, call: Call) -> Round:
    attacks = [body for one in worst.of(name) for body in large(one, change)]
    target, others, start = _target(gate), of_others(), time.monotonic()
    hostile = crowd.hostile(target, f"/{call}", attacks, seconds)
    good, probes = crowd.good(target, good_body(), seconds).result()
    answered = hostile.result()
    others = (of_others() - others) / (time.monotonic() - start)
    found = Round(f"{name} {change} {call}", good, probes, answered, others)
    print(f"  {found.name:52} p99 {good.p99:8.1f} max {good.most:8.1f} failed {good.failed:4} probe {probes.most:8.1f} "
          f"hostile {dict(answered.statuses)} ≤ {answered.slowest:.1f} s others {others:.2f}", flush=True)  # fmt: skip
    return found


def _report(report: Report, idle: tuple[Latency, Latency], rounds: Rounds) -> None:
    bar = max(3 * idle[0].p99, 25.0)
    report.add(PART, "good callers alone, p99", idle[0].p99, "ms")
    disturbed = max(rounds.done, key=lambda each: each.others)
    report.add(PART, "most that other programs took in a round", disturbed.others, "cores", note=disturbed.name)
    figures: tuple[tuple[str, Callable[[Round], float], float], ...] = (
        ("good callers under attack, worst p99", lambda each: each.good.p99, bar),
        ("good callers under attack, worst call", lambda each: each.good.most, 250.0),
        ("fresh connection and /healthz under attack, slowest", lambda each: each.probes.most, 500.0),
    )
    for name, figure, limit in figures:
        top = max(rounds.done, key=figure)
        report.add(PART, name, figure(top), "ms", limit, top.name)
    report.add(PART, "good calls that failed", sum(each.good.failed for each in rounds.done), "", 0)
    report.add(PART, "probes that failed", sum(each.probes.failed for each in rounds.done), "", 0)
    report.add(PART, "times that the gate ended", rounds.deaths.total(), "", 0, _shown(rounds.deaths))
    statuses: Counter[int] = sum((each.hostile.statuses for each in rounds.done), Counter())
    report.add("answers", "hostile calls", statuses.total(), note=_shown(statuses))
    report.add(
        "answers", "hostile calls without a proper answer", sum(each.hostile.wrong for each in rounds.done), "", 0
    )
    slowest = max(rounds.done, key=lambda each: each.hostile.slowest, default=None)
    longest = slowest.hostile.slowest if slowest else math.nan
    report.add("answers", "slowest hostile call", longest, "s", TIMEOUT + GRACE, slowest.name if slowest else "")


def _shown(counts: Counter[int]) -> str:
    return ", ".join(f"{value}: {count}" for value, count in sorted(counts.items()))
