"""The table of what the reconciler does for each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from reconciler import audit
from reconciler.audit import Outlet, outlet
from webhook.facts.settings import DEFAULT_SETTINGS

__all__ = ["reconciled"]

HEAD: Final = """
## What the reconciler does

Every kind is judged, healed and reported on: with an Event on each change of the verdict, with a Report while there are
findings, and with the condition `Normalised` where the status has room for it. The *outlet* says how the condition is
written. *Acts* says what the reconciler writes besides, if the API is enabled in `reconciler.apis`. *Upstream* says who
else writes the status.

"""

OUTLETS: Final = {
    Outlet.APPLY: "server-side apply of one condition",
    Outlet.REPLACE: "update of the status, unless another manager writes it",
    Outlet.NONE: "Event and Report only",
}

CASES: Final = Path(__file__).parents[2] / "tests" / "reconciler" / "cases"

CASES_HEAD: Final = """
What the projections say is a table of cases, `tests/reconciler/cases`. Some state a fact of upstream's own suite, with
its file and line. Where Modelgate's projection says something else, the case says why.

| API | cases | facts of upstream's suite | of which differ |
|---|---|---|---|
"""

ACTS: Final = {
    "AIMModelCache": "status, persistentVolumeClaim; StorageReady, Ready, Progressing, Failure",
    "AIMTemplateCache": "status, resolvedTemplateKind; Resolved, CacheWarm, Ready, Progressing, Failure",
    "Model": "phase, path, cacheKey, stagedFiles, acceleratorReady; Available, Progressing, Degraded",
    "OpenModel": "Accepted",
    "VariantAutoscaling": "currentAlloc, desiredOptimizedAlloc, actuation; MetricsAvailable, OptimizationReady; gauges",
}

CHILDREN: Final = {"AIMModelCache": "PersistentVolumeClaim, Job", "AIMTemplateCache": "AIMModelCache"}

UPSTREAM: Final = {
    "AIMModelCache": "operator at the revision of the document",
    "AIMClusterRuntimeConfig": "none: it has no status subresource",
    "AIMRuntimeConfig": "none: it has no status subresource",
    "AIMTemplateCache": "none at the revision of the document",
    "BaseModel": "OME manager and model agent",
    "BenchmarkJob": "OME manager",
    "ClusterBaseModel": "OME manager and model agent",
    "ClusterServingRuntime": "none: it has no status",
    "FineTunedWeight": "none",
    "InferenceService": "OME manager",
    "Model": "LLMKube's operator",
    "OpenModel": "a controller that writes nothing",
    "ServingRuntime": "none: it has no status",
    "VariantAutoscaling": "no released controller of this schema",
}


def reconciled() -> Iterator[str]:
    """The section, line by line."""
    rules = audit.load("standard", DEFAULT_SETTINGS)
    yield HEAD
    yield "| kind | outlet | acts | children | upstream |\n|---|---|---|---|---|\n"
    for each in sorted(rules.kinds(), key=lambda each: each.kind):
        acts, upstream = ACTS.get(each.kind, ""), UPSTREAM.get(each.kind, "operator at the revision of the document")
        room = OUTLETS[outlet(rules, each)]
        yield f"| {each.kind} | {room} | {acts} | {CHILDREN.get(each.kind, '')} | {upstream} |\n"
    yield CASES_HEAD
    for file in sorted(CASES.glob("*.yaml")):
        rows = [*_rows(yaml.safe_load(file.read_text()))]
        shared, differ = (sum(key in row for row in rows) for key in ("src", "differs"))
        yield f"| {file.stem} | {len(rows)} | {shared} | {differ} |\n"


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    """The cases of a file: a list, or lists by name."""
    for part in value.values() if isinstance(value, dict) else [value]:
        yield from part
