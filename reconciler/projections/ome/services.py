"""The status of an OME InferenceService, and its children: engine, decoder and router, each as its own workload.

The gate's facts choose model and runtime. It follows OME, with corrections: why nothing can be chosen is written into
``lastFailureInfo``, which the API declares and OME never sets, and services that run keep running then. Knative, Ray,
Istio, Ingress and the webhook for pods are left out: the condition Unsupported says so. The ConfigMap with the model is
for that webhook, and is left out, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from reconciler.projection import Controller, Observed, Projection
from reconciler.projections import kinds
from reconciler.projections.objects import child_of, condition_of, named
from reconciler.projections.ome.components import Component, components_of
from reconciler.projections.ome.pods import Context
from reconciler.projections.ome.workloads import KINDS, children_of, external_service, name_of_set
from reconciler.resource import kind_of
from reconciler.say.conditions import Condition, merged, timestamp
from webhook.admission import one_line
from webhook.cluster.view import ClusterView
from webhook.facts.ome import (
    MAIN,
    MODE,
    Referent,
    find_model,
    find_runtime,
    has_full_runner,
    incompatible,
    preferred,
    selection_of,
)
from webhook.facts.settings import Settings

POD: Final = kind_of(kinds.PODS)
CONFIG_MAP: Final = kind_of(kinds.CONFIG_MAPS)
CONFIG: Final = "inferenceservice-config"

READY: Final = {"engine": "EngineReady", "decoder": "DecoderReady", "router": "RouterReady"}
OWNS: Final = frozenset({*READY.values(), "IngressReady", "Ready", "Unsupported"})
ALL: Final = frozenset(map(kind_of, KINDS))


@dataclass(frozen=True, slots=True)
class Failure:
    """Why nothing can run: a reason of ``lastFailureInfo``."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a component is. ``crashed``: what its main container ended with."""

    ready: bool
    reason: str
    message: str
    replicas: int = 0
    crashed: str = ""
    code: int = 0


def controller(settings: Settings) -> Controller:
    return Controller(kinds.OME_SERVICES, partial(project, settings=settings), children=KINDS, owns=OWNS)


def project(service: dict[str, Any], observed: Observed, settings: Settings) -> Projection:
    """Status and children of an InferenceService that has passed the gate."""
    annotations = service["metadata"].get("annotations") or {}
    if annotations.get(MODE) == "VirtualDeployment":
        return _virtual(service, observed)
    if observed.refused:
        return _failed(service, Failure("InvalidPredictorSpec", f"Apply failed: {observed.refused}"), observed, "")
    context, failure = _chosen(service, observed.view, settings)
    components = list(components_of(service, context.runtime))
    unsupported = _unsupported(components, observed.view, settings)
    if failure is None and not any(each.role == "engine" for each in components):
        failure = Failure("InvalidPredictorSpec", "engine component is required")
    if failure is not None or any(not each.supported for each in components):
        return _failed(service, failure, observed, unsupported)
    standings = {each.role: _standing(each, service, observed) for each in components}
    entry = next((each for each in components if each.role == "router"), components[0])
    children = [child for each in components for child in children_of(each, context)]
    children.append(external_service(entry, context))
    return Projection(_status(service, observed, standings, entry, unsupported), tuple(children))


def _chosen(service: dict[str, Any], view: ClusterView, settings: Settings) -> tuple[Context, Failure | None]:
    """Model and runtime, or why there is none."""
    spec, namespace = service["spec"], service["metadata"]["namespace"]
    reference, runtime = spec.get("model") or {}, spec.get("runtime") or {}
    model = find_model(view, namespace, reference.get("name", ""), preferred(service, "model", settings))
    if reference.get("name") and model is None:
        text = f"No BaseModel or ClusterBaseModel with the name: {reference['name']}"
        return Context(service, None, None), Failure("BaseModelNotFound", text)
    if model is not None and model.disabled:
        return Context(service, model, None), Failure("BaseModelNotReady", f"{model.kind} {model.name} is disabled")
    if runtime.get("name"):
        found = find_runtime(view, namespace, runtime["name"], preferred(service, "runtime", settings))
        return Context(service, model, found), _named_runtime(runtime["name"], found, model, settings)
    if model is None or has_full_runner(service):
        return Context(service, model, None), None
    selection = selection_of(service, view, settings)
    if selection.winner is None:
        return Context(service, model, None), Failure("NoSupportingRuntime", selection.error)
    return Context(service, model, selection.winner.runtime), None


def _named_runtime(name: str, found: Referent | None, model: Referent | None, settings: Settings) -> Failure | None:
    if found is None:
        return Failure("RuntimeNotRecognized", f"No ServingRuntime or ClusterServingRuntime with the name: {name}")
    if found.disabled:
        return Failure("RuntimeDisabled", f"{found.kind} {name} is disabled")
    why = incompatible(model.spec, found, settings.ome) if model is not None else ""
    return Failure("NoSupportingRuntime", str(why)) if why else None


def _unsupported(components: Sequence[Component], view: ClusterView, settings: Settings) -> str:
    """What the service asks for and this controller does not do."""
    for each in components:
        if not each.supported:
            return f"{each.role}: deployment mode {each.mode} is not supported; set minReplicas to 1 or more"
    data = (view.get(CONFIG_MAP, settings.ome_namespace, CONFIG) or {}).get("data") or {}
    try:
        ingress = json.loads(data.get("ingress") or "{}")
    except ValueError:
        return ""
    enabled = isinstance(ingress, dict) and ingress.get("disableIngressCreation") is False
    return "ingresses are not created: a Service with the name of the InferenceService is" if enabled else ""


def _standing(component: Component, service: dict[str, Any], observed: Observed) -> Standing:
    resource, name = kinds.DEPLOYMENTS, component.name
    if component.multi_node:
        resource, name = kinds.LWS, name_of_set(component)
    for needed in (resource, kinds.SCALED) if _scaled_by_keda(service, component) else (resource,):
        if kind_of(needed) in observed.absent:
            text = f"{needed.kind} is not created: {needed.group} is not installed"
            return Standing(False, "DependencyMissing", text)
    found = child_of(service, observed.view, resource, name)
    status = (found or {}).get("status") or {}
    current = status.get("observedGeneration", 0) >= (found or {}).get("metadata", {}).get("generation", 0)
    available = condition_of(found, "Available")
    if found is not None and current and available.get("status") == "True":
        return Standing(True, "", "", int(status.get("readyReplicas") or 0))
    crashed, code = _crash(component, service, observed.view)
    said = available.get("message") if found is not None and current else ""
    message = crashed or said or f"{component.role} component initializing"
    reason = "ModelLoadFailed" if crashed else "Initializing"
    return Standing(False, reason, message, crashed=crashed, code=code)


def _scaled_by_keda(service: dict[str, Any], component: Component) -> bool:
    annotations = service["metadata"].get("annotations") or {}
    return not component.multi_node and annotations.get("ome.io/autoscalerClass") == "keda"


def _crash(component: Component, service: dict[str, Any], view: ClusterView) -> tuple[str, int]:
    """How a main container of the component ended, if one has."""
    for pod in view.list(POD, service["metadata"]["namespace"]):
        if (pod["metadata"].get("labels") or {}).get("app") != component.name:
            continue
        for each in (pod.get("status") or {}).get("containerStatuses") or ():
            states = [(each.get(key) or {}).get("terminated") or {} for key in ("state", "lastState")]
            ended = next((state for state in states if state.get("exitCode")), None)
            if ended and each.get("name") in {MAIN, component.runner.get("name")} and not each.get("ready"):
                why = ended.get("message") or ended.get("reason") or "it ended"
                return f"{each['name']} of {pod['metadata']['name']}: {why}", int(ended["exitCode"])
    return "", 0


def _status(
    service: dict[str, Any],
    observed: Observed,
    standings: dict[str, Standing],
    entry: Component,
    unsupported: str,
) -> dict[str, Any]:
    ready = all(each.ready for each in standings.values())
    conditions = [
        Condition(READY[role], each.ready, each.reason or "Available", each.message or "the pods are available")
        for role, each in standings.items()
    ]
    waits = next((each for each in standings.values() if not each.ready), None)
    conditions.append(
        Condition("IngressReady", True, "IngressDisabled", "a Service leads to the component")
        if waits is None
        else Condition("IngressReady", False, "ComponentNotReady", waits.message)
    )
    conditions.append(
        Condition("Ready", ready, "Ready" if waits is None else waits.reason, waits.message if waits else "it serves")
    )
    where = f"{named(service['metadata']['name'])}.{service['metadata']['namespace']}.svc.cluster.local"
    url = f"http://{where}:{entry.port}"
    return {
        "url": url,
        "address": {"url": url},
        "modelStatus": _model_status(service, standings, observed),
        **_with(service, [*conditions, *_not_supported(unsupported)], observed),
    }


def _model_status(service: dict[str, Any], standings: dict[str, Standing], observed: Observed) -> dict[str, Any]:
    engine = standings["engine"]
    if engine.ready:
        states = {"activeModelState": "Loaded", "targetModelState": "Loaded"}
        copies = {"failedCopies": 0, "totalCopies": engine.replicas}
        return {"transitionStatus": "UpToDate", "modelRevisionStates": states, "modelCopies": copies}
    if engine.crashed:
        states = {"activeModelState": "", "targetModelState": "FailedToLoad"}
        info = _info(service, Failure("ModelLoadFailed", engine.crashed), observed) | {"exitCode": engine.code}
        return {"transitionStatus": "BlockedByFailedLoad", "modelRevisionStates": states, "lastFailureInfo": info}
    states = {"activeModelState": "", "targetModelState": "Pending"}
    return {"transitionStatus": "InProgress", "modelRevisionStates": states}


def _info(service: dict[str, Any], failure: Failure, observed: Observed) -> dict[str, Any]:
    """The failure, with the time at which it was first seen."""
    last = ((service.get("status") or {}).get("modelStatus") or {}).get("lastFailureInfo") or {}
    info = {"reason": failure.reason, "message": one_line(failure.message)}
    same = info.items() <= last.items() and "time" in last
    return {**info, "time": last["time"] if same else timestamp(observed.now)}


def _failed(service: dict[str, Any], failure: Failure | None, observed: Observed, unsupported: str) -> Projection:
    """Nothing is changed: what runs goes on."""
    text = failure.message if failure is not None else unsupported
    reason = failure.reason if failure is not None else "Unsupported"
    states = {"activeModelState": "", "targetModelState": "Pending"}
    model: dict[str, Any] = {"transitionStatus": "InvalidSpec", "modelRevisionStates": states}
    if failure is not None:
        model["lastFailureInfo"] = _info(service, failure, observed)
    conditions = [Condition("Ready", False, reason, text), *_not_supported(unsupported)]
    return Projection({"modelStatus": model, **_with(service, conditions, observed)}, keep=ALL)


def _virtual(service: dict[str, Any], observed: Observed) -> Projection:
    """A service that another system runs."""
    metadata = service["metadata"]
    url = f"http://{metadata['name']}.{metadata['namespace']}.svc.cluster.local"
    ready = Condition("Ready", True, "VirtualDeployment", "another system runs it")
    return Projection({"url": url, "address": {"url": url}, **_with(service, [ready], observed)})


def _not_supported(text: str) -> Iterator[Condition]:
    if text:
        yield Condition("Unsupported", True, "Unsupported", text)


def _with(service: dict[str, Any], conditions: list[Condition], observed: Observed) -> dict[str, Any]:
    """Conditions as OME has them, without a generation of their own."""
    generation = service["metadata"].get("generation", 0)
    before = (service.get("status") or {}).get("conditions") or ()
    written = merged(before, conditions, generation, observed.now)
    for each in written:
        del each["observedGeneration"]
    return {"observedGeneration": generation, "conditions": written}
