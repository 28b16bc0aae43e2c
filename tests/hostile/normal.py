"""The price of the defences on the normal path: CPU of a 2 KB review, this checkout and another in turn."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.bench.objects import body, sized
from tests.bench.server import Serving, a_round
from tests.hostile.bars import Report
from tests.hostile.serving import Gate, serving
from tests.hostile.timing import CALLS

PART = "normal"
ROUNDS = 5
REQUESTS = 3000
CONNECTIONS = 10
PERCENT = 3.0


def run(report: Report, against: Path) -> None:
    """The least CPU per request of some rounds, taken in turn, so that both meet the same other work."""
    with serving() as ours, serving(checkout=against) as theirs:
        for call in CALLS:
            mine, other = _compared(ours, theirs, f"/{call}")
            note = f"{mine:.0f} µs, before {other:.0f} µs"
            report.add(PART, f"more CPU per small {call}", (mine / other - 1) * 100, "%", PERCENT, note)


def _compared(ours: Gate, theirs: Gate, path: str) -> tuple[float, float]:
    rounds = [(_micros(ours, path), _micros(theirs, path)) for _ in range(ROUNDS + 1)][1:]
    return min(mine for mine, _ in rounds), min(other for _, other in rounds)


def _micros(gate: Gate, path: str) -> float:
    server = Serving(gate.pid, gate.port, gate.context(), 0, 0)
    return asyncio.run(a_round(server, path, [body(sized(2048))], REQUESTS, CONNECTIONS))[3]
