"""Whole objects of built-in kinds: their defaults, and what Kubernetes refuses."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.ground.budget import Budget, SpentError
from webhook.kubernetes import is_validated, object_errors
from webhook.library.apiserver import builtin_causes, completed

POD: Final = {
    "containers": [{"name": "main", "image": "registry.example.com/main:1", "ports": [{"containerPort": 80}]}]
}
TEMPLATE: Final = {"metadata": {"labels": {"app": "web"}}, "spec": POD}
SELECTOR: Final = {"matchLabels": {"app": "web"}}
TARGET: Final = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
ONCE: Final = {**TEMPLATE, "spec": {**POD, "restartPolicy": "Never"}}
BACKEND: Final = {"service": {"name": "web", "port": {"number": 80}}}
PATHS: Final = [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]

OBJECTS: Final[dict[str, dict[str, Any]]] = {
    "apps/v1 DaemonSet": {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    "apps/v1 Deployment": {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    "apps/v1 ReplicaSet": {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    "apps/v1 StatefulSet": {"spec": {"selector": SELECTOR, "serviceName": "web", "template": TEMPLATE}},
    "autoscaling/v1 HorizontalPodAutoscaler": {"spec": {"maxReplicas": 3, "scaleTargetRef": TARGET}},
    "autoscaling/v2 HorizontalPodAutoscaler": {"spec": {"maxReplicas": 3, "scaleTargetRef": TARGET}},
    "batch/v1 CronJob": {"spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": ONCE}}}},
    "batch/v1 Job": {"spec": {"template": ONCE}},
    "networking.k8s.io/v1 Ingress": {"spec": {"rules": [{"host": "a.example.com", "http": {"paths": PATHS}}]}},
    "networking.k8s.io/v1 NetworkPolicy": {
        "spec": {"podSelector": SELECTOR, "ingress": [{"ports": [{"port": 80, "endPort": 90}]}]}
    },
    "policy/v1 PodDisruptionBudget": {"spec": {"minAvailable": "50%", "selector": SELECTOR}},
    "v1 ConfigMap": {"data": {"a": "b"}},
    "v1 PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "v1 Pod": {"spec": POD},
    "v1 Secret": {"stringData": {"a": "b"}},
    "v1 Service": {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}},
    "v1 ServiceAccount": {},
}


def an_object(name: str) -> dict[str, Any]:
    version, _, kind = name.partition(" ")
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "a"},
        **deepcopy(OBJECTS[name]),
    }


def told(obj: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, str]:
    return {cause.field: cause.message for cause in builtin_causes(obj, old)}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_small_object_is_valid_and_defaults_are_filled_in_once(name: str) -> None:
    obj = an_object(name)
    assert is_validated(obj["apiVersion"], obj["kind"])
    once = completed(obj)
    assert told(obj) == {}
    assert completed(once) == once
    assert told(obj, obj) == {}


def test_what_the_api_server_fills_in_is_there() -> None:
    spec = completed(an_object("apps/v1 Deployment"))["spec"]
    assert (spec["replicas"], spec["progressDeadlineSeconds"], spec["revisionHistoryLimit"]) == (1, 600, 10)
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    assert spec["template"]["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert completed(an_object("v1 Secret"))["data"] == {"a": "Yg=="}
    port = completed(an_object("v1 Service"))["spec"]["ports"][0]
    assert port == {"port": 80, "protocol": "TCP", "targetPort": 80}


@pytest.mark.parametrize(
    ("name", "change", "field", "detail"),
    [
        ("apps/v1 Deployment", {"selector": None}, "spec.selector", ""),
        (
            "apps/v1 Deployment",
            {"selector": {"matchLabels": {"app": "wbe"}}},
            "spec.template.metadata.labels",
            "`selector` does not match template `labels`",
        ),
        (
            "apps/v1 Deployment",
            {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
            "spec.strategy.rollingUpdate",
            "may not be specified when strategy `type` is 'Recreate'",
        ),
        ("v1 Service", {"ports": [{"port": 80}, {"port": 81}]}, "spec.ports[0].name", ""),
        ("v1 Service", {"ports": []}, "spec.ports", ""),
        (
            "autoscaling/v2 HorizontalPodAutoscaler",
            {"minReplicas": 4},
            "spec.maxReplicas",
            "must be greater than or equal to `minReplicas`",
        ),
        (
            "v1 PersistentVolumeClaim",
            {"resources": {"requests": {"storage": "0"}}},
            "spec.resources[storage]",
            "must be greater than zero",
        ),
        ("batch/v1 CronJob", {"schedule": "60 * * * *"}, "spec.schedule", "end of range (60) above maximum (59): 60"),
        ("networking.k8s.io/v1 Ingress", {"rules": []}, "spec", "either `defaultBackend` or `rules` must be specified"),
        (
            "policy/v1 PodDisruptionBudget",
            {"minAvailable": "200%"},
            "spec.minAvailable",
            "must not be greater than 100%",
        ),
    ],
)
def test_what_kubernetes_refuses_is_told(name: str, change: dict[str, Any], field: str, detail: str) -> None:
    obj = an_object(name)
    obj["spec"] = {key: item for key, item in {**obj["spec"], **change}.items() if item is not None}
    assert {error.field: error.detail for error in object_errors(completed(obj))}[field] == detail


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("apps/v1 Deployment", {"selector": {"matchLabels": {"b": "c"}}}, "spec.selector"),
        ("apps/v1 StatefulSet", {"serviceName": "other"}, "spec.serviceName"),
        ("batch/v1 Job", {"completions": 3}, "spec.completions"),
        ("v1 PersistentVolumeClaim", {"accessModes": ["ReadWriteMany"]}, "spec"),
    ],
)
def test_what_an_update_may_not_change_is_told(name: str, change: dict[str, Any], field: str) -> None:
    old, new = an_object(name), an_object(name)
    new["spec"] |= change
    assert field in told(new, old)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8), below, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


@given(st.sampled_from(sorted(OBJECTS)), st.data())
def test_no_value_at_any_place_is_more_than_an_error(name: str, data: st.DataObject) -> None:
    whole = completed(an_object(name))
    *parents, last = data.draw(st.sampled_from([place for place in places(whole) if place[:1] not in ((), ("kind",))]))
    node: Any = whole
    for key in parents:
        node = node[key]
    if last == "apiVersion" and not parents:
        return
    node[last] = data.draw(VALUES)
    assert isinstance(told(whole), dict)
    assert isinstance(told(an_object(name), whole), dict)


def test_an_object_spends_its_budget() -> None:
    obj = an_object("v1 Service")
    obj["spec"]["ports"] = [{"port": 80}] * 5_000
    with pytest.raises(SpentError):
        object_errors(completed(obj), budget=Budget(limit=1_000))


def test_a_finalizer_of_a_built_in_kind_is_one_of_kubernetes_or_has_a_domain() -> None:
    obj = an_object("v1 ConfigMap")
    obj["metadata"]["finalizers"] = ["foregroundDeletion", "kubernetes", "orphan", "a.b/c", "other", "a.b"]
    errors = [error for error in object_errors(completed(obj)) if "fully qualified" in error.detail]
    assert [error.field for error in errors] == ["metadata.finalizers[4]", "metadata.finalizers[5]"]
