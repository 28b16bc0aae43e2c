"""The reconciler on a real API server: 2,000 Models, half of them older than the gate, 5 % bad. Needs `make assets`.

It prints the time until every object has its verdict, what that cost, what a minute without changes costs, and what it
costs to judge every object again after a change of the rules. BENCH_OBJECTS is another number of objects.
"""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reconciler.resource import MODELS
from reconciler.writer import Writer
from tests.e2e import judged
from tests.e2e.assets import assets
from tests.e2e.crds import install_crds
from tests.e2e.gate import Gate
from tests.e2e.machine import Unavailable
from tests.e2e.models import bad_model, model
from tests.e2e.plane import Plane
from tests.e2e.reconciling import Reconciler, condition
from webhook.cluster.live import connect

POLICY = judged.POLICY.replace(judged.MARK, "example.com/never")
"""A policy that refuses nothing here."""

QUIET = 60
"""Seconds."""

REQUEST = re.compile(
    r'apiserver_request_total\{.*?resource="(?P<resource>\w*)".*?verb="(?P<verb>\w+)".*?\} (?P<n>[\d.e+]+)'
)


def main() -> None:
    """Measure, or print why it cannot be measured here."""
    size = int(os.environ.get("BENCH_OBJECTS", "2000"))
    try:
        programs = assets("plane")
    except Unavailable as reason:
        print(reason)
        return
    with Plane(programs) as plane:
        install_crds(plane.kubectl)
        with Gate(plane) as gate:
            api = Writer(connect(plane.kubeconfig))
            with gate.absent():
                _create(api, [_object(number) for number in range(size // 2)])
            _create(api, [model(f"new-{number}") for number in range(size // 2)])
            before = _requests(plane)
            policies = plane.folder / "policies"
            policies.mkdir()
            with Reconciler(plane, "--profile=strict", f"--admission-policies={policies}") as reconciler:
                _measure(plane, api, reconciler, size, before)
                _judge_again(policies, reconciler, size)


def _object(number: int) -> dict[str, object]:
    return bad_model(f"old-{number}") if number % 10 == 0 else model(f"old-{number}")


def _create(api: Writer, objects: list[dict[str, object]]) -> None:
    placed = [{**each, "metadata": {**each["metadata"], "namespace": "default"}} for each in objects]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: api.create(MODELS, each), placed))


def _measure(plane: Plane, api: Writer, reconciler: Reconciler, size: int, before: dict[str, float]) -> None:
    started = time.monotonic()
    while _judged(reconciler) < size or reconciler.metric("modelgate_queue_depth"):
        time.sleep(0.2)
    print(f"{size} objects judged after {time.monotonic() - started:.1f} s")
    found = [each for page in api.pages(MODELS) for each in page["items"]]
    conditions = sum(bool(condition(each, "Normalised")) for each in found)
    print(f"{conditions} conditions; {_cost(reconciler)}")
    after = _requests(plane)
    print("requests:", _difference(before, after))
    time.sleep(QUIET)
    print(f"in {QUIET} s without changes:", _difference(after, _requests(plane)), _cost(reconciler))


def _judge_again(policies: Path, reconciler: Reconciler, size: int) -> None:
    """New rules that refuse nothing: a policy that every object passes."""
    looks, cost, started = _looks(reconciler), _cpu(reconciler), time.monotonic()
    (policies / "all.yaml").write_text(POLICY)
    while _looks(reconciler) < looks + size:
        time.sleep(0.2)
    took = time.monotonic() - started
    print(f"judged again: CPU {_cpu(reconciler) - cost:.1f} s, after {took:.1f} s; {_cost(reconciler)}")


def _looks(reconciler: Reconciler) -> float:
    return reconciler.metric("modelgate_reconcile_seconds_count")


def _judged(reconciler: Reconciler) -> float:
    return sum(reconciler.metric(f'verdict="{reason}"') for reason in ("Stamped", "Refused"))


def _cost(reconciler: Reconciler) -> str:
    memory = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{reconciler.pid}/status").read_text())
    return f"CPU {_cpu(reconciler):.1f} s, {int(memory[1]) // 1024 if memory else 0} MiB"


def _cpu(reconciler: Reconciler) -> float:
    """Seconds."""
    stat = Path(f"/proc/{reconciler.pid}/stat").read_text()
    return sum(map(int, stat.rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def _requests(plane: Plane) -> dict[str, float]:
    """Requests by verb and resource, without leases and without what is not about resources."""
    found: dict[str, float] = {}
    for match in REQUEST.finditer(plane.kubectl("get", "--raw", "/metrics")):
        if match["resource"] not in {"leases", "", "subjectaccessreviews"}:
            key = f"{match['verb']} {match['resource']}"
            found[key] = found.get(key, 0) + float(match["n"])
    return found


def _difference(before: dict[str, float], after: dict[str, float]) -> str:
    changed = {key: int(value - before.get(key, 0)) for key, value in sorted(after.items())}
    return ", ".join(f"{number} {key}" for key, number in changed.items() if number) or "none"
