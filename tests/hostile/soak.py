"""``python -m tests.hostile.soak --minutes 60``: mixed calls without a pause; memory and descriptors must stay.

The slope is that of a least-squares line through the RSS after the first tenth of the time, which fills the caches.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from tests.hostile import bodies, processes
from tests.hostile.attacks import attack
from tests.hostile.bars import Report
from tests.hostile.isolation import good_body
from tests.hostile.serving import Gate, serving
from tests.hostile.wire import HEALTH, Caller, Target, post

PART = "soak"
SLOPE_MIB = 1.0
"""MiB that memory may grow in the whole time."""
CALLERS = 4
SAMPLE_SECONDS = 1.0
Sample = tuple[float, float, int]
"""Seconds since the start, MiB of RSS, descriptors."""


def mixture() -> list[bytes]:
    """Good and bad calls of every sort, each once."""
    reviews = [bodies.review(known, bodies.good(known)) for known in bodies.kinds().values()]
    updates = [bodies.review(known, bodies.good(known), bodies.good(known)) for known in bodies.kinds().values()]
    wrong = [b"{", b"[]", reviews[0][:-1], reviews[0].replace(b"CREATE", b"create")]
    calls = [
        post(f"/{call}?timeout=5s", body) for call in ("mutate", "validate") for body in (*reviews, *updates, *wrong)
    ]
    large = [post(f"/{call}?timeout=30s", of_a_child()) for call in ("mutate", "validate")]
    metrics = HEALTH.replace(b"healthz", b"metrics")
    return [*calls, *large, HEALTH, metrics, HEALTH.replace(b"healthz", b"nowhere")]


def of_a_child() -> bytes:
    """A review that is just large enough to be decided in a child process."""
    return attack("AIMService", "spec.imagePullSecrets", "empty objects").review("CREATE", 3_000)


async def load(gate: Gate, seconds: float) -> tuple[Counter[int], list[Sample]]:
    """The statuses, and samples of the process, one a second."""
    target, samples, until = Target(gate.port, str(gate.authority_file)), list[Sample](), time.monotonic() + seconds
    statuses: Counter[int] = Counter()
    context = target.context()

    async def caller(seed: int) -> None:
        dice, calls = random.Random(seed), mixture()
        for fresh in itertools.cycle((False,) * 49 + (True,)):
            if time.monotonic() > until:
                return
            async with Caller(target, context) as one:
                for _ in range(1 if fresh else 20):
                    statuses[(await one.ask(dice.choice(calls))).status] += 1

    async def sampler() -> None:
        started = time.monotonic()
        while time.monotonic() < until:
            samples.append((time.monotonic() - started, processes.rss(gate.pid), processes.descriptors(gate.pid)))
            await asyncio.sleep(SAMPLE_SECONDS)

    await asyncio.gather(sampler(), *(caller(seed) for seed in range(CALLERS)))
    return statuses, samples


def run(report: Report, seconds: float) -> None:
    with serving() as gate:
        gate.post("/validate", good_body())
        before = processes.descriptors(gate.pid)
        statuses, samples = asyncio.run(load(gate, seconds))
        time.sleep(1)
        left = max(0, processes.descriptors(gate.pid) - before)
    settled = [sample for sample in samples if sample[0] > seconds / 10]
    line = statistics.linear_regression([each[0] for each in settled], [each[1] for each in settled])
    note = f"{samples[0][1]:.1f} to {samples[-1][1]:.1f} MiB, at most {max(each[1] for each in samples):.1f}"
    report.add(PART, f"growth in {seconds / 60:g} minutes, by slope", line.slope * seconds, "MiB", SLOPE_MIB, note)
    report.add(PART, "descriptors left", left, "", 0)
    failed = sum(count for status, count in statuses.items() if status not in {200, 400, 404})
    note = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
    report.add(PART, "calls without a proper answer", failed, "", 0, note)


def main(argv: list[str] | None = None) -> int:
    """Run, print the figures; 1 where a bar is not met."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    report = Report()
    run(report, options.minutes * 60)
    if options.json:
        report.write(options.json)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
