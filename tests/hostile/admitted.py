"""The worst object of each kind that is let in: what judging it costs in CPU and memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import orjson

from tests.hostile import attacks, bodies, timing
from tests.hostile.attacks import CHANGES, PROBE, Attack, Change
from tests.hostile.bars import Report
from tests.hostile.processes import MIB
from tests.hostile.timing import CALLS, Call

PART = "admitted"
SECONDS = 1.0
PEAK_MIB = 256.0
FINALISTS = 4
STORED_BYTES = 1_500_000
"""etcd takes no larger request, as it is set by default."""

STEP: Final = 1.1

Way = tuple[Attack, Change, Call]


def run(report: Report, names: Sequence[str] = ()) -> None:
    """For each kind, the largest objects that pass, filled at the places that cost the most."""
    timing.settle()
    for name in names or bodies.kinds():
        slowness = timing.slowness()
        found = [(_measured(way), way) for way in _finalists(name)]
        for index, what, unit, bar in ((0, "CPU", "s", SECONDS), (1, "peak", "MiB", PEAK_MIB)):
            figures, way = max(found, key=lambda each: each[0][index])
            scale = slowness if unit == "s" else 1
            report.add(PART, f"{name}, worst object let in: {what}", figures[index] / scale, unit, bar, _shown(way))


def _finalists(name: str) -> list[Way]:
    """The ways that cost the most for their bytes, at a size at which all can be tried."""
    tried = sorted(_passing(name), key=lambda each: -each[0])
    chosen: dict[Attack, Way] = {}
    for _, way in tried:
        chosen.setdefault(way[0], way)
    return list(chosen.values())[:FINALISTS]


def _passing(name: str) -> Iterator[tuple[float, Way]]:
    for one in attacks.attacks(bodies.kinds()[name]):
        for change in CHANGES:
            body = one.review(change, PROBE)
            if allowed("validate", body):
                share = let_in(body)
                yield from ((timing.cpu_ms(call, body) / share, (one, change, call)) for call in CALLS)


def allowed(call: Call, body: bytes) -> bool:
    return bool(orjson.loads(timing.answered(call, body))["response"]["allowed"])


def let_in(body: bytes) -> float:
    """The share of what the gate judges and etcd stores."""
    return max(attacks.let_in(body), attacks.widest(body) * attacks.OBJECT_BYTES / STORED_BYTES)


@cache
def largest(way: Way) -> bytes:
    """The largest review of a way that passes, to a tenth."""
    one, change, _ = way
    count, step = PROBE, 2.0
    while step > STEP:
        body = one.review(change, int(count * step))
        if let_in(body) <= 1 and allowed("validate", body):
            count = int(count * step)
        else:
            step **= 0.5
    return one.review(change, count)


def _measured(way: Way) -> tuple[float, float]:
    """Seconds of CPU and MiB of memory, by a child that judges the largest object."""
    call, body = way[2], largest(way)
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            before = _most()
            spent = timing.cpu_ms(call, body) / 1e3
            os.write(write_end, orjson.dumps((spent, (_most() - before) / MIB)))
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        spent, peak = orjson.loads(pipe.read())
    os.waitpid(pid, 0)
    return spent, peak


def _most() -> int:
    """Bytes that this process had in memory at the most; a child begins anew."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def _shown(way: Way) -> str:
    one, change, call = way
    body = largest(way)
    return f"{change} {call}: {one} ({len(body) / MIB:.1f} MiB)"
