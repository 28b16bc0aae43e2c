"""The gate with a view of its cluster, with the rights of the chart and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.gate import NAME, NAMESPACE, Gate, rendered
from tests.e2e.plane import Plane

VIEW = f"{NAME}-view"
RIGHTS = {("ServiceAccount", VIEW), ("ClusterRole", VIEW), ("ClusterRoleBinding", VIEW)}


@contextmanager
def with_view(plane: Plane, gate: Gate) -> Iterator[Gate]:
    """The gate, started again under the chart's own profile, and once more as it was when this ends."""
    file = as_the_chart_lets_it(plane)
    gate.stop()
    gate.start("--view=live", f"--view-kubeconfig={file}", "--profile=standard")
    try:
        yield gate
    finally:
        gate.stop()
        gate.start()


def as_the_chart_lets_it(plane: Plane, *flags: str) -> Path:
    """A kubeconfig with a token of the account that the chart makes for the view; ``flags`` are Helm's."""
    objects = [each for each in rendered(plane, *flags) if (each["kind"], each["metadata"]["name"]) in RIGHTS]
    assert len(objects) == len(RIGHTS)
    plane.kubectl.send_all("apply", objects)
    config = json.loads(plane.kubeconfig.read_text())
    token = plane.kubectl("create", "token", VIEW, f"--namespace={NAMESPACE}").strip()
    config["users"][0]["user"] = {"token": token}
    file = plane.folder / "gate.kubeconfig"
    file.write_text(json.dumps(config))
    return file
