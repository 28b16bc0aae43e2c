"""The children of an InferenceService."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reconciler.projections.kinds import (
    ACCOUNTS,
    BINDINGS,
    DEPLOYMENTS,
    LWS,
    PODS,
    ROLES,
    SCALED,
    SCALERS,
    SERVICES,
)
from reconciler.projections.objects import label, named, new
from reconciler.projections.ome.components import Component
from reconciler.projections.ome.pods import Context, labels_of, pod_template
from webhook.cluster import APIResource

KINDS: Final = (DEPLOYMENTS, LWS, SERVICES, ACCOUNTS, PODS, ROLES, BINDINGS, SCALERS, SCALED)

CLASS: Final = "ome.io/autoscalerClass"
TARGET: Final = "ome.io/targetUtilizationPercentage"
PROMETHEUS: Final = "http://prometheus-operated.monitoring.svc.cluster.local:9090"

LEADER: Final = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
"""The label of the pods of a LeaderWorkerSet that serve."""


def _object(resource: APIResource, name: str, labels: dict[str, str], **more: Any) -> dict[str, Any]:
    return new(resource, {"name": name, "labels": labels}, **more)


def children_of(component: Component, context: Context) -> Iterator[dict[str, Any]]:
    """The workload of a component, its Service and its autoscaler; of a router, also its rights."""
    labels = labels_of(component, context)
    if component.role == "router":
        yield from _rights(component, labels)
    if component.multi_node:
        yield _leader_worker_set(component, context, labels)
    else:
        yield _deployment(component, context, labels)
        yield from _autoscaler(component, context, labels)
    yield _service(component, context, labels)


def _deployment(component: Component, context: Context, labels: dict[str, str]) -> dict[str, Any]:
    """The number of replicas is left to the autoscaler."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    spec = {
        "selector": {"matchLabels": {"app": component.name}},
        "strategy": component.spec.get("deploymentStrategy") or rolling,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "template": pod_template(component, context),
    }
    return _object(DEPLOYMENTS, component.name, labels, spec=spec)


def _leader_worker_set(component: Component, context: Context, labels: dict[str, str]) -> dict[str, Any]:
    template = {
        "leaderTemplate": pod_template(component, context, "leader"),
        "workerTemplate": pod_template(component, context, "worker" if component.workers else "leader"),
        "size": component.workers + 1,
        "restartPolicy": "RecreateGroupOnPodRestart",
    }
    spec = {
        "replicas": component.replicas,
        "startupPolicy": "LeaderCreated",
        "networkConfig": {"subdomainPolicy": "Shared"},
        "leaderWorkerTemplate": template,
    }
    return _object(LWS, name_of_set(component), labels, spec=spec)


def name_of_set(component: Component) -> str:
    return f"lws-{component.name[-50:].lstrip('-')}"


def _service(component: Component, context: Context, labels: dict[str, str]) -> dict[str, Any]:
    annotations = context.service["metadata"].get("annotations") or {}
    given = component.runner.get("ports") or [{"containerPort": 8080, "name": "http"}]
    ports = [
        {
            "name": each.get("name") or f"port-{each['containerPort']}",
            "port": each["containerPort"],
            "targetPort": each["containerPort"],
            **({"protocol": each["protocol"]} if each.get("protocol") else {}),
        }
        for each in given
    ]
    kind = annotations.get("ome.io/service-type")
    address = annotations.get("ome.io/load-balancer-ip")
    spec = {
        "selector": {"app": component.name, **(LEADER if component.multi_node else {})},
        "ports": ports,
        **({"type": kind} if kind in {"LoadBalancer", "NodePort", "ClusterIP"} else {}),
        **({"loadBalancerIP": address} if address and kind == "LoadBalancer" else {}),
    }
    return _object(SERVICES, component.name, labels, spec=spec)


def _autoscaler(component: Component, context: Context, labels: dict[str, str]) -> Iterator[dict[str, Any]]:
    annotations = context.service["metadata"].get("annotations") or {}
    least = component.replicas
    most = max(least, int(component.spec.get("maxReplicas") or 0))
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": component.name}
    match annotations.get(CLASS):
        case "external":
            return
        case "keda":
            scaled = {"minReplicaCount": least, "maxReplicaCount": most, "scaleTargetRef": reference}
            trigger = {"type": "prometheus", "metadata": _query(component, context, annotations)}
            name = f"scaledobject-{component.name[-50:].lstrip('-')}"
            yield _object(SCALED, name, labels, spec={**scaled, "triggers": [trigger]})
        case _:
            said = annotations.get(TARGET, "")
            target = int(said) if said.isdigit() else int(component.spec.get("scaleTarget") or 80)
            resource = {"name": _metric(component), "target": {"type": "Utilization", "averageUtilization": target}}
            metrics = [{"type": "Resource", "resource": resource}]
            scaler = {"minReplicas": least, "maxReplicas": most, "scaleTargetRef": reference, "metrics": metrics}
            yield _object(SCALERS, component.name, labels, spec=scaler)


def _metric(component: Component) -> str:
    """What a HorizontalPodAutoscaler measures; it knows neither concurrency nor requests."""
    return "memory" if component.spec.get("scaleMetric") == "memory" else "cpu"


def _query(component: Component, context: Context, annotations: dict[str, str]) -> dict[str, str]:
    """The trigger of KEDA: annotations win over ``spec.kedaConfig``; that of the component has no effect."""
    config = context.service["spec"].get("kedaConfig") or {}

    def said(key: str, member: str, default: str = "") -> str:
        return str(annotations.get(f"ome.io/{key}") or config.get(member) or default)

    query = said("kedaPrometheusQuery", "customPromQuery")
    return {
        "serverAddress": said("kedaPrometheusServerAddress", "promServerAddress", PROMETHEUS),
        "metricName": component.spec.get("scaleMetric") or "tps",
        "query": query.replace("%s", component.name),
        "threshold": said("kedaScalingThreshold", "scalingThreshold", "10"),
        "operator": said("kedaScalingOperator", "scalingOperator", "LessThanOrEqual"),
    }


def _rights(component: Component, labels: dict[str, str]) -> Iterator[dict[str, Any]]:
    """A router finds the pods of the engine by itself."""
    name = component.name
    yield _object(ACCOUNTS, name, labels)
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    yield _object(ROLES, name, labels, rules=rules)
    reference = {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": name}
    yield _object(BINDINGS, name, labels, roleRef=reference, subjects=[{"kind": ACCOUNTS.kind, "name": name}])


def external_service(component: Component, context: Context) -> dict[str, Any]:
    """The Service with the name of the InferenceService, in front of the router or the engine."""
    name = context.service["metadata"]["name"]
    selector = {"ome.io/inferenceservice": label(name), "component": component.role}
    port = {"name": "http", "port": component.port, "targetPort": component.port, "protocol": "TCP"}
    labels = {"ome.io/inferenceservice": label(name), "component": "external-service"}
    spec = {"selector": {**selector, **(LEADER if component.multi_node else {})}, "ports": [port]}
    return _object(SERVICES, named(name), labels, spec=spec)
