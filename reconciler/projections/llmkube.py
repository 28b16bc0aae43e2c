"""The status of an LLMKube Model: where its weights are, and whether they can be served.

It follows the operator before 0.9.6, without its defects: a change of the specification is handled in any phase, a
failure sets Available=False, a success clears Degraded, and the accelerator is checked again. This module does not
download weights. Of a file behind a URL, it can compare the fingerprint and read the header: see ``drift.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from reconciler.guard import trimmed
from reconciler.projection import Controller, Happening, Observed, Projection
from reconciler.projections.drift import Drift
from reconciler.projections.hostpath import refusal
from reconciler.projections.objects import news
from reconciler.say.conditions import Condition, find, merged, timestamp
from webhook.cluster import APIResource
from webhook.cluster.view import Kind
from webhook.facts.llmkube import (
    FACTS,
    FileSet,
    SourceKind,
    accelerator_resource,
    cache_key,
    resolve_fileset,
)

MODELS = APIResource("inference.llmkube.dev", "v1alpha1", "models", "Model")

NODE = Kind("", "Node")
VOLUME_CLAIM = Kind("", "PersistentVolumeClaim")
CLAIM = Kind("resource.k8s.io", "ResourceClaim")
CLAIM_TEMPLATE = Kind("resource.k8s.io", "ResourceClaimTemplate")

AVAILABLE, PROGRESSING, DEGRADED = "Available", "Progressing", "Degraded"

# The weights are not read, so their size is unknown.
UNKNOWN_SIZE = "0"


@dataclass(frozen=True, slots=True)
class ModelState:
    """The state of a model; ``true`` names the one condition of three that is true."""

    phase: str
    true: str
    reason: str
    message: str
    path: str = ""
    cache_key: str = ""


def controller(allowed_roots: Sequence[str] = (), drift: Drift | None = None) -> Controller:
    """The controller of Models; ``allowed_roots`` are the host paths allowed for local sources, none by default.

    ``drift`` looks at files behind URLs; without it, none is read.
    """
    reads = {VOLUME_CLAIM: trimmed, NODE: trimmed, CLAIM: _named, CLAIM_TEMPLATE: _named}
    made = partial(project, allowed_roots=allowed_roots, drift=drift)
    return Controller(MODELS, made, reads, observe=drift.observe if drift else None)


def _named(obj: dict[str, Any], resource: APIResource) -> dict[str, Any]:
    """Keep of an object its name and its labels."""
    kept = trimmed(obj, resource)
    metadata = {key: kept["metadata"][key] for key in _NAMES if key in kept["metadata"]}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "status": {}}


_NAMES = ("name", "namespace", "uid", "resourceVersion", "labels")


def project(
    model: dict[str, Any], observed: Observed, allowed_roots: Sequence[str] = (), drift: Drift | None = None
) -> Projection:
    """The status of a model that has passed the gate."""
    spec = model["spec"]
    source = FACTS["Model"]["source"].compute(model, observed.view)
    files = resolve_fileset(spec["source"], spec.get("files") or (), spec.get("mmproj") or "")
    state = _rejected(model, source, files, allowed_roots) or _resolved(model, source, observed)
    status, events = _status(model, state, files, observed), _events(model, state)
    if drift is None or state.phase != "Ready" or source["kind"] != SourceKind.REMOTE_HTTP:
        return Projection(status, events=events)
    found = drift.found(model, observed)
    conditions = [*status["conditions"], *found.conditions]
    return Projection({**status, **found.members, "conditions": conditions}, requeue=found.wait, events=events)


def _rejected(
    model: dict[str, Any], source: dict[str, Any], files: FileSet, allowed_roots: Sequence[str]
) -> ModelState | None:
    """Faults that do not pass by waiting, in the operator's order."""
    if source["kind"] == SourceKind.LOCAL:
        why = refusal(model["spec"]["source"], source["path"], allowed_roots)
        if why:
            return _failed("SourceNotAllowed", why)
    if files.error:
        return _failed("InvalidFileSet", files.error)
    return _failed("InvalidSource", source["error"]) if source["error"] else None


def _resolved(model: dict[str, Any], source: dict[str, Any], observed: Observed) -> ModelState:
    """The location of a servable source."""
    metal = _hardware(model).get("accelerator") == "metal"
    key = cache_key(model["spec"]["source"])
    match source["kind"]:
        case SourceKind.PVC:
            return _on_volume(model, source, observed)
        case SourceKind.HF_REPO:
            return _ready("RuntimeResolved", "The runtime fetches the repository when it starts")
        case SourceKind.REMOTE_HTTP if metal:
            return _ready("WorkloadResolved", "The Metal agent downloads the model", cache_key=key)
        case SourceKind.REMOTE_HTTP:
            return _ready("WorkloadResolved", "The workload downloads the model when it starts", cache_key=key)
    if metal:
        return _ready("MetalAgentManaged", "The Metal agent reads the path on its own host")
    return _ready("WorkloadResolved", "The workload reads the path on its node", path=source["path"], cache_key=key)


def _on_volume(model: dict[str, Any], source: dict[str, Any], observed: Observed) -> ModelState:
    namespace, claim = model["metadata"]["namespace"], source["claim"]
    volume = observed.view.get(VOLUME_CLAIM, namespace, claim)
    if volume is None:
        return _failed("PVCNotFound", f'PVC "{claim}" not found in namespace "{namespace}"')
    phase = (volume.get("status") or {}).get("phase", "Pending")
    if phase != "Bound":
        waiting = f'PVC "{claim}" is {phase}, waiting for it to be Bound'
        return ModelState("Pending", PROGRESSING, "PVCNotBound", waiting)
    path, key = f"/model-source/{source['path']}", cache_key(model["spec"]["source"])
    return _ready("PVCModelReady", f'Model available on PVC "{claim}"', path=path, cache_key=key)


def _ready(reason: str, message: str, path: str = "", cache_key: str = "") -> ModelState:
    return ModelState("Ready", AVAILABLE, reason, message, path, cache_key)


def _failed(reason: str, message: str) -> ModelState:
    return ModelState("Failed", DEGRADED, reason, message)


def _status(model: dict[str, Any], state: ModelState, files: FileSet, observed: Observed) -> dict[str, Any]:
    before = model.get("status") or {}
    status = {
        "phase": state.phase,
        "path": state.path,
        "size": UNKNOWN_SIZE if state.phase == "Ready" else "",
        "cacheKey": state.cache_key,
        "stagedFiles": list(files.staged) if state.phase == "Ready" else [],
        "lastUpdated": _last_updated(model, state, observed),
        "conditions": _conditions(model, before, state, observed),
    }
    return {key: value for key, value in status.items() if value} | {"acceleratorReady": _equipped(model, observed)}


def _conditions(
    model: dict[str, Any], before: dict[str, Any], state: ModelState, observed: Observed
) -> list[dict[str, Any]]:
    wanted = [
        Condition(type_, type_ == state.true, state.reason, state.message)
        for type_ in (AVAILABLE, PROGRESSING, DEGRADED)
    ]
    return merged(before.get("conditions") or (), wanted, model["metadata"].get("generation", 0), observed.now)


def _last_updated(model: dict[str, Any], state: ModelState, observed: Observed) -> str:
    """When the model last became ready: for the first time, again, or with a new specification."""
    before = model.get("status") or {}
    last = str(before.get("lastUpdated") or "")
    if state.phase != "Ready":
        return last
    available = find(before.get("conditions") or (), AVAILABLE) or {}
    current = available.get("observedGeneration") == model["metadata"].get("generation", 0)
    return last if last and before.get("phase") == "Ready" and current else timestamp(observed.now)


def _events(model: dict[str, Any], state: ModelState) -> tuple[Happening, ...]:
    """A warning when a model fails, and when the reason of the failure changes."""
    return news(model, DEGRADED, state.reason, state.message) if state.true == DEGRADED else ()


def _equipped(model: dict[str, Any], observed: Observed) -> bool:
    """``status.acceleratorReady``: whether the device claims exist, or a node has the resource."""
    devices = [*_devices(model)]
    if devices:
        return all(observed.view.get(*device) is not None for device in devices)
    resource = _node_resource(model)
    return not resource or any(_has(node, resource) for node in observed.view.list(NODE))


def _has(node: dict[str, Any], resource: str) -> bool:
    amount = str((node.get("status") or {}).get("capacity", {}).get(resource, "0"))
    return any(digit in amount for digit in "123456789")


def _hardware(model: dict[str, Any]) -> dict[str, Any]:
    return model["spec"].get("hardware") or {}


def _gpu(model: dict[str, Any]) -> dict[str, Any]:
    return _hardware(model).get("gpu") or {}


def _devices(model: dict[str, Any]) -> Iterator[tuple[Kind, str, str]]:
    """The device claims of the accelerator; they take precedence over a resource name."""
    if not accelerator_resource(_hardware(model).get("accelerator", "")):
        return
    namespace = model["metadata"]["namespace"]
    for claim in _gpu(model).get("resourceClaims") or ():
        if "resourceClaimName" in claim:
            yield CLAIM, namespace, claim["resourceClaimName"]
        else:
            yield CLAIM_TEMPLATE, namespace, claim.get("resourceClaimTemplateName", "")


def _node_resource(model: dict[str, Any]) -> str:
    """The extended resource that a node must have; "" if none is needed."""
    gpu = _gpu(model)
    return accelerator_resource(_hardware(model).get("accelerator", ""), gpu.get("resourceName", ""))
