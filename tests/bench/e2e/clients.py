"""``make bench-e2e BENCH="--clients 50 200 500"``: many clients that create at once, beside the bare API server.

Each client has a connection of its own and creates one Model after the other for some seconds. A round has a load of
each variant for each number of clients, in a random order. The clients are one Go program: 200 threads of Python
would be what is measured.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from tests.bench.e2e.creator import Creator, measured_plane, model, path_of
from tests.bench.e2e.variants import GO, NAMES, PEERS, Variant, built
from tests.bench.report import Row, Table
from tests.bench.timing import cpu_of, memory_of
from tests.e2e.plane import TOKEN, Plane

__all__ = ["CLIENTS", "COMPARED", "ROUNDS", "clients_tables", "measure_clients"]

CLIENTS: Final = (50, 200, 500)
COMPARED: Final = tuple(name for name in NAMES if name not in {"bare ASGI", "kopf"})
ROUNDS: Final = 5
SECONDS: Final = 4
BODIES: Final = 2_000
"""Models of a load, whose names change; more than a cache by text remembers."""
COLUMNS: Final = ("p50 ms", "p99 ms", "creates/s", "CPU ms/create", "RSS MiB", "failed")
RATIOS: Final = (("p99 ÷ nothing", "p99 ms", "nothing"), ("creates/s ÷ Go", "creates/s", GO))
NOTE: Final = (
    f"Clients that create sparse Models at once, each over a connection of its own, for {SECONDS} s; "
    f"each variant in turn. Failed calls are those of all rounds. CPU is of the webhook's process. API server, etcd, "
    "webhook and clients share the cores."
)

Figures = dict[tuple[str, int], dict[str, list[float]]]
"""The samples of the rounds by column, for a variant and a number of clients."""


@dataclass(frozen=True)
class Load:
    """What the clients report."""

    milliseconds: Sequence[float]
    seconds: float
    failed: int
    fault: str

    def share(self, percent: int) -> float:
        """The latency that so many of a hundred creates do not exceed."""
        taken = sorted(self.milliseconds)
        return taken[len(taken) * percent // 100]


def measure_clients(names: Sequence[str], counts: Sequence[int], rounds: int, figures: Figures) -> None:
    """Add the figures of each round, also of one that an error ends."""
    order = random.Random(0)
    with measured_plane(names) as (plane, variants), closing(Creator(plane)) as creator:
        first = 0
        for number in range(rounds + 1):
            for count in counts:
                for variant in order.sample(variants, len(variants)):
                    first += 10**7
                    cells = _load(plane, variant, count, first)
                    creator.clear(variant)
                    if number:  # the first round warms up
                        for column, value in cells.items():
                            figures.setdefault((variant.name, count), {}).setdefault(column, []).append(value)


def _load(plane: Plane, variant: Variant, count: int, first: int) -> Mapping[str, float]:
    before = cpu_of(variant.pid) if variant.pid else 0.0
    load = created(plane, variant, count, first)
    if load.failed:
        print(f"{variant.name}, {count} clients: {load.failed} failed: {load.fault}", file=sys.stderr)
    creates = len(load.milliseconds)
    cells = {"p50 ms": load.share(50), "p99 ms": load.share(99), "creates/s": creates / load.seconds}
    if variant.pid is not None:
        cells["CPU ms/create"] = (cpu_of(variant.pid) - before) / creates * 1e3
        cells["RSS MiB"] = memory_of(variant.pid)
    return {**cells, "failed": load.failed}


def created(plane: Plane, variant: Variant, count: int, first: int) -> Load:
    """What so many clients do at once."""
    config = json.loads(plane.kubeconfig.read_text())["clusters"][0]["cluster"]
    command = [
        str(built(PEERS / "clients")),
        f"--server={config['server']}",
        f"--ca={config['certificate-authority']}",
        f"--token={TOKEN}",
        f"--path={path_of(variant)}",
        f"--clients={count}",
        f"--time={SECONDS}s",
        f"--first={first}",
    ]
    bodies = "\n".join(json.dumps(model(variant, first + number, "NAME")) for number in range(BODIES))
    done = subprocess.run(command, input=bodies, capture_output=True, text=True, check=True)
    return Load(**json.loads(done.stdout))


def clients_tables(names: Sequence[str], counts: Sequence[int], figures: Figures) -> list[Table]:
    """The figures, and their relation to those of the same round without a webhook and with the Go webhook."""
    rows = _rows(names, counts, lambda name, count: _shown(figures.get((name, count), {})))
    related = _rows(names, counts, lambda name, count: dict(_related(name, count, figures)))
    columns = tuple(column for column, _, _ in RATIOS)
    note = "Each round divided by the same round without a webhook, and by that of the Go webhook."
    return [
        Table("Many clients", NOTE, COLUMNS, rows),
        Table("Many clients, in relation", note, columns, related),
    ]


def _rows(
    names: Sequence[str], counts: Sequence[int], cells: Callable[[str, int], Mapping[str, Sequence[float]]]
) -> list[Row]:
    return [Row(f"{name}, {count} clients", cells(name, count)) for count in counts for name in names]


def _shown(cells: Mapping[str, Sequence[float]]) -> Mapping[str, Sequence[float]]:
    """Failed calls of all rounds together: a median would hide those of one."""
    return {column: [sum(samples)] if column == "failed" else samples for column, samples in cells.items()}


def _related(name: str, count: int, figures: Figures) -> Iterator[tuple[str, Sequence[float]]]:
    for column, measured, other in RATIOS:
        mine, base = (figures.get((each, count), {}).get(measured, ()) for each in (name, other))
        if mine and base:
            yield column, [one / another for one, another in zip(mine, base, strict=False)]
