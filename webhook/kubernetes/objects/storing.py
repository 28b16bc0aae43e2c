"""What the API server changes in a defaulted object before it validates it (``PrepareForCreate``, ``…ForUpdate``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from webhook.golang.names import with_generated_name
from webhook.kubernetes.values import Json, field, flag, number, structs, text

UID: Final = "9f2bb1d2-0000-4000-8000-000000000000"
"""Stands for the unique id that an object gets."""

_WITHOUT_STATUS: Final = frozenset(
    {
        "CronJob", "DaemonSet", "Deployment", "HorizontalPodAutoscaler", "Ingress", "Job", "NetworkPolicy",
        "PersistentVolumeClaim", "Pod", "PodDisruptionBudget", "ReplicaSet", "Service", "StatefulSet",
    }
)  # fmt: skip


def prepared(obj: Json, old: Json | None = None) -> Json:
    """The defaulted object as it is validated. Of an update, ``old`` is what is stored, whose status it keeps."""
    kind = text(obj, "kind")
    if kind in _WITHOUT_STATUS:
        obj = {key: item for key, item in obj.items() if key != "status"}
        if old is not None and "status" in old:
            obj["status"] = old["status"]
    obj = with_generated_name(obj)
    if old is None:
        return _CREATED[kind](obj) if kind in _CREATED else obj
    return _UPDATED[kind](obj, old) if kind in _UPDATED else obj


def _claim(obj: Json, *, had_source: bool = False) -> Json:
    """A claim has its source in two fields (``NormalizeDataSources``)."""
    spec = field(obj, "spec") or {}
    source, ref = field(spec, "dataSource"), field(spec, "dataSourceRef")
    if ref is not None and text(ref, "namespace"):
        ref = None
    if source is not None and ref is None and not had_source and not _is_source(source):
        source = None
    if source is not None and ref is None:
        ref = source
    elif ref is not None and source is None:
        source = {key: ref[key] for key in ("apiGroup", "kind", "name") if key in ref}
    kept = {key: item for key, item in spec.items() if key not in ("dataSource", "dataSourceRef")}
    both = {key: item for key, item in (("dataSource", source), ("dataSourceRef", ref)) if item is not None}
    return {**obj, "spec": {**kept, **both}}


def _is_source(source: Json) -> bool:
    """Whether the API server takes a source without a controller that knows it; it drops others."""
    return (text(source, "apiGroup"), text(source, "kind")) in _SOURCES


_SOURCES: Final = frozenset({("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")})


def _job(obj: Json) -> Json:
    """A Job without a selector of its own selects its pods by its unique id."""
    spec, name = dict(field(obj, "spec") or {}), text(field(obj, "metadata") or {}, "name")
    spec.pop("scheduling", None)  # of the feature gate GenericWorkload, which is off by default
    if flag(spec, "manualSelector"):
        return {**obj, "spec": spec}
    template = field(spec, "template") or {}
    meta = field(template, "metadata") or {}
    labels = dict(field(meta, "labels") or {})
    for prefix in ("batch.kubernetes.io/", ""):
        labels.setdefault(f"{prefix}job-name", name)
        labels.setdefault(f"{prefix}controller-uid", UID)
    selector = field(spec, "selector") or {}
    matched = dict(field(selector, "matchLabels") or {})
    matched.setdefault("batch.kubernetes.io/controller-uid", UID)
    template = {**template, "metadata": {**meta, "labels": labels}}
    return {**obj, "spec": {**spec, "selector": {**selector, "matchLabels": matched}, "template": template}}


def _pod(obj: Json) -> Json:
    spec = dict(field(obj, "spec") or {})
    if (number(spec, "terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    return {**obj, "spec": spec}


def _service(obj: Json) -> Json:
    """A Service has one family if it names none."""
    spec = _with_addresses(obj)
    if text(spec, "type") == "ExternalName":
        return {**obj, "spec": spec}
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    spec.setdefault("ipFamilies", ["IPv4"])
    return {**obj, "spec": spec}


def _with_addresses(service: Json) -> Json:
    """A copy of the specification of a Service, whose list of addresses begins with the address."""
    spec = dict(field(service, "spec") or {})
    if text(spec, "clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [text(spec, "clusterIP")]
    return spec


_CREATED: Final[Mapping[str, Callable[[Json], Json]]] = {
    "Job": _job,
    "PersistentVolumeClaim": _claim,
    "Pod": _pod,
    "Service": _service,
}


def _changed_service(obj: Json, old: Json) -> Json:
    """A Service keeps what was allocated to it, and loses what its new type has no use for, if it did not change that.

    (``patchAllocatedValues``, ``dropTypeDependentFields``)
    """
    spec, before = _with_addresses(obj), field(old, "spec") or {}
    kind, kind_before = text(spec, "type"), text(before, "type")
    if "ExternalName" not in (kind, kind_before):
        for key in _ALLOCATED:
            if not spec.get(key) and before.get(key):
                spec[key] = before[key]
    elif kind == "ExternalName":
        _drop_same(spec, before, _ALLOCATED)
    if _is_balanced(before) and not _is_balanced(spec):
        _drop_same(spec, before, ("allocateLoadBalancerNodePorts", "loadBalancerClass"))
    if needs_check(before) and needs_check(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort")
    elif needs_check(before) and not needs_check(spec):
        _drop_same(spec, before, ("healthCheckNodePort",))
    if kind_before in _EXTERNAL and kind not in _EXTERNAL:
        nodes, nodes_before = ([number(port, "nodePort") for _, port in structs(at, "ports")] for at in (spec, before))
        if nodes == nodes_before:
            spec["ports"] = [{**port, "nodePort": 0} for _, port in structs(spec, "ports")]
        if not spec.get("externalIPs"):
            _drop_same(spec, before, ("externalTrafficPolicy",))
    return {**obj, "spec": spec}


_ALLOCATED: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_EXTERNAL: Final = ("NodePort", "LoadBalancer")


def _is_balanced(spec: Json) -> bool:
    return text(spec, "type") == "LoadBalancer"


def needs_check(spec: Json) -> bool:
    """Whether a load balancer asks each node for the health of a Service."""
    return _is_balanced(spec) and text(spec, "externalTrafficPolicy") == "Local"


def _drop_same(spec: Json, before: Json, keys: Iterable[str]) -> None:
    for key in keys:
        if key in spec and spec[key] == before.get(key):
            del spec[key]


def _changed_claim(obj: Json, old: Json) -> Json:
    return _claim(obj, had_source=field(field(old, "spec") or {}, "dataSource") is not None)


_UPDATED: Final[Mapping[str, Callable[[Json, Json], Json]]] = {
    "PersistentVolumeClaim": _changed_claim,
    "Service": _changed_service,
}
