"""The components of an InferenceService: over those of its runtime, their modes, and the migration of the predictor.

Keys of annotations that are misspellings of those that OME reads are found, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.names import is_typo
from webhook.facts.nodes import at, items, mapping, namespace_of, text, whole
from webhook.facts.ome.lookup import find_model, find_runtime
from webhook.facts.settings import Behaviour, Settings

MAIN: Final = "ome-container"
MODE: Final = "ome.io/deploymentMode"
RAW: Final = "RawDeployment"
MULTI_NODE: Final = "MultiNode"
ROLES: Final = ("engine", "decoder", "router")

_MODES: Final = {RAW, MULTI_NODE, "Serverless", "MultiNodeRayVLLM", "VirtualDeployment"}
_OF_POD: Final = ("affinity", "containers", "dnsPolicy", "hostIPC", "hostNetwork", "imagePullSecrets")
_MORE_OF_POD: Final = ("nodeSelector", "schedulerName", "tolerations", "volumes", "labels", "annotations")


def base_of(runtime: dict[str, Any], role: str) -> dict[str, Any]:
    """What a runtime has below the component of a service."""
    return mapping(runtime, f"{role}Config") or (_older(runtime) if role == "engine" else {})


def _older(runtime: dict[str, Any]) -> dict[str, Any]:
    """The engine of a runtime whose containers are at its top: the main one is the runner."""
    found = {key: runtime[key] for key in (*_OF_POD, *_MORE_OF_POD) if runtime.get(key)}
    found.pop("containers", None)
    containers = items(runtime, "containers")
    if not containers:
        return found
    runner = next((each for each in containers if each.get("name") == MAIN), containers[0])
    others = [each for each in containers if each is not runner]
    return {**found, "runner": runner, **({"containers": others} if others else {})}


def mode_of(component: dict[str, Any], role: str, service: dict[str, Any]) -> str:
    """The mode of a merged component, for the specification of its service."""
    said = text(component, "annotations", MODE)
    if role == "engine" and said in _MODES:
        return said
    if role != "router" and (component.get("leader") or component.get("worker")):
        return MULTI_NODE
    serverless = component.get("minReplicas") == 0 and role != "decoder"
    return "Serverless" if serverless and not (role == "engine" and at(service, "decoder")) else RAW


CONFIG: Final = "inferenceservice-config"
_USED: Final = ("serviceAccountName", "containers", "volumes", "nodeSelector", "tolerations")
_OF_PREDICTOR: Final = ("model", "workerSpec")


@dataclass(frozen=True, slots=True)
class Deployment:
    """``mode`` is the deployment mode to write, "" for none. ``error`` is the error in the cluster's default."""

    mode: str = ""
    error: str = ""


def deployment_of(service: Any, view: ClusterView, settings: Settings) -> Deployment:
    """The mode that engine and decoder imply, otherwise the cluster's default if that is RawDeployment."""
    configured = _default_mode(view, settings)
    spec = mapping(service, "spec")
    engine, decoder = at(spec, "engine"), at(spec, "decoder")
    if configured.error or at(service, "metadata", "annotations", "ome.io/deploymentMode") is not None:
        return Deployment(error=configured.error)
    if engine is not None and decoder is not None:
        return Deployment("PDDisaggregated")
    if at(engine, "leader") is not None and (whole(engine, "worker", "size") or 0) > 0:
        return Deployment("MultiNode")
    return Deployment(configured.mode if configured.mode == RAW else "")


def _default_mode(view: ClusterView, settings: Settings) -> Deployment:
    """The default in the ConfigMap. If it is unknown: RawDeployment, which upstream ships (upstream refuses)."""
    config = view.get(Kind("", "ConfigMap"), settings.ome_namespace, CONFIG)
    if config is None and settings.ome is Behaviour.UPSTREAM_HEAD:
        return Deployment(error=f'configmaps "{CONFIG}" not found')
    written = at(config, "data", "deploy")
    if not isinstance(written, str):
        return Deployment(RAW if config is None else "")
    try:
        found = json.loads(written)
    except ValueError as error:
        return Deployment(error=f"unable to parse deploy config json: {error}")
    mode = text(found, "defaultDeploymentMode")
    if not mode:
        return Deployment(error="invalid deploy config, defaultDeploymentMode is required")
    if mode not in {"Serverless", RAW}:
        return Deployment(error="invalid deployment mode. Supported modes are Serverless and RawDeployment")
    return Deployment(mode)


def predictor_used(service: Any) -> bool:
    """Whether the deprecated predictor is used. maxReplicas, workerSpec or model.runtime alone do not count."""
    predictor = mapping(service, "spec", "predictor")
    return (
        at(predictor, "model", "baseModel") is not None
        or predictor.get("minReplicas") is not None
        or predictor.get("affinity") is not None  # also an empty one
        or any(predictor.get(key) for key in _USED)
    )


@dataclass(frozen=True, slots=True)
class Migration:
    """The result of migrating a predictor. A part is None if it exists already or the predictor does not set it."""

    engine: dict[str, Any] | None = None
    model: dict[str, Any] | None = None
    runtime: dict[str, Any] | None = None
    error: str = ""


def migration_of(service: Any, view: ClusterView, settings: Settings) -> Migration:
    """Engine, model and runtime of a predictor. Nothing if an engine exists or migration is disabled."""
    spec = mapping(service, "spec")
    if not predictor_used(service) or not settings.ome_migration or spec.get("engine") is not None:
        return Migration()
    predictor = mapping(spec, "predictor")
    model = runtime = None
    name = at(predictor, "model", "baseModel")
    if spec.get("model") is None and isinstance(name, str):
        kind = _model_kind(service, name, view, settings)
        if not kind:
            return Migration(error=f"neither ClusterBaseModel nor BaseModel found with name {name}")
        weights = at(predictor, "model", "fineTunedWeights")
        model = {"name": name, "kind": kind, "apiGroup": "ome.io"}
        model |= {"fineTunedWeights": weights} if weights else {}
    if spec.get("runtime") is None and (named := text(predictor, "model", "runtime")):
        runtime = {"name": named, "kind": _runtime_kind(service, named, view, settings), "apiGroup": "ome.io"}
    return Migration(_engine(predictor, settings), model, runtime)


def _model_kind(service: Any, name: str, view: ClusterView, settings: Settings) -> str:
    """The kind of the model, looked up in the cluster first; "" if it is missing. Doc-era does not look it up."""
    if settings.ome is Behaviour.DOC_ERA:
        return "ClusterBaseModel"
    found = find_model(view, namespace_of(service), name, first="ClusterBaseModel")
    return found.kind if found else ""


def _runtime_kind(service: Any, name: str, view: ClusterView, settings: Settings) -> str:
    found = find_runtime(view, namespace_of(service), name)
    if found is None or settings.ome is not Behaviour.RECOMMENDED:  # upstream always writes ClusterServingRuntime
        return "ClusterServingRuntime"
    return found.kind


def _engine(predictor: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """The pod and scaling fields of the predictor, with the main container as the runner.

    The default of maxReplicas is 3, but not below minReplicas; upstream always writes 3.
    """
    engine = {key: value for key, value in predictor.items() if key not in _OF_PREDICTOR and value is not None}
    containers = items(predictor, "containers")
    if containers:
        runner = next((each for each in containers if _is_main(each)), containers[0])
        others = [each for each in containers if each is not runner]
        engine = {**engine, "runner": runner, "containers": others}
    engine = {key: value for key, value in engine.items() if key != "containers" or value}
    if predictor.get("workerSpec") is not None:
        engine["worker"] = predictor["workerSpec"]
    minimum, maximum = whole(engine, "minReplicas"), whole(engine, "maxReplicas")
    default = max(3, minimum or 0) if settings.ome is Behaviour.RECOMMENDED else 3
    return {**engine, "minReplicas": 1 if minimum is None else minimum, "maxReplicas": maximum or default}


def _is_main(container: dict[str, Any]) -> bool:
    """Whether the name contains "ome". As upstream, some-sidecar qualifies."""
    return "ome" in text(container, "name").lower()


def has_full_runner(service: Any) -> bool:
    """Whether the engine names the images to run, so that model and runtime are not required."""
    engine = mapping(service, "spec", "engine")
    images = [text(engine, part, "runner", "image") for part in ("leader", "worker")]
    return bool(text(engine, "runner", "image") or all(images))


_NAMES: Final = (
    "autoscalerClass deploymentMode targetUtilizationPercentage metrics accelerator-class service-type "
    "load-balancer-ip volcano-queue entrypoint-component enable-metric-aggregation enable-prometheus-scraping "
    "enable-tag-routing inject-model-init inject-fine-tuned-adapter inject-serving-sidecar disable-model-decryption "
    "base-model-decryption-key-name base-model-decryption-secret-name dedicated-ai-cluster ingress-additional-domains "
    "ingress-disable-creation ingress-disable-istio-virtualhost ingress-domain ingress-domain-template "
    "ingress-path-template ingress-url-scheme"
)
_READ: Final = (
    *(f"ome.io/{name}" for name in _NAMES.split()),
    "autoscaling.keda.sh/operator",
    "autoscaling.keda.sh/threshold",
    "autoscaling.keda.sh/prometheus.serverAddress",
    "rdma.ome.io/profile",
    "rdma.ome.io/auto-inject",
    "rdma.ome.io/container-name",
)
"""The keys that users set, from the constants of OME."""
_LETTERS: Final = {key.lower().replace("-", ""): key for key in _READ}
_LONGEST: Final = 317
"""A prefix of 253 characters, a slash and a name of 63."""


def misspelt(service: dict[str, Any]) -> dict[str, str]:
    """The misspelt keys of a service and of its components, with what is meant."""
    places = (("metadata",), *(("spec", name) for name in ROLES))
    keys = (key for place in places for key in mapping(service, *place, "annotations"))
    return dict(_meant(keys))


def _meant(keys: Iterator[str]) -> Iterator[tuple[str, str]]:
    for key in keys:
        if len(key) > _LONGEST or key in _READ:
            continue
        letters = key.lower().replace("-", "").replace("_", "")
        found = _LETTERS.get(letters) or next((each for each in _READ if is_typo(key, each)), "")
        if found:
            yield key, found
