"""The status of a BaseModel and a ClusterBaseModel, from what the agents on the nodes report in ConfigMaps.

The agents of OME download the models. No finalizer is written, so deletion does not wait for them.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from reconciler.projection import Controller, Observed, Projection
from reconciler.projections import kinds
from reconciler.projections.objects import given
from reconciler.writer import Writer
from webhook.cluster import ApiError
from webhook.cluster.view import ClusterView

LABEL: Final = "models.ome/basemodel-status=true"

INTERVAL: Final = 30.0
"""Seconds between two looks at the reports. One list serves all models."""

Reports = Callable[[], Sequence[dict[str, Any]] | None]
"""The ConfigMaps of all nodes, each with the node's name; None if they cannot be read now."""


def controllers(reports: Reports) -> list[Controller]:
    def observe(_: dict[str, Any], __: ClusterView) -> Sequence[dict[str, Any]] | None:
        return reports()

    return [Controller(each, project, observe=observe) for each in (kinds.MODELS, kinds.CLUSTER_MODELS)]


def reports_of(api: Writer, namespace: str, clock: Callable[[], float] = time.monotonic) -> Reports:
    """Read the reports from the API server, once for all models of an interval."""
    lock = threading.Lock()
    known: list[Any] = [float("-inf"), None]

    def read() -> Sequence[dict[str, Any]] | None:
        with lock:
            if clock() - known[0] >= INTERVAL / 2:
                try:
                    pages = api.pages(kinds.CONFIG_MAPS, namespace, selector=LABEL)
                    found = [each for page in pages for each in page.get("items") or ()]
                except ApiError:
                    found = None
                known[:] = [clock(), found]
            result: Sequence[dict[str, Any]] | None = known[1]
            return result

    return read


def project(model: dict[str, Any], observed: Observed) -> Projection:
    """The status of a model that has passed the gate; as before, if the reports cannot be read."""
    before = model.get("status") or {}
    if observed.measured is None:
        return Projection(requeue=INTERVAL)
    said = _said(model, observed.measured)
    ready = sorted(node for node, status in said.items() if status == "Ready")
    failed = sorted(node for node, status in said.items() if status == "Failed")
    state = "Ready" if ready else "Failed" if failed else "In_Transit"
    more = given(lifecycle=before.get("lifecycle"), nodesReady=ready, nodesFailed=failed)
    return Projection({"state": state, **more}, requeue=INTERVAL)


def _said(model: dict[str, Any], reports: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Node → the status of the model there; entries that cannot be read do not count."""
    metadata = model["metadata"]
    key = f"{metadata['namespace']}.basemodel." if "namespace" in metadata else "clusterbasemodel."
    found = {}
    for each in reports:
        text = (each.get("data") or {}).get(f"{key}{metadata['name']}")
        try:
            entry = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            found[each["metadata"]["name"]] = str(entry.get("status", ""))
    return found
