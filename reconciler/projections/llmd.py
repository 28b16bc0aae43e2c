"""The status of an llm-d VariantAutoscaling: how many replicas its load needs, as a signal for an autoscaler.

Signals only: the Deployment is never changed. Each part of the status is written whole, or left out. Where something is
missing, the last decision holds. Upstream sizes each variant of a model for the whole load; here the load is divided by
the capacities of the variants that share the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from reconciler.projection import Controller, Gauge, Observed, Projection
from reconciler.projections.inferno import Infeasible, Load, Profile, Sizing, Targets, predict, size
from reconciler.projections.prometheus import Measured
from reconciler.say.conditions import Condition, merged, timestamp
from webhook.admission import Cause
from webhook.cluster import APIResource
from webhook.cluster.view import ClusterView, Kind
from webhook.manifests.composer import YamlError, compose

VARIANTS: Final = APIResource("llmd.ai", "v1alpha1", "variantautoscalings", "VariantAutoscaling")
VARIANT: Final = Kind("llmd.ai", "VariantAutoscaling")
DEPLOYMENT: Final = Kind("apps", "Deployment")
CONFIG: Final = Kind("", "ConfigMap")

SYSTEM: Final = "workload-variant-autoscaler-system"
"""The namespace of llm-d's autoscaler, with the ConfigMaps that all namespaces share."""

CLASSES: Final = "service-classes-config"
COSTS: Final = "accelerator-unit-costs"
ANY_MODEL: Final = "default/default"

LONGEST: Final = 1 << 16
"""Characters of a document of service classes. Tenants write them, and each variant of a namespace reads them all."""

STALE: Final = 300.0
"""Seconds from which on a sample is not current."""

METRICS, OPTIMIZATION = "MetricsAvailable", "OptimizationReady"

NO_METRICS: Final = (
    "No vLLM metrics found for model '{}' in namespace '{}'. Check: (1) ServiceMonitor exists in monitoring namespace, "
    "(2) ServiceMonitor selector matches vLLM service labels, (3) vLLM pods are running and exposing /metrics "
    "endpoint, (4) Prometheus is scraping the monitoring namespace"
)

Source = Callable[[str, str], Measured]
"""The load of a model in a namespace."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row of the state machine. ``replicas`` is None where the last decision holds."""

    metrics: Condition
    optimization: Condition
    replicas: int | None = None


def controller(source: Source, interval: float = 60.0) -> Controller:
    """The controller; ``source`` is asked every ``interval`` seconds for the load of each model."""

    def observe(variant: dict[str, Any], _: ClusterView) -> Measured:
        return source(variant["spec"]["modelID"], variant["metadata"]["namespace"])

    def made(variant: dict[str, Any], observed: Observed) -> Projection:
        return project(variant, observed, interval)

    return Controller(VARIANTS, made, {DEPLOYMENT: _replicas_only}, refused=refused, observe=observe)


def refused(causes: Sequence[Cause]) -> Condition:
    """The condition of an object that a rule refuses: its last decision holds."""
    return Condition(OPTIMIZATION, False, "InvalidConfiguration", "; ".join(map(str, causes)))


def project(variant: dict[str, Any], observed: Observed, interval: float = 60.0) -> Projection:
    """Conditions, allocations and gauges of a variant that has passed the gate."""
    spec, metadata, view = variant["spec"], variant["metadata"], observed.view
    before = variant.get("status") or {}
    deployment = view.get(DEPLOYMENT, metadata["namespace"], metadata["name"])
    if deployment is None:
        text = f"Deployment {metadata['namespace']}/{metadata['name']} not found"
        unknown = Condition(METRICS, None, "MetricsMissing", "not asked for: there is nothing to scale")
        outcome = Outcome(unknown, Condition(OPTIMIZATION, False, "OptimizationFailed", text))
        status = {"conditions": _conditions(variant, outcome, observed), "actuation": {"applied": False}}
        return Projection(status, requeue=interval)
    current = _replicas(deployment)
    outcome = _outcome(variant, current, view, observed.measured or Measured(error="no Prometheus is configured"))
    held = (before.get("desiredOptimizedAlloc") or {}).get("numReplicas", current)
    desired = held if outcome.replicas is None else outcome.replicas
    status = {
        "conditions": _conditions(variant, outcome, observed),
        "actuation": {"applied": True},
        "desiredOptimizedAlloc": _desired(spec, desired, before, observed),
        **_current(spec, current, view),
    }
    return Projection(status, requeue=interval, gauges=tuple(_gauges(variant, current, desired)))


def _outcome(variant: dict[str, Any], current: int, view: ClusterView, measured: Measured) -> Outcome:
    spec, namespace = variant["spec"], variant["metadata"]["namespace"]
    missing = _missing(spec["modelID"], namespace, measured)
    if missing is not None or measured.load is None:
        waiting = missing or Condition(METRICS, False, "MetricsMissing", "no load is known")
        return Outcome(waiting, Condition(OPTIMIZATION, False, "MetricsUnavailable", waiting.message))
    found = Condition(METRICS, True, "MetricsFound", "vLLM metrics are available and up-to-date")
    try:
        targets, origin = _targets(spec, namespace, view)
        sizing, load = _sized(variant, targets, measured.load), measured.load
    except (Infeasible, _NoTargets) as error:
        return Outcome(found, Condition(OPTIMIZATION, False, "OptimizationFailed", f"Optimization failed: {error}"))
    least = 0 if measured.served == 0 else 1
    if sizing is None:
        text = f"Optimization completed: {least} replicas on {spec['accelerator']}; no load ({origin})"
        return Outcome(found, Condition(OPTIMIZATION, True, "OptimizationSucceeded", text), least)
    share = _share(variant, current, sizing, load, view)
    replicas = max(math.ceil(load.rpm * share / 60 / sizing.rate), 1)
    predicted = predict(_profile(spec), Load(load.rpm * share, load.input, load.output), replicas)
    text = (
        f"Optimization completed: {replicas} replicas on {spec['accelerator']}; "
        f"{load.rpm * share:.4g} requests a minute, {load.input} tokens in, {load.output} out; "
        f"a replica serves {sizing.rate * 60:.4g}, limited by {sizing.binding}; "
        f"predicted {predicted[0]:.1f} ms a token, {predicted[1]:.0f} ms to the first ({origin})"
    )
    return Outcome(found, Condition(OPTIMIZATION, True, "OptimizationSucceeded", text), replicas)


def _missing(model: str, namespace: str, measured: Measured) -> Condition | None:
    """Why there is no current load."""
    if measured.error:
        return Condition(METRICS, False, "PrometheusError", f"Failed to query Prometheus: {measured.error}")
    if measured.age is None:
        return Condition(METRICS, False, "MetricsMissing", NO_METRICS.format(model, namespace))
    if measured.age > STALE:
        text = f"vLLM metrics for model '{model}' are stale (last update: {measured.age:.0f}s ago). "
        return Condition(METRICS, False, "MetricsStale", f"{text}ServiceMonitor may not be scraping correctly.")
    return None


def _sized(variant: dict[str, Any], targets: Targets, load: Load) -> Sizing | None:
    """The capacity of a replica; None without a load to size for. A target that no load can meet is found at once."""
    profile = _profile(variant["spec"])
    idle = profile.alpha + profile.beta
    if targets.tpot and targets.tpot <= idle:
        raise Infeasible(f"slo-tpot of {targets.tpot:g} ms cannot be met: an idle replica takes {idle:g} ms")
    return size(profile, targets, load.input, load.output) if not load.idle else None


def _share(variant: dict[str, Any], current: int, own: Sizing, load: Load, view: ClusterView) -> float:
    """The part of the model's load that this variant serves, by the capacities of all that serve it."""
    namespace, name = variant["metadata"]["namespace"], variant["metadata"]["name"]
    capacities = [own.rate * current]
    for other in view.list(VARIANT, namespace):
        if other["metadata"]["name"] == name or other["spec"]["modelID"] != variant["spec"]["modelID"]:
            continue
        deployment = view.get(DEPLOYMENT, namespace, other["metadata"]["name"])
        try:
            targets, _ = _targets(other["spec"], namespace, view)
            sizing = _sized(other, targets, load)
        except (Infeasible, _NoTargets):
            continue
        if deployment is not None and sizing is not None:
            capacities.append(sizing.rate * _replicas(deployment))
    total = sum(capacities)
    return capacities[0] / total if capacities[0] else 1.0 / len(capacities) if not total else 0.0


class _NoTargets(Exception):
    """There is no service class for the model."""


def _targets(spec: dict[str, Any], namespace: str, view: ClusterView) -> tuple[Targets, str]:
    """The targets of the model, and where they are from; raises _NoTargets."""
    reference, model = spec["sloClassRef"], spec["modelID"]
    for where in (namespace, SYSTEM):
        data = (view.get(CONFIG, where, reference["name"]) or {}).get("data") or {}
        if reference["key"] in data and (found := _entry({reference["key"]: data[reference["key"]]}, model)):
            return found, f"targets of {where}/{reference['name']}, key {reference['key']}"
    if found := _entry((view.get(CONFIG, SYSTEM, CLASSES) or {}).get("data") or {}, model):
        return found, f"targets of {SYSTEM}/{CLASSES}"
    raise _NoTargets(f'model "{model}" not found in any service class and {ANY_MODEL} fallback not found')


def _entry(data: dict[str, str], model: str) -> Targets | None:
    """The entry of a model, or the one for any model; of several classes the one with the lowest priority number."""
    for wanted in (model, ANY_MODEL):
        found = []
        for key in sorted(data):
            document = _parsed(data[key])
            priority = document.get("priority")
            rank = priority if isinstance(priority, int) and 1 <= priority <= 100 else 100
            entries = (each for each in document.get("data", ()) if isinstance(each, dict))
            found += [(rank, key, entry) for entry in entries if entry.get("model") == wanted]
        if found:
            entry = min(found, key=lambda each: each[:2])[2]
            return Targets(_whole(entry.get("slo-ttft")), _whole(entry.get("slo-tpot")))
    return None


@lru_cache(maxsize=32)
def _parsed(text: str) -> dict[str, Any]:
    """A document of service classes; empty if it cannot be read, or is too long."""
    if len(text) > LONGEST:
        return {}
    try:
        found = compose(text)
    except YamlError:
        return {}
    document = None if found is None else found.value
    return document if isinstance(document, dict) and isinstance(document.get("data"), list) else {}


def _whole(value: object) -> float:
    return float(int(value)) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _profile(spec: dict[str, Any]) -> Profile:
    parms = spec["variantProfile"]["perfParms"]
    decode, prefill = parms["decodeParms"], parms["prefillParms"]
    alpha, beta, gamma, delta = map(float, (decode["alpha"], decode["beta"], prefill["gamma"], prefill["delta"]))
    return Profile(alpha, beta, gamma, delta, spec["variantProfile"]["maxBatchSize"])


def _desired(spec: dict[str, Any], replicas: int, before: dict[str, Any], observed: Observed) -> dict[str, Any]:
    """The whole allocation; its time is that of the run that led to it."""
    last = before.get("desiredOptimizedAlloc") or {}
    wanted = {"variantID": spec["variantID"], "accelerator": spec["accelerator"], "numReplicas": replicas}
    same = last.get("lastRunTime") and all(last.get(key) == value for key, value in wanted.items())
    return {**wanted, "lastRunTime": last["lastRunTime"] if same else timestamp(observed.now)}


def _current(spec: dict[str, Any], replicas: int, view: ClusterView) -> dict[str, Any]:
    """The current allocation; nothing if the cost of the accelerator is unknown, because the cost is required."""
    data = (view.get(CONFIG, SYSTEM, COSTS) or {}).get("data") or {}
    try:
        cost = float(orjson.loads(data[spec["accelerator"]])["cost"])
    except (KeyError, TypeError, ValueError):
        return {}
    if not (math.isfinite(cost) and cost >= 0):
        return {}
    return {
        "currentAlloc": {
            "variantID": spec["variantID"],
            "accelerator": spec["accelerator"],
            "numReplicas": replicas,
            "maxBatch": spec["variantProfile"]["maxBatchSize"],
            "variantCost": f"{cost * spec['acceleratorCount'] * replicas:.2f}",
        }
    }


def _gauges(variant: dict[str, Any], current: int, desired: int) -> Iterator[Gauge]:
    metadata, spec = variant["metadata"], variant["spec"]
    labels = {
        "variant_name": metadata["name"],
        "namespace": metadata["namespace"],
        "accelerator_type": spec["accelerator"],
        "variant_id": spec["variantID"],
    }
    yield Gauge("inferno_desired_replicas", labels, desired)
    yield Gauge("inferno_current_replicas", labels, current)
    yield Gauge("inferno_desired_ratio", labels, desired / current if current else desired)


def _conditions(variant: dict[str, Any], outcome: Outcome, observed: Observed) -> list[dict[str, Any]]:
    before = (variant.get("status") or {}).get("conditions") or ()
    wanted = [outcome.metrics, outcome.optimization]
    return merged(before, wanted, variant["metadata"].get("generation", 0), observed.now)


def _replicas(deployment: dict[str, Any]) -> int:
    found = (deployment.get("status") or {}).get("replicas", deployment.get("spec", {}).get("replicas", 0))
    return int(found)


def _replicas_only(obj: dict[str, Any], resource: APIResource) -> dict[str, Any]:
    """Of a Deployment, its name and its numbers of replicas."""
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")}
    parts = {part: (obj.get(part) or {}).get("replicas") for part in ("spec", "status")}
    counts = {part: {"replicas": count} for part, count in parts.items() if count is not None}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **counts}
