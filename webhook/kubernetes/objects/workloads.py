"""Deployment, ReplicaSet, DaemonSet and StatefulSet (``pkg/apis/apps/validation``), and a Pod by itself."""

from __future__ import annotations

from typing import Final

from webhook.golang.names import dns_1123_label
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.judge import Judge, walk
from webhook.kubernetes.metadata import all_containers, check_old_profiles, check_pod_annotations
from webhook.kubernetes.objects.selecting import (
    check_labels_of_template,
    check_natural,
    check_part,
    check_selector,
    check_share,
    is_empty,
    share,
)
from webhook.kubernetes.pod import POD, check_template
from webhook.kubernetes.values import Json, field, number, structs, text
from webhook.schema.fielderror import forbidden, invalid, not_supported, required

_SPEC: Final = ROOT.child("spec")
_RETENTIONS: Final = ("Retain", "Delete")


def check_deployment(judge: Judge, obj: Json) -> None:
    spec = field(obj, "spec") or {}
    _check_replicated(judge, spec, "deployment", "invalid label selector")
    _check_strategy(judge, field(spec, "strategy") or {}, _SPEC.child("strategy"))
    check_natural(
        judge, spec, ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), _SPEC
    )
    deadline, ready = number(spec, "progressDeadlineSeconds"), number(spec, "minReadySeconds") or 0
    if deadline is not None and deadline <= ready:
        judge.add(invalid(_SPEC.child("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds"))


def check_replica_set(judge: Judge, obj: Json) -> None:
    spec = field(obj, "spec") or {}
    _check_replicated(judge, spec, "deployment", "invalid label selector")
    check_natural(judge, spec, ("replicas", "minReadySeconds"), _SPEC)


def _check_replicated(judge: Judge, spec: Json, noun: str, unusable: str) -> None:
    """The selector and the template of a Deployment, ReplicaSet or StatefulSet."""
    selector, at = field(spec, "selector"), _SPEC.child("selector")
    usable = True
    if selector is None:
        judge.add(required(at))
    else:
        usable = check_selector(judge, selector, at)
        if is_empty(selector):
            judge.add(invalid(at, {}, f"empty selector is invalid for {noun}"))
    if not usable:
        judge.add(invalid(at, selector, unusable))
        return
    template, at = field(spec, "template") or {}, _SPEC.child("template")
    check_labels_of_template(judge, selector, template, at)
    check_template(judge, template, at)


def _check_strategy(judge: Judge, strategy: Json, at: FieldPath) -> None:
    kind, rolling = text(strategy, "type"), field(strategy, "rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            why = "may not be specified when strategy `type` is 'Recreate'"
            judge.add(forbidden(at.child("rollingUpdate"), why))
    elif kind == "RollingUpdate":
        _check_rolling(judge, rolling or {}, at.child("rollingUpdate"))
    else:
        judge.add(not_supported(at, strategy, ("Recreate", "RollingUpdate")))


def _check_rolling(judge: Judge, rolling: Json, at: FieldPath) -> None:
    gone, more = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    check_share(judge, gone, at.child("maxUnavailable"))
    check_share(judge, more, at.child("maxSurge"))
    if not share(gone) and not share(more):
        judge.add(invalid(at.child("maxUnavailable"), gone, "may not be 0 when `maxSurge` is 0"))
    check_part(judge, gone, at.child("maxUnavailable"))


def check_daemon_set(judge: Judge, obj: Json) -> None:
    spec = field(obj, "spec") or {}
    selector, template, at = field(spec, "selector"), field(spec, "template") or {}, _SPEC.child("template")
    if selector is None or check_selector(judge, selector, _SPEC.child("selector")):
        check_labels_of_template(judge, selector, template, at)
    if selector is not None and is_empty(selector):
        judge.add(invalid(_SPEC.child("selector"), {}, "empty selector is invalid for daemonset"))
    judge.owner = "DaemonSet"
    check_template(judge, template, at)
    check_natural(judge, spec, ("minReadySeconds", "revisionHistoryLimit"), _SPEC)
    _check_daemon_strategy(judge, field(spec, "updateStrategy") or {}, _SPEC.child("updateStrategy"))


def _check_daemon_strategy(judge: Judge, strategy: Json, at: FieldPath) -> None:
    kind, own = text(strategy, "type"), at.child("rollingUpdate")
    if kind not in ("RollingUpdate", "OnDelete"):
        judge.add(not_supported(at, strategy, ("RollingUpdate", "OnDelete")))
    if kind != "RollingUpdate":
        return
    rolling = field(strategy, "rollingUpdate") or {}
    gone, more = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    for key, value in (("maxUnavailable", gone), ("maxSurge", more)):
        check_share(judge, value, own.child(key))
        check_part(judge, value, own.child(key))
    if share(gone) and share(more):
        judge.add(invalid(own.child("maxSurge"), more, "may not be set when maxUnavailable is non-zero"))
    if not share(gone) and not share(more):
        judge.add(required(own.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))


def check_stateful_set(judge: Judge, obj: Json) -> None:
    spec = field(obj, "spec") or {}
    policy = text(spec, "podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        judge.add(invalid(_SPEC.child("podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'"))
    _check_update_strategy(judge, field(spec, "updateStrategy") or {}, _SPEC.child("updateStrategy"))
    retention = field(spec, "persistentVolumeClaimRetentionPolicy") or {}
    for key in ("whenDeleted", "whenScaled"):
        if text(retention, key) not in _RETENTIONS:
            own = _SPEC.child("persistentVolumeClaimRetentionPolicy", key)
            judge.add(not_supported(own, text(retention, key), _RETENTIONS))
    check_natural(judge, spec, ("replicas", "minReadySeconds"), _SPEC)
    check_natural(judge, field(spec, "ordinals") or {}, ("start",), _SPEC.child("ordinals"))
    claims = structs(spec, "volumeClaimTemplates")
    for index, claim in claims:
        at = _SPEC.child("volumeClaimTemplates").index(index).child("spec")
        walk(judge, "PersistentVolumeClaimSpec", field(claim, "spec") or {}, at)
    name = text(spec, "serviceName")
    judge.add_invalid(dns_1123_label(name) if name else [], name, _SPEC, "serviceName")
    names = dict.fromkeys(text(field(claim, "metadata") or {}, "name") for _, claim in claims)
    template = _as_created(field(spec, "template") or {}, [*names])
    judge.owner = "StatefulSet"
    restart = text(field(template, "spec") or {}, "restartPolicy")
    if restart != "Always":  # also where the selector is of no use, so that the template is not looked at
        judge.add(not_supported(_SPEC.child("template", "spec", "restartPolicy"), restart, ("Always",)))
    _check_replicated(judge, {**spec, "template": template}, "statefulset", "")


def _as_created(template: Json, claims: list[str]) -> Json:
    """The template as the controller uses it: in the subdomain of the Service, with a volume for each claim."""
    pod = field(template, "spec") or {}
    volumes = [volume for _, volume in structs(pod, "volumes") if text(volume, "name") not in claims]
    volumes = [*({"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims), *volumes]
    return {**template, "spec": {**pod, "subdomain": "", **({"volumes": volumes} if volumes else {})}}


def _check_update_strategy(judge: Judge, strategy: Json, at: FieldPath) -> None:
    kind, rolling = text(strategy, "type"), field(strategy, "rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            why = "only allowed for updateStrategy 'RollingUpdate'"
            judge.add(invalid(at.child("rollingUpdate"), rolling, why))
    elif kind != "RollingUpdate":
        judge.add(invalid(at, strategy, "must be 'RollingUpdate' or 'OnDelete'"))
    elif rolling is not None:
        own = at.child("rollingUpdate")
        check_natural(judge, rolling, ("partition",), own)
        if "maxUnavailable" in rolling:
            gone = rolling["maxUnavailable"]
            check_share(judge, gone, own.child("maxUnavailable"))
            if not share(gone):
                judge.add(invalid(own.child("maxUnavailable"), gone, "cannot be 0"))
            check_part(judge, gone, own.child("maxUnavailable"))


def check_pod(judge: Judge, obj: Json) -> None:
    """What is asked of a Pod beside what is asked of a template (``ValidatePodCreate``)."""
    meta, spec = field(obj, "metadata") or {}, field(obj, "spec") or {}
    judge.owner = POD
    walk(judge, "PodSpec", spec, _SPEC)
    check_pod_annotations(judge, meta, spec, ROOT.child("metadata", "annotations"))
    check_old_profiles(judge, meta, spec, _SPEC)
    _check_images(judge, spec)
    _check_tokens(judge, spec)
    if spec.get("ephemeralContainers"):
        judge.add(forbidden(_SPEC.child("ephemeralContainers"), "cannot be set on create"))
    if spec.get("schedulingGates") and text(spec, "nodeName"):
        judge.add(forbidden(_SPEC.child("nodeName"), "cannot be set until all schedulingGates have been cleared"))


def _check_images(judge: Judge, spec: Json) -> None:
    """A template may have blanks around an image, but no pod that is made of it."""
    for at, container in all_containers(spec, _SPEC):
        image = text(container, "image")
        if image != image.strip():
            judge.add(invalid(at.child("image"), image, "must not have leading or trailing whitespace"))


def _check_tokens(judge: Judge, spec: Json) -> None:
    """A volume with a token needs an account, which admission fills in later."""
    if text(spec, "serviceAccountName"):
        return
    for index, volume in structs(spec, "volumes"):
        for place, source in structs(field(volume, "projected") or {}, "sources"):
            if field(source, "serviceAccountToken") is not None:
                at = _SPEC.child("volumes").index(index).child("projected", "sources").index(place)
                why = "must not be specified when serviceAccountName is not set"
                judge.add(forbidden(at.child("serviceAccountToken"), why))
