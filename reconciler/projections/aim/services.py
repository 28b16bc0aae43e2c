"""The status of an AIMService, and its children: a derived template, an InferenceService of KServe and an HTTPRoute.

The gate's facts resolve template, image, runtime config, resources and route. The rows follow the operator, with
corrections: routing that the runtime config enables becomes ready, no status stays after its cause is gone, a running
service is not removed while its template cannot be used, and references show their kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from reconciler.projection import Controller, Observed, Projection
from reconciler.projections import kinds
from reconciler.projections.aim.parts import DOMAIN, missing, reference, status_of
from reconciler.projections.objects import child_of, condition_of, new
from reconciler.resource import kind_of
from reconciler.say.conditions import Condition
from webhook.facts.aim import (
    DEFAULT_CONFIG,
    Resolved,
    predictor_of,
    resolve_service,
    rivals,
    route_of,
    same,
    template_cache,
)
from webhook.facts.nodes import Referent
from webhook.facts.settings import Settings

NO_GATEWAY: Final = "routing.gatewayRef must be specified via AIMService or runtime config when routing is enabled"

CHOICES: Final = {
    "Waiting for": ("Pending", "TemplateNotAvailable"),
    "Multiple": ("Failed", "TemplateSelectionAmbiguous"),
    "No templates": ("Failed", "TemplateNotFound"),
    "No available": ("Failed", "TemplateNotFound"),
    "No AIMImage": ("Degraded", "ImageNotFound"),
    "Observation failed": ("Failed", "ValidationFailed"),
}
"""The beginnings of what facts say of a template that is not found → status and reason; else it does not exist."""


@dataclass(frozen=True, slots=True)
class State:
    """A row of the state machine. ``message`` is about the service; ``about`` about its runtime, if that is another."""

    status: str
    reason: str
    message: str
    about: str = ""

    @property
    def failed(self) -> bool:
        return self.status in {"Failed", "Degraded"}


@dataclass(frozen=True, slots=True)
class Route:
    """Whether a route is ready. ``broken``: not by waiting. ``path`` is shown in the status."""

    ready: bool
    reason: str
    message: str
    path: str = ""
    broken: bool = False


def controllers(settings: Settings) -> list[Controller]:
    made = (kinds.INFERENCE_SERVICES, kinds.ROUTES, kinds.TEMPLATES)
    return [Controller(kinds.AIM_SERVICES, partial(project, settings=settings), children=made)]


def project(service: dict[str, Any], observed: Observed, settings: Settings) -> Projection:
    """Status and children of a service that has passed the gate."""
    resolved = resolve_service(service, observed.view, choose=settings.chooses_template)
    route = _route(service, resolved, observed)
    runs = child_of(service, observed.view, kinds.INFERENCE_SERVICES, predictor_of(service))
    state = _unresolved(service, resolved, observed) or _running(runs, resolved, route, observed)
    status = status_of(
        service,
        state.status,
        [*_conditions(service, resolved, state, route, runs, observed)],
        observed,
        resolvedTemplate=_template(service, resolved),
        resolvedImage=reference(resolved.image),
        resolvedRuntimeConfig=reference(resolved.config),
        routing={"path": route.path} if route.path else {},
    )
    children = list(_children(service, resolved, route, observed))
    keep = frozenset(() if children else map(kind_of, (kinds.INFERENCE_SERVICES, kinds.ROUTES)))
    shared = tuple(_derived(service, resolved, observed, settings))
    return Projection(status, tuple(children), keep=keep, shared=shared)


def _unresolved(service: dict[str, Any], resolved: Resolved, observed: Observed) -> State | None:
    """The first of the operator's rows that ends before anything runs (specification, 3.3, 3 to 12)."""
    found, name = resolved.template.template, resolved.template.name
    if observed.refused:
        return State("Failed", "RuntimeFailed", f"Apply failed: {observed.refused}")
    if found is None and resolved.template.makes:
        return State("Pending", "TemplateNotFound", "Template not found; creating derived template")
    if found is None:
        said = resolved.template.error
        status, reason = next(
            (each for start, each in CHOICES.items() if said.startswith(start)), ("Degraded", "TemplateNotFound")
        )
        return State(status, reason, said, "Referenced template does not exist")
    if resolved.config is None and resolved.config_name != DEFAULT_CONFIG:
        text = f'AIMRuntimeConfig "{resolved.config_name}" not found in namespace "{service["metadata"]["namespace"]}"'
        return State("Degraded", "RuntimeConfigMissing", text)
    if resolved.image is None:
        return State("Degraded", "ImageNotFound", _no_image(found))
    error = route_of(service, resolved.routing.template).error if resolved.routing.enabled else ""
    if error:
        return State("Degraded", "RouteTemplateInvalid", error, "Cannot configure HTTP routing")
    return _not_available(found, name)


def _no_image(template: Referent) -> str:
    where = "" if template.cluster_scoped else f' in namespace "{template.namespace}"'
    kind = "AIMClusterImage" if template.cluster_scoped else "AIMImage"
    return f'{kind} "{template.spec["aimImageName"]}" not found{where}'


def _not_available(template: Referent, name: str) -> State | None:
    status = (template.object.get("status") or {}).get("status")
    if status in {"Failed", "Degraded"}:
        why = condition_of(template.object, "Failure")
        known = why.get("status") == "True"
        reason, text = (why["reason"], why["message"]) if known else ("TemplateDegraded", "Template is not available")
        return State(status, reason, text or "Template is not available")
    if status != "Available":
        return State("Pending", "TemplateNotAvailable", f'Template "{name}" is not yet Available')
    sources = template.object["status"].get("modelSources") or ()
    if any(each.get("sourceUri") for each in sources):
        return None
    return State("Degraded", "NoModelSources", f'Template "{name}" has no model sources')


def _running(runs: dict[str, Any] | None, resolved: Resolved, route: Route, observed: Observed) -> State:
    """How far the InferenceService and the route are (row 14)."""
    if text := missing(kinds.INFERENCE_SERVICES, observed):
        return State("Degraded", "DependencyMissing", text)
    if resolved.routing.enabled and resolved.routing.gateway is None:
        return State("Failed", "RouteFailed", "Routing gateway reference is missing")
    if runs is None:
        return State("Starting", "CreatingRuntime", "Waiting for the InferenceService to be created")
    failure = ((runs.get("status") or {}).get("modelStatus") or {}).get("lastFailureInfo") or {}
    ready = _is_ready(runs)
    if failure and not ready:
        return State("Degraded", "RuntimeFailed", failure.get("message") or failure.get("reason") or "the model failed")
    if route.broken:
        return State("Degraded", route.reason, route.message)
    if not ready:
        text = condition_of(runs, "Ready").get("message") or "the InferenceService is not ready"
        return State("Starting", "CreatingRuntime", text)
    if not route.ready:
        return State("Starting", "ConfiguringRoute", route.message)
    return State("Running", "RuntimeReady", "the InferenceService is ready")


def _is_ready(runs: dict[str, Any]) -> bool:
    """Whether KServe has seen the last change and found it ready."""
    seen = (runs.get("status") or {}).get("observedGeneration")
    current = seen is None or seen >= runs["metadata"].get("generation", 0)
    return current and condition_of(runs, "Ready").get("status") == "True"


def _route(service: dict[str, Any], resolved: Resolved, observed: Observed) -> Route:
    routing = resolved.routing
    if not routing.enabled:
        return Route(True, "RouteReady", "Routing disabled")
    rendered = route_of(service, routing.template)
    path = rendered.path or route_of(service, "").path
    if routing.gateway is None:
        return Route(False, "RouteFailed", NO_GATEWAY, path, broken=True)
    if rendered.error:
        return Route(False, "RouteTemplateInvalid", rendered.error, path, broken=True)
    if text := missing(kinds.ROUTES, observed):
        return Route(False, "DependencyMissing", text, path, broken=True)
    return Route(*_accepted(child_of(service, observed.view, kinds.ROUTES, service["metadata"]["name"])), path)


def _accepted(route: dict[str, Any] | None) -> tuple[bool, str, str]:
    """What the gateways say of a route."""
    if route is None:
        return False, "ConfiguringRoute", "Waiting for HTTPRoute to be created"
    parents = (route.get("status") or {}).get("parents") or ()
    if not parents:
        return False, "ConfiguringRoute", "HTTPRoute has no parent status"
    for each in (each for parent in parents for each in parent.get("conditions") or ()):
        if each.get("status") == "False":
            return False, each.get("reason") or "RouteFailed", each.get("message") or "a gateway refuses the HTTPRoute"
    return True, "RouteReady", "HTTPRoute is accepted"


def _conditions(
    service: dict[str, Any],
    resolved: Resolved,
    state: State,
    route: Route,
    runs: dict[str, Any] | None,
    observed: Observed,
) -> Iterator[Condition]:
    found, about = resolved.template.template, state.about or state.message
    runs_well = runs is not None and _is_ready(runs)
    yield _cached(service, found, observed)
    if found is not None:
        yield Condition("Resolved", True, "Resolved", f'Resolved template "{resolved.template.name}"')
    else:
        yield Condition("Resolved", False, state.reason, state.message)
    yield Condition("RoutingReady", route.ready, route.reason, route.message)
    if runs_well and not state.failed:
        yield Condition("RuntimeReady", True, "RuntimeReady", "the InferenceService is ready")
    else:
        yield Condition("RuntimeReady", False, state.reason, about)
    busy = state.status in {"Pending", "Starting"}
    yield Condition("Progressing", busy, state.reason, state.message)
    yield Condition("Ready", state.status == "Running", state.reason, about)
    if state.failed:
        yield Condition("Failure", True, state.reason, state.message)
    else:
        yield Condition("Failure", False, "Resolved", "No active failures")


def _cached(service: dict[str, Any], template: Referent | None, observed: Observed) -> Condition:
    if not service["spec"].get("cacheModel"):
        return Condition("CacheReady", True, "CacheWarm", "Caching not requested")
    cache = template_cache(observed.view, service["metadata"]["namespace"], template.name if template else "")
    if ((cache or {}).get("status") or {}).get("status") == "Available":
        return Condition("CacheReady", True, "CacheWarm", "the models of the template are cached")
    return Condition("CacheReady", False, "WaitingForCache", "Waiting for cache warm-up")


def _template(service: dict[str, Any], resolved: Resolved) -> dict[str, Any]:
    if resolved.template.template is not None:
        return reference(resolved.template.template)
    name = resolved.template.name or resolved.template.base or service["spec"].get("templateRef") or ""
    return {"name": name, "kind": kinds.TEMPLATES.kind, "scope": "Unknown"} if name else {}


def _children(
    service: dict[str, Any], resolved: Resolved, route: Route, observed: Observed
) -> Iterator[dict[str, Any]]:
    """The InferenceService and its route, as soon as the template can be used; the route may be impossible."""
    template = resolved.template.template
    configured = resolved.config is not None or resolved.config_name == DEFAULT_CONFIG
    if template is None or resolved.image is None or not configured or _not_available(template, "") is not None:
        return
    made = observed.made(service)
    yield made["inferenceservice"]
    if "route" in made and (not route.broken or route.reason == "DependencyMissing"):
        yield made["route"]


def _derived(
    service: dict[str, Any], resolved: Resolved, observed: Observed, settings: Settings
) -> Iterator[dict[str, Any]]:
    """The template that the overrides derive. Services with the same overrides share it.

    It is changed only if they agree on its specification: upstream's services overwrite each other's for ever.
    """
    wanted, found = resolved.template.spec, resolved.template.template
    if wanted is None or (found is not None and same(found.spec, wanted)):
        return
    if found is not None and rivals(service, observed.view, resolved.template, choose=settings.chooses_template):
        return
    metadata = {
        "name": resolved.template.name,
        "namespace": service["metadata"]["namespace"],
        "labels": {f"{DOMAIN}/derived-template": "true"},
    }
    yield new(kinds.TEMPLATES, metadata, spec=wanted)
