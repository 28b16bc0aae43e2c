"""``make bench-e2e``: creates of Models through a real API server, beside other webhooks, measured in turn.

python -m tests.bench.e2e [-n CREATES] [--runs 5] [--only VARIANT …] [--json FILE] [--publish]
python -m tests.bench.e2e --clients 50 200 500 [--runs 5] [--only VARIANT …] [--json FILE] [--publish]

Each run makes ``n`` creates and ``n`` dry runs of each variant, one of each variant in turn, and then as many creates
as 8 connections can in half a second, of each variant in turn, 20 times. The figures are the medians of the runs.

The order within a turn is random, so that no variant always meets what the same other one has left to be done. A 99th
percentile needs thousands of samples, and an API server that seldom collects garbage: at its usual pace, the slowest
hundredth of the creates are those that meet a collection of the API server or etcd, whatever the webhook.

A call that fails is counted in the column of its variant, and the others go on: a peer may close a connection that the
API server is about to use. What was measured is printed, also if an error or an interrupt ends the last run.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.bars import MANY_CLIENTS, THROUGH_API_SERVER, beside
from tests.bench.e2e.clients import CLIENTS, COMPARED, Figures, clients_tables, measure_clients
from tests.bench.e2e.creator import Creator, measured_plane
from tests.bench.e2e.interpreter import about
from tests.bench.e2e.variants import GO, NAMES, Variant
from tests.bench.plot import CREATES as CREATES_PLOT
from tests.bench.plot import MANY_CLIENTS as CLIENTS_PLOT
from tests.bench.report import PAGE, Row, Table, document, machine, markdown, published
from tests.bench.timing import cpu_of, memory_of
from tests.e2e.plane import Plane

CREATES = 2000
RUNS = 5
CLEARED = 500
"""Turns, after which all objects are deleted: with more of them the API server collects garbage for longer."""
CONNECTIONS = 8
SECONDS, TURNS = 0.5, 20
"""The seconds of a load, and how many each variant has in a run: short, so that all of them see the same machine."""
CREATE, DRY = ("create p50 ms", "create p99 ms"), ("dry run p50 ms", "dry run p99 ms")
LOAD = ("creates/s", "CPU ms/create")
STATE = ("RSS MiB", "ready s")
FAILED = "failed"
COLUMNS = (*CREATE, *DRY, *LOAD, *STATE, FAILED)
NOTE = (
    "A sparse Model of 2 KB, different each time. Latency: one connection, one create of each variant in turn. Load: "
    f"{CONNECTIONS} connections; CPU is of the webhook's process. The Go, ASGI and kopf webhooks have a few rules and "
    "no messages; modelgate has all rules of all kinds, six defaults and a stamp."
)


@dataclass(frozen=True)
class Load:
    """Creates over all connections, the seconds they took, the CPU seconds of the webhook, and failed calls."""

    creates: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    failed: int = 0

    def __add__(self, more: Load) -> Load:
        pairs = zip(astuple(self), astuple(more), strict=True)
        return Load(*(mine + other for mine, other in pairs))


@dataclass
class Samples:
    """What one run has measured of a variant so far: milliseconds of creates and dry runs, the load, failed calls."""

    created: list[float] = field(default_factory=list)
    dry: list[float] = field(default_factory=list)
    load: Load = Load()
    failed: int = 0

    def figures(self, variant: Variant) -> dict[str, float]:
        """By column; a column without samples is left out."""
        found: dict[str, float] = {FAILED: self.failed + self.load.failed}
        for names, taken in ((CREATE, sorted(self.created)), (DRY, sorted(self.dry))):
            if taken:
                found |= dict(zip(names, (statistics.median(taken), taken[len(taken) * 99 // 100]), strict=True))
        if self.load.creates:
            found[LOAD[0]] = self.load.creates / self.load.seconds
            if variant.pid is not None:
                found[LOAD[1]] = self.load.cpu / self.load.creates * 1e3
                found |= dict(zip(STATE, (memory_of(variant.pid), variant.ready), strict=True))
        return found


def a_run(plane: Plane, variants: Sequence[Variant], number: int, count: int, found: Mapping[str, Samples]) -> None:
    """Measure each variant."""
    first, order = number * 10**8, random.Random(number)
    with closing(Creator(plane, first)) as creator:
        for dry in (False, True):
            for turn in range(count + count // 10):
                if turn % CLEARED == 0:
                    for variant in variants:
                        creator.clear(variant)
                for variant in order.sample(variants, len(variants)):
                    taken, samples = creator.create(variant, dry=dry), found[variant.name]
                    if taken is None:
                        samples.failed += 1
                    elif turn >= count // 10:  # the first tenth warms up
                        (samples.dry if dry else samples.created).append(taken)
        for turn in range(TURNS):
            for place, variant in enumerate(order.sample(variants, len(variants))):
                load = _load(plane, variant, first + (turn * len(variants) + place + 1) * 10**5)
                found[variant.name].load += load
                creator.clear(variant)


def _load(plane: Plane, variant: Variant, first: int) -> Load:
    cpu = cpu_of(variant.pid) if variant.pid else 0.0
    started = time.perf_counter()

    def work(worker: int) -> Counter[bool]:
        made = Counter[bool]()
        with closing(Creator(plane, first + worker * 10**4)) as creator:
            while time.perf_counter() - started < SECONDS:
                made[creator.create(variant) is not None] += 1
        return made

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        total = sum(pool.map(work, range(CONNECTIONS)), Counter[bool]())
    used = cpu_of(variant.pid) - cpu if variant.pid else 0.0
    return Load(total[True], time.perf_counter() - started, used, total[False])


Cells = dict[str, dict[str, list[float]]]
"""Figures of the runs, by variant and column."""


def measure(names: Sequence[str], count: int, runs: int, cells: Cells) -> None:
    """Add the figures of each run, also of one that an error ends."""
    with measured_plane(names) as (plane, variants):
        for number in range(runs):
            samples = {each.name: Samples() for each in variants}
            try:
                a_run(plane, variants, number + 1, count, samples)
            finally:
                for variant in variants:
                    for name, figure in samples[variant.name].figures(variant).items():
                        cells.setdefault(variant.name, {}).setdefault(name, []).append(figure)


def tables_of(names: Sequence[str], cells: Cells) -> list[Table]:
    rows = [Row(name, cells.get(name, {})) for name in names]
    return [Table("Creates through the API server", NOTE, COLUMNS, rows), *_ratios(cells)]


def _ratios(cells: Cells) -> Iterator[Table]:
    """Run by run, because each run meets another machine."""
    base = cells.get(GO)
    if base is None:
        return
    columns = (*CREATE, *DRY, *LOAD, STATE[0])
    rows = []
    for name, figures in cells.items():
        shown: dict[str, Any] = {}
        for column in columns:
            if column in figures and column in base:
                shown[column] = [mine / go for mine, go in zip(figures[column], base[column], strict=False)]
        rows.append(Row(name, shown))
    yield Table("In relation to the Go webhook", "Each run divided by the Go webhook's in the same run.", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.e2e", description="Measure; print Markdown.")
    parser.add_argument("-n", type=int, default=CREATES, metavar="CREATES", help="creates of each variant in a run")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", nargs="*", choices=NAMES, metavar="VARIANT", help=", ".join(NAMES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    parser.add_argument("--publish", action="store_true", help=f"write the section of {PAGE.name}")
    parser.add_argument(
        "--clients", nargs="+", type=int, metavar="COUNT", help="measure so many clients at once instead"
    )
    options = parser.parse_args()
    counts = tuple(options.clients or ())
    names = options.only or (COMPARED if counts else NAMES)
    if options.publish and (options.only or options.n < CREATES or options.runs < RUNS or counts not in {(), CLIENTS}):
        parser.error(f"--publish needs all variants, {CREATES} creates or {CLIENTS} clients, and {RUNS} runs")
    where = machine() | {"Python": about()}
    bars, section = THROUGH_API_SERVER, "bench-e2e"
    cells: Cells = {}
    figures: Figures = {}
    tables: list[Table] = []
    try:
        if counts:
            bars, section = MANY_CLIENTS, "bench-clients"
            measure_clients(names, counts, options.runs, figures)
        else:
            measure(names, options.n, options.runs, cells)
    finally:
        tables = clients_tables(names, counts, figures) if counts else tables_of(names, cells)
        tables.insert(0, beside(bars, tables))
        print(markdown(where, tables), flush=True)
    if options.json:
        options.json.write_text(document(where, tables))
    if options.publish:
        PAGE.write_text(published(PAGE.read_text(), section, markdown(where, tables)))
        plot = CLIENTS_PLOT if counts else CREATES_PLOT
        plot.path.write_text(plot.drawn(PAGE.read_text()))


if __name__ == "__main__":
    main()
