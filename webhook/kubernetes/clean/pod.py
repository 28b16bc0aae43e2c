"""Pods, and the values of their own fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from webhook.golang.names import dns_1123_subdomain, label_key, label_value
from webhook.kubernetes.clean.containers import container, init_container, is_label, mounts, ports, resources
from webhook.kubernetes.clean.sight import Check, Sight, are, checks_of, exactly, fields_are_clean, is_known, one_of
from webhook.kubernetes.judge import DATA, Judge
from webhook.kubernetes.metadata import check_annotations
from webhook.kubernetes.values import Json
from webhook.kubernetes.warnings import affinity_warnings

__all__ = ["is_clean"]

_DEPRECATED: Final = frozenset(DATA["deprecatedLabels"])


def is_clean(kind: str, value: Any, part: bool, owner: str, runners: tuple[str, ...] = ()) -> bool:
    """Whether Kubernetes surely finds nothing in a value of this type: no error and no warning.

    The arguments are those of ``validate``.
    """
    check = _KINDS.get(kind)
    if check is None:
        return False
    try:
        sight = Sight(part, owner)
        if not check(sight, value):
            return False
        for key in runners:
            if key in value and not container(sight, value[key]):
                return False
    except (AttributeError, KeyError, TypeError):  # of the wrong type, or absent
        return False
    return True


def _pod(sight: Sight, value: Json) -> bool:
    """A PodSpec. Its containers are looked at last, because they refer to its volumes."""
    if sight.part and _LOOKED_AT.isdisjoint(value):
        return True
    return fields_are_clean(sight, value, _FIELDS) and _starts(sight, value) and _containers(sight, value)


def _template(sight: Sight, value: Json) -> bool:
    """Annotations of Kubernetes, which may speak of the pod, are rare."""
    meta = value.get("metadata", {})
    labels, notes = meta.get("labels", {}), meta.get("annotations", {})
    if any("kubernetes.io/" in key for key in notes):
        return False
    return _annotations(sight, notes) and _labels(sight, labels) and _pod(sight, value["spec"])


def _annotations(sight: Sight, value: Any) -> bool:
    return is_known(sight, "Annotations", value, _judge_annotations)


def _judge_annotations(judge: Judge, _: str, notes: Json) -> None:
    check_annotations(judge, {"annotations": notes}, "")


def _containers(sight: Sight, value: Json) -> bool:
    """Those of the list, which a whole must have, and those that start first: each clean, and of a name of its own."""
    if not sight.part and not value["containers"]:
        return False
    main, first = value.get("containers", []), value.get("initContainers", [])
    if not all(container(sight, each) for each in main) or not all(init_container(sight, each) for each in first):
        return False
    return _are_unique([each["name"] for each in (*main, *first)])


def _starts(sight: Sight, value: Json) -> bool:
    """Whether the pod of a Job says when it starts again."""
    return sight.part or sight.owner == "deployment" or "restartPolicy" in value


def _are_unique(names: list[str]) -> bool:
    return len(names) == len(set(names))


def _restart(sight: Sight, value: Any) -> bool:
    return value in (("Always",) if sight.owner == "deployment" else ("OnFailure", "Never"))


def _volumes(sight: Sight, value: Any) -> bool:
    """Volumes of one usual source each, and of different names."""
    names = sight.volumes
    for each in value:
        name = each["name"]
        if not name or name in names or not is_label(name) or len(each) > 2:
            return False
        names.add(name)
        for key, item in each.items():
            if key != "name" and not (key in _SOURCES and _SOURCES[key](sight, item)):
                return False
    return True


_SOURCES: Final[Mapping[str, Check]] = {
    "emptyDir": exactly("EmptyDirVolumeSource", "medium"),
    "hostPath": exactly("HostPathVolumeSource", "path", "type"),
    "secret": exactly("SecretVolumeSource", "secretName", "defaultMode", "optional"),
    "configMap": exactly("ConfigMapVolumeSource", "name", "defaultMode", "optional"),
    "persistentVolumeClaim": exactly("PersistentVolumeClaimVolumeSource", "claimName", "readOnly"),
    "nfs": exactly("NFSVolumeSource", "path", "readOnly", "server"),
}


def _labels(_: Sight, value: Any) -> bool:
    return all(_is_key(key) and not label_value(text) for key, text in value.items())


@lru_cache(256)
def _is_key(key: str) -> bool:
    return not label_key(key)


def _node_selector(sight: Sight, value: Any) -> bool:
    return _DEPRECATED.isdisjoint(value) and _labels(sight, value)


def _tolerations(sight: Sight, value: Any) -> bool:
    return are(sight, "Toleration", value)


def _affinity(sight: Sight, value: Any) -> bool:
    return are(sight, "Affinity", [value]) and not any(affinity_warnings(value, ""))


def _node_affinity(sight: Sight, value: Any) -> bool:
    return _affinity(sight, {"nodeAffinity": value})


def _alone(kind: str) -> Check:
    return lambda sight, value: are(sight, kind, [value])


def _subdomain(_: Sight, value: Any) -> bool:
    return bool(value) and not dns_1123_subdomain(value)


def _pull_secrets(_: Sight, value: Any) -> bool:
    names = [each["name"] for each in value]
    return all(names) and bool("".join(names)) and _are_unique(names)


def _seconds(_: Sight, value: Any) -> bool:
    return type(value) is int and value >= 0


_CONTEXT: Final = ("fsGroup", "fsGroupChangePolicy", "runAsGroup", "runAsNonRoot", "runAsUser", "seccompProfile")
_FREE: Final = (
    *("containers", "initContainers"),  # they have functions
    *("automountServiceAccountToken", "enableServiceLinks", "evictionResponders", "priority"),
    *("schedulerName", "schedulingGroup"),
    *("hostIPC", "hostNetwork", "hostPID", "setHostnameAsFQDN"),  # what they exclude is rare
)
_FIELDS: Final = checks_of(
    DATA["shapes"]["PodSpec"],
    _FREE,
    {
        "volumes": _volumes,
        "nodeSelector": _node_selector,
        "tolerations": _tolerations,
        "affinity": _affinity,
        "restartPolicy": _restart,
        "dnsPolicy": one_of("ClusterFirst", "ClusterFirstWithHostNet", "Default"),
        "serviceAccountName": _subdomain,
        "serviceAccount": _subdomain,
        "priorityClassName": _subdomain,
        "runtimeClassName": _subdomain,
        "imagePullSecrets": _pull_secrets,
        "terminationGracePeriodSeconds": _seconds,
        "securityContext": exactly("PodSecurityContext", *_CONTEXT, "supplementalGroups"),
    },
)
_LOOKED_AT: Final = frozenset({*_FIELDS, "containers", "initContainers"})
_KINDS: Final[Mapping[str, Check]] = {
    "PodTemplateSpec": _template,
    "PodSpec": _pod,
    "Container": container,
    "InitContainer": init_container,
    "Labels": _labels,
    "Annotations": _annotations,
    "Volume": lambda sight, value: _volumes(sight, [value]),
    "VolumeMounts": mounts,
    "Ports": ports,
    "ResourceRequirements": resources,
    "Affinity": _affinity,
    "NodeAffinity": _node_affinity,
    **{kind: _alone(kind) for kind in ("EnvVar", "Probe", "SecurityContext", "Toleration")},
}
