"""Shared programs in many threads: every evaluation must give what it gives alone.

python -m tests.bench.cel_threads [EVALUATIONS]     500,000 by default, in 8 threads
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from webhook.cel.environment import Environment
from webhook.cel.errors import CelError
from webhook.cel.program import Budget, Program

THREADS = 8
SWITCH_INTERVAL = 1e-5  # seconds; the interpreter's own 5 ms would let most evaluations end undisturbed
TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "n": {"type": "integer"},
        "ratio": {"type": "number"},
        "since": {"type": "string", "format": "date-time"},
        "memory": {"x-kubernetes-int-or-string": True},
        "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": TEXT, "port": {"type": "integer"}}},
        },
    },
}
SOURCES = (
    "self.name.startsWith('a') && size(self.name) < 12",
    "self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    "self.name.upperAscii() + '-' + string(self.n * 7)",
    "10 / self.n > 2 || self.name.contains('b')",
    "self.n % (self.n - 3)",
    "has(self.ratio) ? self.ratio * 2.0 : -1.0",
    "self.since.getHours('America/Los_Angeles') + self.since.getFullYear()",
    "quantity(string(self.memory)).add(1).asInteger()",
    "self.tags == ['b', 'a'] || self.tags.exists(t, t == self.name)",
    "(self.tags + ['x', 'a']).sort().join(',')",
    "self.limits.all(k, self.limits[k] < 5)",
    "self.limits.transformMap(k, v, v > 1, v * self.n)",
    "self.items.all(i, i.port > 1000 && i.name != '')",
    "self.items.filter(i, i.port > 8001).map(i, i.name)",
    "self.items.exists_one(i, i.port == 8000 + self.n)",
    "self.items.map(i, i.port / (i.port - 8001))",
    "self.items.sortBy(i, -i.port)[0].name",
    "self.?ratio.optMap(r, r + 0.5).orValue(0.25)",
    "'%s has %d of %.2f'.format([self.name, self.n, self.?ratio.orValue(0.0)])",
    "[1, 2, 3].map(x, [4, 5].map(y, x * y + self.n))",
    "ip('10.0.0.' + string(self.n)).isGlobalUnicast() && semver('1.2.' + string(self.n)).patch() == self.n",
)

Outcome = tuple[str, Any, int]


@dataclass(frozen=True, slots=True)
class Case:
    """One program on one object, and what it does alone."""

    program: Program
    bindings: dict[str, Any]
    alone: Outcome


def _objects() -> list[dict[str, Any]]:
    return [
        {
            "name": ("alpha", "beta-9", "Gamma", "a-b", "")[i % 5],
            "n": i,
            **({"ratio": i / 3} if i % 2 else {}),
            "since": f"20{i:02d}-0{i % 9 + 1}-01T0{i}:00:00Z",
            "memory": (f"{i}Gi", i, "x")[i % 3],
            "tags": [("a", "b", "c", "alpha")[j % 4] for j in range(i % 4)],
            "limits": {f"r{j}": j for j in range(i)},
            "items": [{"name": f"p{j}", "port": 8000 + j} for j in range(i)],
        }
        for i in range(8)
    ]


def _outcome(program: Program, bindings: dict[str, Any]) -> Outcome:
    budget = Budget()
    try:
        return "value", repr(program.evaluate(bindings, budget)), budget.spent
    except CelError as error:
        return "error", error.message, budget.spent


def cases() -> list[Case]:
    env = Environment((1, 37)).with_schema("self", SCHEMA)
    programs = [env.compile(source) for source in SOURCES]
    return [
        Case(program, {"self": value}, _outcome(program, {"self": value}))
        for value in _objects()
        for program in programs
    ]


def hammer(evaluations: int, threads: int = THREADS) -> list[tuple[str, Outcome, Outcome]]:
    """Evaluate the cases over and over in all threads at once; what differed from being alone."""
    shared = cases()
    wrong: list[tuple[str, Outcome, Outcome]] = []
    start = threading.Barrier(threads)
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        workers = [
            threading.Thread(target=_work, args=(shared, number, evaluations // threads, start, wrong.append))
            for number in range(threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(before)
    return wrong


def _work(shared: list[Case], number: int, count: int, start: threading.Barrier, report: Callable[[Any], None]) -> None:
    start.wait()
    position = number * 31  # each thread is somewhere else
    for _ in range(count):
        case = shared[position % len(shared)]
        position += 1
        got = _outcome(case.program, case.bindings)
        if got != case.alone:
            report((case.program.source, case.alone, got))


def main(evaluations: int = 500_000) -> None:
    began = time.perf_counter()
    wrong = hammer(evaluations)
    seconds = time.perf_counter() - began
    print(f"{evaluations} evaluations in {THREADS} threads: {len(wrong)} wrong, {seconds:.0f} s")
    for source, alone, got in islice(wrong, 10):
        print(f"  {source}\n    alone {alone}\n    got   {got}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
