"""Part 3: no small review holds the event loop. A search over every list, map and text of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.hostile import bodies, search, timing, worst
from tests.hostile.bars import Report
from tests.hostile.search import Found

PART = "small"
BAR_MS = 50.0


@dataclass(frozen=True)
class Options:
    """``seconds`` of search per kind; the rest is what ``python -m tests.hostile`` says."""

    seconds: float
    names: Sequence[str] = ()
    write: bool = False


def run(report: Report, options: Options) -> None:
    """Search each kind, and report its worst small review, scaled to the reference machine."""
    timing.settle()
    everything: list[Found] = []
    for name in options.names or bodies.kinds():
        before = timing.slowness()
        found = search.small(bodies.kinds()[name], options.seconds)
        slowness = min(before, timing.slowness())
        everything += found
        top = found[0]
        size = f"{len(top.body) / 1024:.1f} KiB, {bodies.tokens(top.body)} tokens, slowness {slowness:.2f}"
        report.add(PART, f"{name}, worst small review", top.ms / slowness, "ms", BAR_MS, f"{top} ({size})")
    if options.write:
        worst.write(everything)
