"""What the API server fills in: the defaults of built-in kinds (``SetObjectDefaults``) and of their storage.

Most are data, by type (``defaults.json``). Those that depend on other fields are functions, by type.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from webhook.kubernetes.values import Json, field, flag, number, quantity, structs, text

_DATA: Final = json.loads(Path(__file__).with_name("defaults.json").read_text(encoding="utf-8"))
_OF_ZERO: Final[Mapping[str, Json]] = _DATA["zero"]
"""By type, the defaults of fields whose zero value counts as absent."""
_OF_ABSENT: Final[Mapping[str, Json]] = _DATA["absent"]
"""Those of fields that Go has as pointers, or as structures: a zero value is a value."""
_SOURCELESS: Final = frozenset({"name"})
_QUANTITY: Final = "apimachinery.pkg.api.resource.Quantity"

Schema = Mapping[str, Any]
Resolve = Callable[[str], Schema]
"""Gives a type of a built-in kind by its name."""


def with_defaults(value: Json, name: str, resolve: Resolve) -> Json:
    """A decoded value of a type, with all that the API server fills in; the value itself does not change."""
    properties, fields = resolve(name)["properties"], value
    if name in _OF_ABSENT or name in _OF_ZERO:
        absent = {key: default for key, default in _OF_ABSENT.get(name, {}).items() if value.get(key) is None}
        zero = {key: default for key, default in _OF_ZERO.get(name, {}).items() if not value.get(key)}
        fields = {**value, **absent, **zero}
    filled = {key: _value(item, properties[key], resolve) for key, item in fields.items() if key in properties}
    change = _DERIVED.get(name)
    return filled if change is None else change(filled)


def _value(item: Any, schema: Schema, resolve: Resolve) -> Any:
    name = schema.get("$ref")
    if name == _QUANTITY:
        return _canonical(item)
    if name is not None:
        if (item is None or isinstance(item, dict)) and "properties" in resolve(name):
            return with_defaults(item or {}, name, resolve)  # Go reads a null in a list as an empty structure
        return item
    if isinstance(item, dict):
        items = schema.get("additionalProperties")
        return {key: _value(entry, items, resolve) for key, entry in item.items()} if isinstance(items, dict) else item
    if isinstance(item, list) and isinstance(schema.get("items"), dict):
        return [_value(entry, schema["items"], resolve) for entry in item]
    return item


def _canonical(item: Any) -> Any:
    """A quantity as the API server writes it."""
    amount = quantity(item)
    return item if amount is None else str(amount)


def _container(value: Json) -> Json:
    """The policy of pulling goes by the tag: without one, or with ``latest``, always."""
    if text(value, "imagePullPolicy"):
        return value
    return {**value, "imagePullPolicy": "Always" if _tag(text(value, "image")) == "latest" else "IfNotPresent"}


def _tag(image: str) -> str:
    """The tag of an image (``parsers.ParseImageName``); "latest" where it names none, "" where it has a digest."""
    name, _, digest = image.partition("@")
    if digest or not name:
        return ""
    last = name.rpartition("/")[2]
    _, sign, tag = last.partition(":")
    return tag if sign and tag else "latest"


def _volume(value: Json) -> Json:
    """A volume without a source is an empty folder."""
    return value if value.keys() - _SOURCELESS else {**value, "emptyDir": {}}


def _pod_spec(value: Json) -> Json:
    """In the network of the node, the ports of containers are those of the node."""
    account = text(value, "serviceAccountName") or text(value, "serviceAccount")
    if account:
        value = {**value, "serviceAccountName": account, "serviceAccount": account}
    if not flag(value, "hostNetwork"):
        return value
    changed: Json = {
        key: [_with_host_ports(container) for _, container in structs(value, key)]
        for key in ("containers", "initContainers")
        if key in value
    }
    return {**value, **changed}


def _with_host_ports(container: Json) -> Json:
    if "ports" not in container:
        return container
    ports = [
        {**port, "hostPort": number(port, "hostPort") or number(port, "containerPort") or 0}
        for _, port in structs(container, "ports")
    ]
    return {**container, "ports": ports}


def _pod(value: Json) -> Json:
    """Of a pod itself, and not of a template: requests follow limits, and links to services are on."""
    spec = field(value, "spec") or {}
    changed: Json = {
        key: [_requested(container) for _, container in structs(spec, key)]
        for key in ("containers", "initContainers")
        if key in spec
    }
    spec = _requested({**spec, **changed})
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    return {**value, "spec": spec}


def _requested(container: Json) -> Json:
    resources = field(container, "resources") or {}
    limits, requests = field(resources, "limits") or {}, field(resources, "requests") or {}
    if limits.keys() <= requests.keys():
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **requests}}}


def _deployment(value: Json) -> Json:
    strategy = field(value, "strategy") or {}
    kind = text(strategy, "type") or "RollingUpdate"
    strategy = {**strategy, "type": kind}
    if kind == "RollingUpdate":
        strategy["rollingUpdate"] = {
            "maxSurge": "25%",
            "maxUnavailable": "25%",
            **(field(strategy, "rollingUpdate") or {}),
        }
    return {**value, "strategy": strategy}


def _daemon_set(value: Json) -> Json:
    strategy = field(value, "updateStrategy") or {}
    kind = text(strategy, "type") or "RollingUpdate"
    strategy = {**strategy, "type": kind}
    if kind == "RollingUpdate":
        strategy["rollingUpdate"] = {"maxUnavailable": 1, "maxSurge": 0, **(field(strategy, "rollingUpdate") or {})}
    return {**value, "updateStrategy": strategy}


def _stateful_set(value: Json) -> Json:
    strategy = field(value, "updateStrategy") or {}
    kind = text(strategy, "type")
    if not kind:
        strategy = {"rollingUpdate": {}, **strategy, "type": "RollingUpdate"}
    if text(strategy, "type") == "RollingUpdate" and (rolling := field(strategy, "rollingUpdate")) is not None:
        strategy = {**strategy, "rollingUpdate": {"partition": 0, "maxUnavailable": 1, **rolling}}
    policy = field(value, "persistentVolumeClaimRetentionPolicy") or {}
    policy = {"whenDeleted": "Retain", "whenScaled": "Retain", **{key: item for key, item in policy.items() if item}}
    value = {**value, "updateStrategy": strategy, "persistentVolumeClaimRetentionPolicy": policy}
    if "volumeClaimTemplates" in value:
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}}
        value["volumeClaimTemplates"] = [
            {**template, **claim} for _, template in structs(value, "volumeClaimTemplates")
        ]
    return value


def _autoscaler(value: Json) -> Json:
    """Without metrics, the CPU that is asked for counts, at 80 %."""
    if not value.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        value = {**value, "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}
    behavior = field(value, "behavior")
    if behavior is None:
        return value
    rules = {key: _scaling(field(behavior, key) or {}, own) for key, own in _SCALING.items()}
    return {**value, "behavior": {**behavior, **rules}}


def _scaling(rules: Json, own: Json) -> Json:
    return {**own, **{key: item for key, item in rules.items() if item is not None}}


_PERCENT: Final = {"type": "Percent", "value": 100, "periodSeconds": 15}
_SCALING: Final[Mapping[str, Json]] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, _PERCENT],
    },
    "scaleDown": {"selectPolicy": "Max", "policies": [_PERCENT]},
}


def _old_autoscaler(value: Json) -> Json:
    """``autoscaling/v1``: without an annotation with metrics, the CPU counts."""
    spec = field(value, "spec") or {}
    notes = field(field(value, "metadata") or {}, "annotations") or {}
    if spec.get("targetCPUUtilizationPercentage") is None and not notes.get("autoscaling.alpha.kubernetes.io/metrics"):
        spec = {**spec, "targetCPUUtilizationPercentage": 80}
    return {**value, "spec": spec}


def _job(value: Json) -> Json:
    value = dict(value)
    if value.get("completions") is None and value.get("parallelism") is None:
        value["completions"] = 1
    per_index = value.get("backoffLimitPerIndex") is not None
    replacement = "TerminatingOrFailed" if field(value, "podFailurePolicy") is None else "Failed"
    defaults = {
        "parallelism": 1,
        "backoffLimit": _MOST_FAILURES if per_index else _FAILURES,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": replacement,
    }
    return {**value, **{key: item for key, item in defaults.items() if value.get(key) is None}}


def _job_object(value: Json) -> Json:
    """A Job has the labels of its pods, and the defaults of its specification: that in a CronJob gets them later."""
    spec, metadata = field(value, "spec") or {}, field(value, "metadata") or {}
    labels = field(field(field(spec, "template") or {}, "metadata") or {}, "labels")
    if labels and not metadata.get("labels"):
        value = {**value, "metadata": {**metadata, "labels": labels}}
    return {**value, "spec": _job(spec)}


_FAILURES, _MOST_FAILURES = 6, 2**31 - 1


def _service(value: Json) -> Json:
    kind, value = text(value, "type"), dict(value)
    if text(value, "sessionAffinity") == "ClientIP":
        config = field(field(value, "sessionAffinityConfig") or {}, "clientIP") or {}
        if not config.get("timeoutSeconds"):
            value["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10_800}}
    elif text(value, "sessionAffinity") == "None":
        value.pop("sessionAffinityConfig", None)
    if "ports" in value:
        value["ports"] = [_service_port(port) for _, port in structs(value, "ports")]
    is_external = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and value.get("externalIPs"))
    if is_external and not text(value, "externalTrafficPolicy"):
        value["externalTrafficPolicy"] = "Cluster"
    if kind in ("NodePort", "LoadBalancer", "ClusterIP") and value.get("internalTrafficPolicy") is None:
        value["internalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer" and value.get("allocateLoadBalancerNodePorts") is None:
        value["allocateLoadBalancerNodePorts"] = True
    return value


def _service_port(value: Json) -> Json:
    return (
        value if value.get("targetPort") not in (0, "", None) else {**value, "targetPort": number(value, "port") or 0}
    )


def _network_policy(value: Json) -> Json:
    """A policy is about incoming traffic, and about outgoing if it says something of that."""
    if value.get("policyTypes"):
        return value
    return {**value, "policyTypes": ["Ingress", *(["Egress"] if value.get("egress") else [])]}


def _network_policy_object(value: Json) -> Json:
    return {**value, "spec": _network_policy(field(value, "spec") or {})}


def _secret(value: Json) -> Json:
    """What is written as text is stored as base64."""
    written = field(value, "stringData")
    if not written:
        return value
    data = {key: base64.b64encode(str(item).encode()).decode() for key, item in written.items()}
    return {
        **{key: item for key, item in value.items() if key != "stringData"},
        "data": {**(field(value, "data") or {}), **data},
    }


_DERIVED: Final[Mapping[str, Callable[[Json], Json]]] = {
    "api.apps.v1.DaemonSetSpec": _daemon_set,
    "api.apps.v1.DeploymentSpec": _deployment,
    "api.apps.v1.StatefulSetSpec": _stateful_set,
    "api.autoscaling.v1.HorizontalPodAutoscaler": _old_autoscaler,
    "api.autoscaling.v2.HorizontalPodAutoscalerSpec": _autoscaler,
    "api.batch.v1.Job": _job_object,
    "api.core.v1.Container": _container,
    "api.core.v1.EphemeralContainer": _container,
    "api.core.v1.Pod": _pod,
    "api.core.v1.PodSpec": _pod_spec,
    "api.core.v1.Secret": _secret,
    "api.core.v1.ServiceSpec": _service,
    "api.core.v1.Volume": _volume,
    "api.networking.v1.NetworkPolicy": _network_policy_object,
}
