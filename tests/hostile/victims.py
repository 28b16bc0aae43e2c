"""Items that collide, in one object and in pairs of objects: what they cost the gate, the reconciler and ``check``.

The others are stored: a review that is small by its own bytes may be about large ones.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from tests.hostile import bodies, doubling, timing
from tests.hostile.bars import Report
from tests.hostile.doubling import MOST, Case
from tests.hostile.processes import MIB
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.engine.audit import Ruling, judge
from webhook.serve.gate import Gate
from webhook.serve.gate.judgement import judge as judged

PART = "pairs"
LOOP_MS = 50.0
CHILD_SECONDS = 2.0
ROOM_MIB = 64.0
TIMES = 40
"""The memory of a judgement outside the gate: :data:`ROOM_MIB`, and so many times the bytes of its objects."""

LENGTH: Final = 100
"""Items of the shorter object whose steps are counted."""
ITEMS: Final = 1_000
PATIENCE: Final = 10.0
AGAIN: Final = 2
"""Times that the worst case is measured again."""


@dataclass(frozen=True)
class Cost:
    """What one case costs: milliseconds of the loop, seconds in a child, and the ratio of :mod:`doubling`."""

    case: Case
    loop: float
    child: float
    ratio: float


def run(report: Report, seconds: float, names: Sequence[str] = ()) -> None:
    """For each kind, the worst case of those that can be tried in so many seconds."""
    timing.settle()
    for name in names or bodies.kinds():
        slowness = timing.slowness()
        costs = [_cost(case) for case in within(seconds, cases(name))]
        for what, unit, bar, of in _FIGURES:
            worst = max(costs, key=of)
            least = min(of(worst), *(of(_cost(worst.case)) for _ in range(AGAIN)))  # what others did does not count
            figure = least / (max(slowness, timing.slowness()) if unit else 1)
            report.add(PART, f"{name}, {what}", figure, unit, bar, worst.case.name)
        last = max(costs, key=lambda cost: max(cost.loop, 1e3 * cost.child)).case
        for victim, run_it in (("reconciler", _reconciled), ("check", _checked)):
            size = len(orjson.dumps(last.make(ITEMS))) / MIB
            peak = run_it(last)
            report.add(PART, f"{name}, {victim}: peak", peak, "MiB", ROOM_MIB + TIMES * size, last.name)


_FIGURES: Final[tuple[tuple[str, str, float, Callable[[Cost], float]], ...]] = (
    ("worst CPU on the loop", "ms", LOOP_MS, lambda cost: cost.loop),
    ("worst CPU in a child", "s", CHILD_SECONDS, lambda cost: cost.child),
    ("steps of twice the items", "", MOST, lambda cost: cost.ratio),
)


def cases(name: str) -> list[Case]:
    """All cases of a kind: alone, and in pairs; shuffled, always in the same way."""
    known = bodies.kinds()[name]
    every = [*doubling.alone(known)]
    every += [case for pair in doubling.pairs() if pair.known is known for case in doubling.beside(pair)]
    random.Random(0).shuffle(every)
    return every


def within(seconds: float, every: list[Case]) -> Iterator[Case]:
    until = time.monotonic() + seconds
    for case in every:
        yield case
        if time.monotonic() > until:
            return


def _cost(case: Case) -> Cost:
    obj, others = case.make(ITEMS)
    body, gate = bodies.review(case.known, obj), Gate(bodies.loaded(), view=MemoryView(others))
    loop = child = 0.0
    for call in timing.CALLS:
        timing.forget()
        started = time.thread_time()
        answer = gate.reply_now(call, body, PATIENCE)
        loop = max(loop, 1e3 * (time.thread_time() - started))
        if answer is None:
            started = time.thread_time()
            judged(gate.state, call, body, {}, lambda _step: None)
            child = max(child, time.thread_time() - started)
    return Cost(case, loop, child, case.ratio(LENGTH))


def _reconciled(case: Case) -> float:
    """MiB that the reconciler's judgement of the object needs."""
    obj, others = case.make(ITEMS)
    rules, view = Ruling(bodies.loaded(), bodies.loaded(), Options()), MemoryView(others)
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            before = _most()
            judge(obj, rules, view)
            os.write(write_end, orjson.dumps((_most() - before) / MIB))
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        peak = float(orjson.loads(pipe.read()))
    os.waitpid(pid, 0)
    return peak


def _most() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def _checked(case: Case) -> float:
    """MiB that ``modelgate check`` of the objects needs more than of the smallest one."""
    obj, others = case.make(ITEMS)
    return _peak_of_check([obj, *others]) - _peak_of_check([bodies.good(case.known)])


def _peak_of_check(objects: list[bodies.Json]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "objects.json"
        file.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        command = [sys.executable, "-c", _MEASURE, sys.executable, "-m", "webhook", "check", str(file)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
    return int(done.stdout) / 1024


_MEASURE: Final = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
