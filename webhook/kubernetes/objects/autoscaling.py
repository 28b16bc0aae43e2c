"""HorizontalPodAutoscaler, v2 and v1 (``pkg/apis/autoscaling/validation``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.golang.names import dns_1123_label
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.judge import Judge
from webhook.kubernetes.objects.selecting import check_reference, path_segment_problems
from webhook.kubernetes.resources import check_resource_name
from webhook.kubernetes.values import Json, field, number, quantity, structs, text
from webhook.schema.fielderror import forbidden, invalid, not_supported, required

_SPEC: Final = ROOT.child("spec")
_SOURCES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_OF_SOURCE: Final = {name: f"{name[0].lower()}{name[1:]}" for name in _SOURCES}
_TYPES: Final = ("Utilization", "Value", "AverageValue")
_POLICIES: Final = ("Percent", "Pods")
_SELECT: Final = ("Disabled", "Max", "Min")
_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800
_ALONE: Final = ("v1", "ReplicationController")
"""The kind of the core group that can be scaled."""
_POSITIVE: Final = "must be positive"


def check_autoscaler(judge: Judge, obj: Json) -> None:
    spec = field(obj, "spec") or {}
    least, most = number(spec, "minReplicas"), number(spec, "maxReplicas") or 0
    if least is not None and least < 0:
        judge.add(invalid(_SPEC.child("minReplicas"), least, "must be greater than or equal to 0"))
    if not most:
        judge.add(required(_SPEC.child("maxReplicas")))
    elif most < 1:
        judge.add(invalid(_SPEC.child("maxReplicas"), most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        judge.add(invalid(_SPEC.child("maxReplicas"), most, "must be greater than or equal to `minReplicas`"))
    _check_target(judge, field(spec, "scaleTargetRef") or {}, _SPEC.child("scaleTargetRef"))
    _check_metrics(judge, spec, least)
    behavior = field(spec, "behavior") or {}
    for key in ("scaleUp", "scaleDown"):
        rules = field(behavior, key)
        if rules is not None:
            _check_rules(judge, rules, _SPEC.child("behavior", key))


def _check_target(judge: Judge, ref: Json, at: FieldPath) -> None:
    check_reference(judge, ref, ("kind", "name"), at)
    version, own = text(ref, "apiVersion"), at.child("apiVersion")
    is_read = _check_version(judge, version, own)
    if is_read and not version.partition("/")[0] * version.count("/") and (version, text(ref, "kind")) != _ALONE:
        judge.add(invalid(own, version, "apiVersion must specify API group"))


def _check_version(judge: Judge, version: str, at: FieldPath) -> bool:
    """Whether a text is a group and a version (``ParseGroupVersion``)."""
    if version.count("/") > 1:
        judge.add(invalid(at, version, f"unexpected GroupVersion string: {version}"))
        return False
    return True


def _check_metrics(judge: Judge, spec: Json, least: int | None) -> None:
    metrics = structs(spec, "metrics")
    for index, metric in metrics:
        _check_metric(judge, metric, _SPEC.child("metrics").index(index))
    if least == 0 and not any(text(metric, "type") in ("Object", "External") for _, metric in metrics):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        judge.add(forbidden(_SPEC.child("metrics"), why))


def _check_metric(judge: Judge, metric: Json, at: FieldPath) -> None:
    kind = text(metric, "type")
    if not kind:
        judge.add(required(at.child("type"), "must specify a metric source type"))
    if kind not in _SOURCES:
        judge.add(not_supported(at.child("type"), kind, _SOURCES))
    own, there = _OF_SOURCE.get(kind, ""), [key for key in _CHECKS if field(metric, key) is not None]
    for key in there[:1]:  # Kubernetes does not look at a second one
        _CHECKS[key](judge, field(metric, key) or {}, at.child(key))
    if own and own not in there:
        judge.add(required(at.child(own), "must populate information for the given metric source"))
    for key in there if len(there) > 1 else ():
        if key != own:
            judge.add(forbidden(at.child(key), "must populate the given metric source only"))


def _check_identifier(judge: Judge, metric: Json, at: FieldPath) -> None:
    name = text(metric, "name")
    if not name:
        judge.add(required(at.child("name"), "must specify a metric name"))
    judge.add_invalid(path_segment_problems(name) if name else [], name, at, "name")


def _check_value(judge: Judge, target: Json, at: FieldPath) -> None:
    """``validateMetricTarget``."""
    kind = text(target, "type")
    if not kind:
        judge.add(required(at.child("type"), "must specify a metric target type"))
    if kind not in _TYPES:
        judge.add(invalid(at.child("type"), kind, "must be either Utilization, Value, or AverageValue"))
    for key in ("value", "averageValue"):
        amount = quantity(target.get(key)) if target.get(key) is not None else None
        if amount is not None and amount.sign() != 1:
            judge.add(invalid(at.child(key), str(amount), _POSITIVE))
    share = number(target, "averageUtilization")
    if share is not None and share < 1:
        judge.add(invalid(at.child("averageUtilization"), share, "must be greater than 0"))


def _check_object(judge: Judge, source: Json, at: FieldPath) -> None:
    described, target = field(source, "describedObject") or {}, field(source, "target") or {}
    check_reference(judge, described, ("kind", "name"), at.child("describedObject"))
    _check_version(judge, text(described, "apiVersion"), at.child("describedObject", "apiVersion"))
    _check_identifier(judge, field(source, "metric") or {}, at.child("metric"))
    _check_value(judge, target, at.child("target"))
    if target.get("value") is None and target.get("averageValue") is None:
        judge.add(required(at.child("target", "averageValue"), "must set either a target value or averageValue"))


def _check_external(judge: Judge, source: Json, at: FieldPath) -> None:
    target = field(source, "target") or {}
    _check_identifier(judge, field(source, "metric") or {}, at.child("metric"))
    _check_value(judge, target, at.child("target"))
    there = [target.get(key) is not None for key in ("value", "averageValue")]
    if not any(there):
        why = "must set either a target value for metric or a per-pod target"
        judge.add(required(at.child("target", "averageValue"), why))
    elif all(there):
        why = "may not set both a target value for metric and a per-pod target"
        judge.add(forbidden(at.child("target", "value"), why))


def _check_pods(judge: Judge, source: Json, at: FieldPath) -> None:
    target = field(source, "target") or {}
    _check_identifier(judge, field(source, "metric") or {}, at.child("metric"))
    _check_value(judge, target, at.child("target"))
    if target.get("averageValue") is None:
        judge.add(required(at.child("target", "averageValue"), "must specify a positive target averageValue"))


def _check_resource(judge: Judge, source: Json, at: FieldPath) -> None:
    if not text(source, "name"):
        judge.add(required(at.child("name"), "must specify a resource name"))
    _check_resource_target(judge, field(source, "target") or {}, at.child("target"))


def _check_container(judge: Judge, source: Json, at: FieldPath) -> None:
    name, container = text(source, "name"), text(source, "container")
    if not name:
        judge.add(required(at.child("name"), "must specify a resource name"))
    else:
        check_resource_name(judge, name, at.child("name"))
    if not container:
        judge.add(required(at.child("container"), "must specify a container"))
    else:
        judge.add_invalid(dns_1123_label(container), container, at, "container")
    _check_resource_target(judge, field(source, "target") or {}, at.child("target"))


def _check_resource_target(judge: Judge, target: Json, at: FieldPath) -> None:
    _check_value(judge, target, at)
    share, amount = target.get("averageUtilization"), target.get("averageValue")
    if share is None and amount is None:
        why = "must set either a target raw value or a target utilization"
        judge.add(required(at.child("averageUtilization"), why))
    elif share is not None and amount is not None:
        why = "may not set both a target raw value and a target utilization"
        judge.add(forbidden(at.child("averageValue"), why))


_CHECKS: Final[Mapping[str, Callable[[Judge, Json, FieldPath], None]]] = {
    "object": _check_object,
    "external": _check_external,
    "pods": _check_pods,
    "resource": _check_resource,
    "containerResource": _check_container,
}


def _check_rules(judge: Judge, rules: Json, at: FieldPath) -> None:
    """``validateScalingRules``."""
    _check_range(
        judge, number(rules, "stabilizationWindowSeconds"), _LONGEST_WINDOW, at.child("stabilizationWindowSeconds")
    )
    select = text(rules, "selectPolicy")
    if rules.get("selectPolicy") is not None and select not in _SELECT:
        judge.add(not_supported(at.child("selectPolicy"), select, _SELECT))
    policies = structs(rules, "policies")
    if not policies:
        judge.add(required(at.child("policies"), "must specify at least one Policy"))
    for index, policy in policies:
        _check_policy(judge, policy, at.child("policies").index(index))
    tolerance = quantity(rules["tolerance"]) if rules.get("tolerance") is not None else None
    if tolerance is not None and tolerance.sign() < 0:
        judge.add(invalid(at.child("tolerance"), str(tolerance), "must be greater than or equal to 0"))


def _check_range(judge: Judge, count: int | None, most: int, at: FieldPath) -> None:
    if count is not None and count < 0:
        judge.add(invalid(at, count, "must be greater than or equal to zero"))
    if count is not None and count > most:
        judge.add(invalid(at, count, f"must be less than or equal to {most}"))


def _check_policy(judge: Judge, policy: Json, at: FieldPath) -> None:
    kind = text(policy, "type")
    if kind not in _POLICIES:
        judge.add(not_supported(at.child("type"), kind, _POLICIES))
    for key in ("value", "periodSeconds"):
        if (number(policy, key) or 0) <= 0:
            judge.add(invalid(at.child(key), number(policy, key) or 0, "must be greater than zero"))
    if (period := number(policy, "periodSeconds") or 0) > _LONGEST_PERIOD:
        judge.add(invalid(at.child("periodSeconds"), period, f"must be less than or equal to {_LONGEST_PERIOD}"))


def check_old_autoscaler(judge: Judge, obj: Json) -> None:
    """``autoscaling/v1``, as the same object of v2."""
    spec = dict(field(obj, "spec") or {})
    share = spec.pop("targetCPUUtilizationPercentage", None)
    metrics: list[Any] = []
    if share is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    check_autoscaler(judge, {**obj, "spec": {**spec, "metrics": metrics}})
