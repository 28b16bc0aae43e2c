"""Good and hostile callers, each group in a process of its own, so that neither slows down the other's clock."""

from __future__ import annotations

import asyncio
import itertools
import math
import multiprocessing
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

from tests.hostile import processes
from tests.hostile.wire import HEALTH, Answer, Caller, Target, post, repeated

GOOD_CALLERS = 4
GOOD_PAUSE = 0.02
PROBE_PAUSE = 0.1
HOSTILE_CALLERS = 4
TIMEOUT = 5
"""Seconds that a hostile call says it waits, as an API server does."""


@dataclass(frozen=True)
class Latency:
    """Milliseconds of the answers of one kind of caller; ``failed`` counts what was not 200."""

    p50: float
    p99: float
    most: float
    failed: int
    count: int

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Latency:
        times = sorted(answer.seconds * 1e3 for answer in answers) or [math.inf]
        failed = sum(answer.status != 200 for answer in answers)
        return cls(times[len(times) // 2], times[len(times) * 99 // 100], times[-1], failed, len(answers))


@dataclass(frozen=True)
class Hostile:
    """What the hostile calls got: statuses (0: a closed connection), and seconds at the most."""

    statuses: Counter[int]
    slowest: float
    without_retry_after: int

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Hostile:
        missing = sum(answer.status == 503 and not answer.retry_after for answer in answers)
        slowest = max((answer.seconds for answer in answers), default=0.0)
        return cls(Counter(answer.status for answer in answers), slowest, missing)

    @property
    def wrong(self) -> int:
        """Answers that must not be: 500, other statuses, closed connections, 503 without a time."""
        return sum(count for status, count in self.statuses.items() if status not in {200, 413, 503}) + (
            self.without_retry_after
        )


class Crowd:
    """Two processes for callers, on the core that the gate is not on."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(2, mp_context=spawn, initializer=_aside)

    def good(self, target: Target, body: bytes, seconds: float) -> Future[tuple[Latency, Latency]]:
        """The latencies of four good callers and of fresh connections to ``/healthz``."""
        return self._pool.submit(_good, target, body, seconds)

    def hostile(
        self, target: Target, path: str, attacks: Sequence[bytes], seconds: float, callers: int = HOSTILE_CALLERS
    ) -> Future[Hostile]:
        return self._pool.submit(_hostile, target, path, attacks, seconds, callers)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _aside() -> None:
    os.sched_setaffinity(0, {processes.cores()[1]})


def _good(target: Target, body: bytes, seconds: float) -> tuple[Latency, Latency]:
    good, probes = asyncio.run(_goods(target, body, seconds))
    return Latency.of(good), Latency.of(probes)


async def _goods(target: Target, body: bytes, seconds: float) -> tuple[list[Answer], list[Answer]]:
    context = target.context()
    requests = itertools.cycle([post("/mutate?timeout=5s", body), post("/validate?timeout=5s", body)])

    async def one() -> list[Answer]:
        async with Caller(target, context) as caller:
            await caller.ask(HEALTH)
            return await repeated(seconds, GOOD_PAUSE, lambda: caller.ask(next(requests)))

    async def probe() -> Answer:
        async with Caller(target, context) as caller:
            return await caller.ask(HEALTH)

    *found, probes = await asyncio.gather(*(one() for _ in range(GOOD_CALLERS)), repeated(seconds, PROBE_PAUSE, probe))
    return [*itertools.chain.from_iterable(found)], probes


def _hostile(target: Target, path: str, attacks: Sequence[bytes], seconds: float, callers: int) -> Hostile:
    return Hostile.of(asyncio.run(_hostiles(target, path, attacks, seconds, callers)))


async def _hostiles(target: Target, path: str, attacks: Sequence[bytes], seconds: float, callers: int) -> list[Answer]:
    context = target.context()
    requests = itertools.cycle([post(f"{path}?timeout={TIMEOUT}s", body) for body in attacks])

    async def one() -> list[Answer]:
        async with Caller(target, context) as caller:
            return await repeated(seconds, 0, lambda: caller.ask(next(requests)))

    found = await asyncio.gather(*(one() for _ in range(callers)))
    return [*itertools.chain.from_iterable(found)]
