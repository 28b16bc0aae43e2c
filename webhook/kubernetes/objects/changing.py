"""What an update of a built-in kind may not change (``Validate…Update``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from webhook.golang.quantity import parse
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.judge import Judge
from webhook.kubernetes.objects.storing import needs_check
from webhook.kubernetes.values import Json, field, flag, number, quantities, structs, text, texts
from webhook.schema.fielderror import forbidden, invalid

Change = Callable[[Judge, Json, Json], None]
"""Adds what an object may not change of the stored one; both have their defaults."""

_SPEC: Final = ROOT.child("spec")
_NONE: Final = parse("0")
_IMMUTABLE: Final = "field is immutable"
_SET: Final = "field is immutable when `immutable` is set"
_CLAIM: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_POD: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _check_same(judge: Judge, new: Json, old: Json, keys: Iterable[str], at: FieldPath) -> None:
    """``ValidateImmutableField`` of these fields."""
    for key in keys:
        if new.get(key) != old.get(key):
            judge.add(invalid(at.child(key), new.get(key), _IMMUTABLE))


def _fixed(*keys: str) -> Change:
    """A kind of which these fields of the specification stay."""

    def check(judge: Judge, new: Json, old: Json) -> None:
        _check_same(judge, field(new, "spec") or {}, field(old, "spec") or {}, keys, _SPEC)

    return check


def _check_contents(judge: Judge, new: Json, old: Json) -> None:
    """A ConfigMap or Secret that says that it does not change."""
    if text(new, "kind") == "Secret":
        _check_same(judge, new, old, ("type",), ROOT)
    if not flag(old, "immutable"):
        return
    if not flag(new, "immutable"):
        judge.add(forbidden(ROOT.child("immutable"), _SET))
    for key in ("data", "binaryData"):
        if (new.get(key) or {}) != (old.get(key) or {}):
            judge.add(forbidden(ROOT.child(key), _SET))


def _check_claim(judge: Judge, new: Json, old: Json) -> None:
    spec, before, status = field(new, "spec") or {}, field(old, "spec") or {}, field(old, "status") or {}
    is_bound = text(status, "phase") == "Bound"
    free = {"resources", "volumeAttributesClassName"} if is_bound else set[str]()
    if not text(before, "volumeName"):
        free.add("volumeName")
    if before.get("storageClassName") is None:
        free.add("storageClassName")
    others = (field(spec_of, "resources") or {} for spec_of in (spec, before))
    limits, limits_before = (resources.get("limits") for resources in others)
    kept = {key: item for key, item in spec.items() if key not in free}
    if kept != {key: item for key, item in before.items() if key not in free} or limits != limits_before:
        judge.add(forbidden(_SPEC, _CLAIM))
    amounts, amounts_before = (quantities(field(side, "resources") or {}, "requests") for side in (spec, before))
    wanted, had = amounts.get("storage", _NONE), amounts_before.get("storage", _NONE)
    size = quantities(status, "capacity").get("storage")
    if wanted.compare(had) < 0 and (size is None or wanted.compare(size) <= 0):
        at = _SPEC.child("resources", "requests", "storage")
        judge.add(forbidden(at, "field can not be less than status.capacity"))
    _check_same(judge, spec, before, ("volumeMode",), ROOT)


_JOB: Final = (
    "selector",
    "completionMode",
    "podFailurePolicy",
    "successPolicy",
    "backoffLimitPerIndex",
    "managedBy",
)


def _check_job(judge: Judge, new: Json, old: Json) -> None:
    spec, before = field(new, "spec") or {}, field(old, "spec") or {}
    _check_same(judge, spec, before, _JOB, _SPEC)
    template, template_before = field(spec, "template") or {}, field(before, "template") or {}
    if not flag(before, "suspend") or field(old, "status"):
        _check_same(judge, spec, before, ("template",), _SPEC)
    else:
        _check_suspended(judge, field(template, "spec") or {}, field(template_before, "spec") or {})
    if number(spec, "completions") == number(before, "completions"):
        return
    at, why = _SPEC.child("completions"), _IMMUTABLE
    if text(spec, "completionMode") == "Indexed" and spec.get("completions") is not None:
        if number(spec, "completions") == number(spec, "parallelism"):
            return
        why = "can only be modified in tandem with spec.parallelism"
    judge.add(invalid(at, spec.get("completions"), why))


def _check_suspended(judge: Judge, pod: Json, before: Json) -> None:
    """Of a Job that has not started, labels, annotations and where its pods run may change."""
    rest, rest_before = ({key: item for key, item in side.items() if key not in _WHERE} for side in (pod, before))
    if rest == rest_before:
        return
    others = ({key: item for key, item in side.items() if key != "containers"} for side in (rest, rest_before))
    is_whole = next(others) == next(others) and len(structs(pod, "containers")) == len(structs(before, "containers"))
    at = _SPEC.child("template") if is_whole else _SPEC.child("template", "spec")
    judge.add(invalid(at, pod, _IMMUTABLE))


_WHERE: Final = frozenset({"affinity", "nodeSelector", "schedulingGates", "tolerations"})


def _check_service(judge: Judge, new: Json, old: Json) -> None:
    spec, before = field(new, "spec") or {}, field(old, "spec") or {}
    kinds = text(spec, "type"), text(before, "type")
    if "ExternalName" not in kinds:
        for index, (address, had) in enumerate(
            zip(texts(spec, "clusterIPs"), texts(before, "clusterIPs"), strict=False)
        ):
            if had and address != had:
                judge.add(
                    invalid(
                        _SPEC.child("clusterIPs").index(index), texts(spec, "clusterIPs"), "may not change once set"
                    )
                )
    ports = number(spec, "healthCheckNodePort"), number(before, "healthCheckNodePort")
    if all(map(needs_check, (spec, before))) and ports[0] != ports[1]:
        judge.add(forbidden(_SPEC.child("healthCheckNodePort"), _IMMUTABLE))
    if kinds == ("LoadBalancer", "LoadBalancer") and spec.get("loadBalancerClass") != before.get("loadBalancerClass"):
        judge.add(invalid(_SPEC.child("loadBalancerClass"), spec.get("loadBalancerClass"), "may not change once set"))


def _check_pod(judge: Judge, new: Json, old: Json) -> None:
    spec, before = field(new, "spec") or {}, field(old, "spec") or {}
    for key in ("containers", "initContainers"):
        if len(structs(spec, key)) != len(structs(before, key)):
            judge.add(forbidden(_SPEC.child(key), "pod updates may not add or remove containers"))
            return
    _check_deadline(judge, spec, before)
    _check_tolerations(judge, spec, before)
    selector, had = field(spec, "nodeSelector") or {}, field(before, "nodeSelector") or {}
    if before.get("schedulingGates") and not had.items() <= selector.items():
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        judge.add(invalid(_SPEC.child("nodeSelector"), selector, why))
    gates = {text(gate, "name") for _, gate in structs(before, "schedulingGates")}
    for index, gate in structs(spec, "schedulingGates"):
        if (name := text(gate, "name")) not in gates:
            at = _SPEC.child("schedulingGates").index(index).child("name")
            judge.add(forbidden(at, f"only deletion is allowed, but found new scheduling gate '{name}'"))
    if _rest(spec, gated=bool(gates)) != _rest(before, gated=bool(gates)):
        judge.add(forbidden(_SPEC, _POD))


def _check_deadline(judge: Judge, spec: Json, before: Json) -> None:
    at, now, had = (
        _SPEC.child("activeDeadlineSeconds"),
        number(spec, "activeDeadlineSeconds"),
        number(before, "activeDeadlineSeconds"),
    )
    if had is not None and now is None:
        judge.add(invalid(at, None, "must not update from a positive integer to nil value"))
    elif had is not None and now is not None and now > had:
        judge.add(invalid(at, now, "must be less than or equal to previous value"))


def _check_tolerations(judge: Judge, spec: Json, before: Json) -> None:
    now, had = (
        [{**toleration, "tolerationSeconds": None} for _, toleration in structs(at, "tolerations")]
        for at in (spec, before)
    )
    if any(toleration not in now for toleration in had):
        why = "existing toleration can not be modified except its tolerationSeconds"
        judge.add(forbidden(_SPEC.child("tolerations"), why))


def _rest(spec: Json, *, gated: bool) -> Json:
    """What no update of a pod may change."""
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates", *(("nodeSelector", "affinity") if gated else ())}
    rest = {key: item for key, item in spec.items() if key not in free}
    for key in ("containers", "initContainers"):
        if key in rest:
            rest[key] = [
                {name: item for name, item in container.items() if name != "image"}
                for _, container in structs(rest, key)
            ]
    return rest


CHANGES: Final[Mapping[str, Change]] = {
    "ConfigMap": _check_contents,
    "DaemonSet": _fixed("selector"),
    "Deployment": _fixed("selector"),
    "Job": _check_job,
    "PersistentVolumeClaim": _check_claim,
    "Pod": _check_pod,
    "ReplicaSet": _fixed("selector"),
    "Secret": _check_contents,
    "Service": _check_service,
    "StatefulSet": _fixed("selector", "volumeClaimTemplates", "podManagementPolicy", "serviceName"),
}
"""By kind."""
