"""AIM's services on a real API server: 500 of them, and the leader killed half-way. Needs `make assets`.

    python -m tests.bench.services --crds FOLDER [-n 500]

FOLDER holds the definitions of KServe and Gateway API. It prints the time until every service has its InferenceService,
how often one was created, and the writes of a minute without changes. It exits with 1 if a child was made twice, or if
there was a write in that minute.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from reconciler.projections.kinds import AIM_SERVICES, CLUSTER_IMAGES, CLUSTER_TEMPLATES, INFERENCE_SERVICES
from reconciler.writer import Writer
from tests.e2e.assets import assets
from tests.e2e.chainsaw import RESULT
from tests.e2e.crds import install_crds
from tests.e2e.gate import Gate
from tests.e2e.plane import Plane
from tests.e2e.reconciling import Reconciler
from tests.e2e.seeing import with_view
from webhook.cluster import APIResource
from webhook.cluster.connection import connect

QUIET = 60
"""Seconds."""

CREATED = re.compile(
    r'apiserver_request_total\{[^}]*code="201"[^}]*group="serving\.kserve\.io"[^}]*verb="POST"[^}]*\} (?P<n>[\d.e+]+)'
)
FLAGS = ("--profile=standard", "--apis=aim")
SETS = ("reconciler.apis.aim=true", "reconciler.namespaces={*}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.services")
    parser.add_argument("--crds", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("-n", type=int, default=500, metavar="SERVICES")
    options = parser.parse_args()
    with Plane(assets("plane")) as plane:
        install_crds(plane.kubectl)
        for file in sorted(options.crds.glob("*.yaml")):
            plane.kubectl("apply", "--server-side", "-f", str(file))
        plane.kubectl("create", "namespace", "kaiwo-system")
        with Gate(plane) as gate, with_view(plane, gate):
            return _measured(plane, options.n)


def _measured(plane: Plane, size: int) -> int:
    api = Writer(connect(plane.kubeconfig))
    _create(api, CLUSTER_IMAGES, "m", {"image": "r/m:1", "defaultServiceTemplate": "t", "resources": _resources()})
    _create(api, CLUSTER_TEMPLATES, "t", {"aimImageName": "m"})
    flags = ("--subresource=status", "--field-manager=modelgate")
    plane.kubectl.patch("aimclusterservicetemplates", "t", {"status": RESULT}, *flags)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: _create(api, AIM_SERVICES, f"s{number}", {"aimImageName": "m"}), range(size)))
    first = Reconciler(plane, *FLAGS, sets=SETS, name="first")
    second = Reconciler(plane, *FLAGS, sets=SETS, name="second")
    started = time.monotonic()
    with first, second:
        while _count(api) < size // 2:
            time.sleep(0.2)
        leader, other = (first, second) if "leading as" in first.log() else (second, first)
        print(f"{_count(api)} InferenceServices after {time.monotonic() - started:.1f} s; killing the leader")
        leader.kill()
        while _count(api) < size or other.metric("modelgate_queue_depth"):
            time.sleep(0.5)
        print(f"{_count(api)} InferenceServices after {time.monotonic() - started:.1f} s")
        return _settled(plane, other, size)


def _settled(plane: Plane, leader: Reconciler, size: int) -> int:
    time.sleep(QUIET / 2)  # the last status is written, and the watches have said so
    before = leader.metric("modelgate_writes_total")
    time.sleep(QUIET)
    writes = leader.metric("modelgate_writes_total") - before
    created = sum(float(each["n"]) for each in CREATED.finditer(plane.kubectl("get", "--raw", "/metrics")))
    print(f"{created:.0f} children were created for {size} services and a template")
    print(f"{writes:.0f} writes in {QUIET} s without changes")
    return 1 if writes or created != size + 1 else 0  # and the runtime of the template


def _resources() -> dict[str, Any]:
    return {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}


def _create(api: Writer, resource: APIResource, name: str, spec: dict[str, Any]) -> None:
    namespace = {"namespace": "default"} if resource.namespaced else {}
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    api.create(resource, {**kind, "metadata": {"name": name, **namespace}, "spec": spec})


def _count(api: Writer) -> int:
    return sum(len(page["items"] or ()) for page in api.pages(INFERENCE_SERVICES, metadata_only=True))


if __name__ == "__main__":
    sys.exit(main())
