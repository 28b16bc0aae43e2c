"""The status of AIM's templates: what the discovery Job found, and the runtime of KServe that follows from it.

It follows the operator, with corrections: a Failure ends with its cause, the image is shown, the template's own pull
secrets are used, a Job follows a change of what it runs, and values that the definition refuses are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from reconciler.projection import Controller, Happening, Observed, Projection
from reconciler.projections import kinds
from reconciler.projections.aim.discovery import Discovery, Logs, discovery_job, read
from reconciler.projections.aim.parts import missing, reference, status_of
from reconciler.projections.objects import condition_of, job_state, mine, news
from reconciler.resource import kind_of
from reconciler.say.conditions import Condition
from webhook.cluster import APIResource
from webhook.cluster.view import ClusterView
from webhook.facts.aim import DEFAULT_CONFIG, Referent, config_of, image_of
from webhook.facts.settings import Settings

WAITING: Final = {"ImagePullBackOff", "ErrImagePull", "InvalidImageName"}
"""Reasons for which a container of the discovery waits for an image that may never come."""

READ_AGAIN: Final = 10.0
"""Seconds until a log that could not be read is read again."""


@dataclass(frozen=True, slots=True)
class State:
    """A row of the state machine. ``reason`` is that of Ready; ``cause`` that of Failure, which says ``failure``."""

    status: str
    reason: str
    message: str
    failure: str = ""
    cause: str = ""
    progress: str = ""
    found: Discovery | None = None


@dataclass(frozen=True, slots=True)
class _World:
    """What a template refers to. ``where`` is the namespace of its Job."""

    image: Referent | None
    config: Referent | None
    config_name: str
    where: str
    job: dict[str, Any] | None


def controllers(settings: Settings, logs: Logs) -> list[Controller]:
    """Those of both kinds of templates; ``logs`` reads the log of a pod."""
    made, observe = partial(project, settings=settings), partial(_observe, settings, logs)
    return [
        Controller(each, made, children=(kinds.JOBS, kinds.PODS, _runtimes(each.kind)), observe=observe)
        for each in (kinds.TEMPLATES, kinds.CLUSTER_TEMPLATES)
    ]


def _runtimes(kind: str) -> APIResource:
    return kinds.RUNTIMES if kind == kinds.TEMPLATES.kind else kinds.CLUSTER_RUNTIMES


def _observe(settings: Settings, logs: Logs, template: dict[str, Any], view: ClusterView) -> Discovery | None:
    """The result of the discovery, if its Job has succeeded and the template does not have it yet."""
    world = _world(template, view, settings)
    if _is_known(template) or world.job is None or job_state(world.job) != "succeeded":
        return None
    return read(logs, _pods(world.job, view))


def project(template: dict[str, Any], observed: Observed, settings: Settings) -> Projection:
    """Status, Job and runtime of a template that has passed the gate."""
    world = _world(template, observed.view, settings)
    state = _state(template, world, observed)
    runtime = _runtimes(template["kind"])
    absent = missing(runtime, observed) if state.status == "Available" else ""
    before = template.get("status") or {}
    found = state.found or Discovery(before.get("modelSources") or [], before.get("profile") or {})
    status = status_of(
        template,
        state.status,
        _conditions(template, state, absent),
        observed,
        modelSources=found.sources,
        profile=found.profile,
        resolvedImage=reference(world.image),
        resolvedRuntimeConfig=reference(world.config),
    )
    children: list[dict[str, Any]] = []
    if world.image is not None and (world.job is not None or state.status == "Pending"):
        children.append(discovery_job(template, world.image, world.config, world.where))
    keep = frozenset[Any]()
    if state.status == "Available" and world.image is not None:
        children.append(observed.made({**template, "status": status})["runtime"])
    elif _is_known(template):
        keep = frozenset({kind_of(runtime)})  # services run by it
    wait = READ_AGAIN if observed.measured and observed.measured.transient else None
    return Projection(status, tuple(children), wait, _events(template, state), keep=keep)


def _world(template: dict[str, Any], view: ClusterView, settings: Settings) -> _World:
    metadata, spec = template["metadata"], template["spec"]
    where = metadata.get("namespace", "") or settings.aim_namespace
    image = image_of(view, Referent(template["kind"], template))
    name = spec.get("runtimeConfigName") or DEFAULT_CONFIG
    config = config_of(view, where, name)
    job = discovery_job(template, image, config, where) if image else None
    found = view.get(kind_of(kinds.JOBS), where, job["metadata"]["name"]) if job else None
    return _World(image, config, name, where, found if mine(found, template) else None)


def _is_known(template: dict[str, Any]) -> bool:
    """Whether the discovery has ended well."""
    status = template.get("status") or {}
    return status.get("status") == "Available" or condition_of(template, "Discovered").get("status") == "True"


def _state(template: dict[str, Any], world: _World, observed: Observed) -> State:
    """The first row of the operator's table that matches."""
    namespace, name = template["metadata"].get("namespace", ""), template["spec"]["aimImageName"]
    if observed.refused:
        return _failed("Failed", f"Apply failed: {observed.refused}")
    if namespace and world.config is None and world.config_name != DEFAULT_CONFIG:
        text = f'AIMRuntimeConfig "{world.config_name}" not found in namespace "{namespace}"'
        return _failed("Failed", f"Observation failed: {text}")
    if world.image is None:
        kinds = "AIMImage or AIMClusterImage" if namespace else "AIMClusterImage"
        text = f'No {kinds} found for image name "{name}"'
        return State("Degraded", "ImageNotFound", "Cannot proceed without image", text, "ImageNotFound")
    if _is_known(template):
        return _available(None)
    return _discovering(world.job, observed)


def _discovering(job: dict[str, Any] | None, observed: Observed) -> State:
    if job is None:
        return State("Pending", "Reconciling", "Initiating discovery", progress="Reconciling")
    match job_state(job):
        case "failed":
            return _failed("JobFailed", "the discovery Job failed; its pods have the log", ready="Failed")
        case "succeeded":
            found: Discovery = observed.measured or Discovery(error="the log was not read")
            if found.transient:
                return State("Progressing", "Reconciling", found.error, progress="DiscoveryRunning")
            return _failed("DiscoveryParseFailed", found.error) if found.error else _available(found)
    if text := _not_pulled(_pods(job, observed.view)):
        return State("Degraded", "ImagePullBackOff", "Cannot run the discovery", text, "ImagePullBackOff")
    return State("Progressing", "Reconciling", "the discovery Job runs", progress="DiscoveryRunning")


def _failed(reason: str, message: str, ready: str = "") -> State:
    return State("Failed", ready or reason, message, message, reason)


def _available(found: Discovery | None) -> State:
    return State("Available", "Available", "the template can be used", found=found)


def _pods(job: dict[str, Any], view: ClusterView) -> Sequence[dict[str, Any]]:
    metadata = job["metadata"]
    return [each for each in view.list(kind_of(kinds.PODS), metadata["namespace"]) if mine(each, job)]


def _not_pulled(pods: Sequence[dict[str, Any]]) -> str:
    """Why an image cannot be pulled; empty if none is waited for."""
    for pod in pods:
        for each in (pod.get("status") or {}).get("containerStatuses") or ():
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") in WAITING:
                return f"{waiting['reason']}: {waiting.get('message') or each.get('image', '')}"
    return ""


def _conditions(template: dict[str, Any], state: State, absent: str) -> list[Condition]:
    ready = state.status == "Available"
    known = ready or _is_known(template)
    return [
        Condition("Failure", True, state.cause, state.failure)
        if state.failure
        else Condition("Failure", False, "NoFailure", "no failure"),
        _discovered(state, known=known),
        Condition("Progressing", bool(state.progress), state.progress or state.reason, state.message),
        Condition("Ready", False, "DependencyMissing", absent)
        if absent
        else Condition("Ready", ready, state.reason, state.message),
    ]


def _discovered(state: State, *, known: bool) -> Condition:
    if known:
        return Condition("Discovered", True, "Discovered", "the image described its profile and models")
    if state.status == "Failed":
        return Condition("Discovered", False, "DiscoveryFailed", state.message)
    return Condition("Discovered", False, "JobPending", "the discovery has not ended")


def _events(template: dict[str, Any], state: State) -> tuple[Happening, ...]:
    """What has just happened: a failure, or the end of the discovery."""
    if state.failure:
        return news(template, "Failure", state.cause, state.failure)
    if state.found is not None:
        return (Happening("Normal", "DiscoverySucceeded", f"{len(state.found.sources)} models"),)
    return ()
