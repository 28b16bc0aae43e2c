"""The reconciler on a real API server, with Models of which half are older than the gate. Needs `make assets`.

    python -m tests.bench.reconciler [-n 2000]

The time until every object has its verdict, and what that costs; what a minute without changes costs; and what it costs
to judge every object again after a change of the rules.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reconciler.projections.llmkube import MODELS
from reconciler.writer import Writer
from tests.bench.report import Row, Table
from tests.bench.timing import cpu_of, memory_of
from tests.e2e import judged
from tests.e2e.assets import Assets, assets
from tests.e2e.crds import install_crds
from tests.e2e.gate import Gate
from tests.e2e.kubectl import Object
from tests.e2e.machine import Unavailable
from tests.e2e.models import bad_model, model
from tests.e2e.plane import Plane
from tests.e2e.reconciling import Reconciler, condition
from webhook.cluster.connection import connect

POLICY = judged.POLICY.replace(judged.MARK, "example.com/never")
"""A policy that refuses nothing here."""

NOTE = (
    "Half of the Models were created while the gate was away, and 5 % of all are bad. CPU and memory are of the "
    "reconciler, requests are counted by the API server, without leases."
)
COLUMNS = ("s", "CPU s", "RSS MiB", "requests")

Requests = dict[str, float]
"""By verb and resource."""

REQUEST = re.compile(
    r'apiserver_request_total\{.*?resource="(?P<resource>\w*)".*?verb="(?P<verb>\w+)".*?\} (?P<n>[\d.e+]+)'
)


def tables(*, quick: bool = False) -> list[Table]:
    """One table of figures; none where there is no API server."""
    try:
        programs = assets("plane")
    except Unavailable as reason:
        print(f"the reconciler is not measured: {reason}", file=sys.stderr)
        return []
    return [measured(programs, 100, 5) if quick else measured(programs, 2000, 60)]


def measured(programs: Assets, size: int, quiet: float) -> Table:
    """Figures for ``size`` objects and ``quiet`` seconds without changes."""
    with Plane(programs) as plane:
        install_crds(plane.kubectl)
        with Gate(plane) as gate:
            api = Writer(connect(plane.kubeconfig))
            with gate.absent():
                _create(api, [_object(number) for number in range(size // 2)])
            _create(api, [model(f"new-{number}") for number in range(size // 2)])
            policies = plane.folder / "policies"
            policies.mkdir()
            with Reconciler(plane, "--profile=strict", f"--admission-policies={policies}") as reconciler:
                rows = [
                    _first(plane, api, reconciler, size),
                    _nothing(plane, reconciler, quiet),
                    _again(policies, reconciler, size),
                ]
    return Table(f"The reconciler: {size:,} Models on an API server", NOTE, COLUMNS, rows)


def _object(number: int) -> Object:
    return bad_model(f"old-{number}") if number % 10 == 0 else model(f"old-{number}")


def _create(api: Writer, objects: list[Object]) -> None:
    placed = [{**each, "metadata": {**each["metadata"], "namespace": "default"}} for each in objects]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: api.create(MODELS, each), placed))


def _first(plane: Plane, api: Writer, reconciler: Reconciler, size: int) -> Row:
    before, cost, started = _requests(plane), cpu_of(reconciler.pid), time.monotonic()
    while _judged(reconciler) < size or reconciler.metric("modelgate_queue_depth"):
        time.sleep(0.2)
    took = time.monotonic() - started
    found = [each for page in api.pages(MODELS) for each in page["items"]]
    conditions = sum(bool(condition(each, "Normalised")) for each in found)
    if conditions != size:
        raise RuntimeError(f"{conditions} of {size} objects have their condition")
    return _row("from its start until all are judged", reconciler, took, cost, _difference(before, _requests(plane)))


def _nothing(plane: Plane, reconciler: Reconciler, seconds: float) -> Row:
    cost, before = cpu_of(reconciler.pid), _requests(plane)
    time.sleep(seconds)
    return _row("without changes", reconciler, seconds, cost, _difference(before, _requests(plane)))


def _again(policies: Path, reconciler: Reconciler, size: int) -> Row:
    """New rules that refuse nothing: a policy that every object passes."""
    looks, cost, started = _looks(reconciler), cpu_of(reconciler.pid), time.monotonic()
    (policies / "all.yaml").write_text(POLICY)
    while _looks(reconciler) < looks + size:
        time.sleep(0.2)
    return _row("all judged again, by new rules", reconciler, time.monotonic() - started, cost, "-")


def _row(name: str, reconciler: Reconciler, took: float, cost: float, requests: str) -> Row:
    figures: list[list[float] | str] = [[took], [cpu_of(reconciler.pid) - cost], [memory_of(reconciler.pid)], requests]
    return Row(name, dict(zip(COLUMNS, figures, strict=True)))


def _looks(reconciler: Reconciler) -> float:
    return reconciler.metric("modelgate_reconcile_seconds_count")


def _judged(reconciler: Reconciler) -> float:
    return sum(reconciler.metric(f'verdict="{reason}"') for reason in ("Stamped", "Refused"))


def _requests(plane: Plane) -> Requests:
    """Requests by verb and resource, without leases and without what is not about resources."""
    found: Requests = {}
    for match in REQUEST.finditer(plane.kubectl("get", "--raw", "/metrics")):
        if match["resource"] not in {"leases", "", "subjectaccessreviews"}:
            key = f"{match['verb']} {match['resource']}"
            found[key] = found.get(key, 0) + float(match["n"])
    return found


def _difference(before: Requests, after: Requests) -> str:
    changed = {key: int(value - before.get(key, 0)) for key, value in sorted(after.items())}
    lists = sum(number for key, number in changed.items() if key.startswith(("LIST", "WATCH")))
    others = {key: number for key, number in changed.items() if number and not key.startswith(("LIST", "WATCH"))}
    return (
        ", ".join(f"{number} {key}" for key, number in {**others, "lists and watches": lists}.items() if number)
        or "none"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.reconciler", description="Measure; print Markdown.")
    parser.add_argument("-n", type=int, default=2000, metavar="MODELS")
    options = parser.parse_args()
    print(measured(assets("plane"), options.n, 60).markdown())


if __name__ == "__main__":
    main()
