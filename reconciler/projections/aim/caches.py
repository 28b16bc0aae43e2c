"""AIM's caches of models: an AIMModelCache downloads one source into a volume, an AIMTemplateCache has one for each
source of its template.

It follows the operator, with two corrections: a cache stays available when its finished Job is gone, and a template
cache is as good as the worst of its sources. An AIMTemplateCache owns the caches that it creates, so they go with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reconciler.guard import trimmed
from reconciler.projection import Controller, Observed, Projection
from reconciler.projections import kinds
from reconciler.projections.aim.parts import status_of
from reconciler.projections.objects import job_state, new, short
from reconciler.resource import kind_of
from reconciler.say.conditions import Condition
from webhook.cluster.view import ClusterView, Kind

MODEL_CACHE: Final = kind_of(kinds.MODEL_CACHES)
TEMPLATES: Final = (kind_of(kinds.TEMPLATES), kind_of(kinds.CLUSTER_TEMPLATES))
VOLUME: Final = kind_of(kinds.VOLUMES)
JOB: Final = kind_of(kinds.JOBS)
CLASS: Final = Kind("storage.k8s.io", "StorageClass")

DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"

WORST_FIRST: Final = ("Failed", "Pending", "Progressing", "Available")


def controllers() -> list[Controller]:
    """Those of both kinds of caches."""
    return [
        Controller(kinds.MODEL_CACHES, project_model_cache, {VOLUME: trimmed}, (kinds.VOLUMES, kinds.JOBS)),
        Controller(kinds.TEMPLATE_CACHES, project_template_cache, children=(kinds.MODEL_CACHES,)),
    ]


def project_model_cache(cache: dict[str, Any], observed: Observed) -> Projection:
    """The volume, the Job that fills it, and how far they are."""
    namespace, view, made = cache["metadata"]["namespace"], observed.view, observed.made(cache)
    claim_name, job_name = (made[each]["metadata"]["name"] for each in ("claim", "download"))
    phase = _phase(view.get(VOLUME, namespace, claim_name))
    job = job_state(view.get(JOB, namespace, job_name))
    was_available = (cache.get("status") or {}).get("status") == "Available"
    bound = phase == "Bound"
    creatable = bound or (phase == "Pending" and _waits_for_consumer(cache, view))
    ready = bound and (job == "succeeded" or (not job and was_available))
    conditions = [*_storage(phase), *_progress(phase, job, ready=ready, creatable=creatable)]
    summary = _summary(job, conditions, ready=ready)
    status = status_of(cache, summary, conditions, observed, persistentVolumeClaim=claim_name if phase else "")
    downloads = job or (creatable and not ready)
    return Projection(status, (made["claim"], made["download"]) if downloads else (made["claim"],))


def _phase(claim: dict[str, Any] | None) -> str:
    """The phase of a volume claim; empty if it does not exist."""
    return "" if claim is None else str((claim.get("status") or {}).get("phase", "Pending"))


def _waits_for_consumer(cache: dict[str, Any], view: ClusterView) -> bool:
    """Whether the volume is bound only when a pod uses it."""
    named = cache["spec"].get("storageClassName")
    classes = [view.get(CLASS, "", named)] if named else [each for each in view.list(CLASS) if _is_default(each)]
    return any(each is not None and each.get("volumeBindingMode") == "WaitForFirstConsumer" for each in classes)


def _is_default(storage_class: dict[str, Any]) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return bool(annotations.get(DEFAULT_CLASS) == "true")


def _storage(phase: str) -> Iterator[Condition]:
    match phase:
        case "Bound":
            yield Condition("StorageReady", True, "PVCBound", "the volume is bound")
        case "Lost":
            yield Condition("StorageReady", False, "PVCLost", "the volume is lost")
        case "":
            yield Condition("StorageReady", False, "PVCPending", "PVC not created yet")
        case _:
            yield Condition("StorageReady", False, "PVCProvisioning", "the volume is not bound yet")


def _progress(phase: str, job: str, *, ready: bool, creatable: bool) -> Iterator[Condition]:
    waiting = "WaitingForPVC" if phase != "Bound" and not (creatable and job) else "Downloading"
    failed = "PVCLost" if phase == "Lost" else "DownloadFailed" if job == "failed" else ""
    busy = not ready and not failed
    yield Condition("Ready", ready, "Warm" if ready else waiting, "the model is in the volume" if ready else "not yet")
    why = "Warm" if ready else "RetryBackoff" if job == "failed" else waiting
    yield Condition("Progressing", busy, why, "the model is being downloaded" if busy else "nothing is under way")
    text = {"PVCLost": "the volume is lost", "DownloadFailed": "the download Job failed; its pods have the log"}
    yield Condition("Failure", bool(failed), failed or "NoFailure", text.get(failed, "no failure"))


def _summary(job: str, conditions: list[Condition], *, ready: bool) -> str:
    progressing = any(each.type == "Progressing" and each.status for each in conditions)
    return "Failed" if job == "failed" else "Available" if ready else "Progressing" if progressing else "Pending"


def project_template_cache(cache: dict[str, Any], observed: Observed) -> Projection:
    """A cache for each source of the template, and how far the worst of them is."""
    namespace, view = cache["metadata"]["namespace"], observed.view
    found = _template(cache, view)
    if found is None:
        text = f'Waiting for template "{cache["spec"]["templateRef"]}" to be created'
        conditions = [Condition("Resolved", False, "TemplateNotFound", text)]
        return Projection(status_of(cache, "Pending", conditions, observed))
    kind, template = found
    children, statuses = [], []
    for source in (template.get("status") or {}).get("modelSources") or ():
        named = source.get("name") or source["sourceUri"].rpartition("/")[2]
        own = short(named.replace(".", "-"))
        others = [each for each in _caches(cache, source["sourceUri"], view) if each["metadata"]["name"] != own]
        mine = view.get(MODEL_CACHE, namespace, own)
        if mine is not None or not others:
            children.append(_model_cache(cache, own, source))
        known = [*others, *([mine] if mine is not None else [])]
        states = [(each.get("status") or {}).get("status", "Pending") for each in known]
        statuses.append(max(states, key=WORST_FIRST.index, default="Pending"))
    worst = min(statuses, key=WORST_FIRST.index, default="Pending")
    conditions = _template_conditions(kind.kind, worst, len(statuses))
    status = status_of(cache, worst, conditions, observed, resolvedTemplateKind=kind.kind)
    return Projection(status, tuple(children))


def _template(cache: dict[str, Any], view: ClusterView) -> tuple[Kind, dict[str, Any]] | None:
    name = cache["spec"]["templateRef"]
    for kind, namespace in zip(TEMPLATES, (cache["metadata"]["namespace"], ""), strict=True):
        template = view.get(kind, namespace, name)
        if template is not None:
            return kind, template
    return None


def _caches(cache: dict[str, Any], uri: str, view: ClusterView) -> list[dict[str, Any]]:
    """The caches of a source in the namespace, of the wanted storage class."""
    wanted = cache["spec"].get("storageClassName")
    return [
        each
        for each in view.list(MODEL_CACHE, cache["metadata"]["namespace"])
        if each["spec"]["sourceUri"] == uri and wanted in {None, "", each["spec"].get("storageClassName")}
    ]


def _model_cache(cache: dict[str, Any], name: str, source: dict[str, Any]) -> dict[str, Any]:
    copied = {
        key: cache["spec"][key] for key in ("storageClassName", "env", "imagePullSecrets") if cache["spec"].get(key)
    }
    spec = {"sourceUri": source["sourceUri"], "size": source["size"], **copied}
    return new(kinds.MODEL_CACHES, {"name": name}, spec=spec)


def _template_conditions(kind: str, worst: str, sources: int) -> list[Condition]:
    warm = worst == "Available"
    reason = "Warm" if warm else "Failed" if worst == "Failed" else "Warming"
    text = f"{sources} sources, the worst is {worst}"
    return [
        Condition("Resolved", True, "Resolved", f"{kind} found"),
        Condition("CacheWarm", warm, reason, text),
        Condition("Ready", warm, reason, text),
        Condition("Progressing", worst in {"Pending", "Progressing"}, reason, text),
        Condition("Failure", worst == "Failed", "Failed" if worst == "Failed" else "NoFailure", text),
    ]
