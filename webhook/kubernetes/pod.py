"""A pod: its template, its specification, and rules between its fields."""

from __future__ import annotations

from typing import Final

from webhook.golang.names import dns_1123_label, dns_1123_subdomain, label_key
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.containers import check_containers, check_ephemeral, check_init_containers, check_main
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import DATA, Judge, PodContext, Rule, rule, walk
from webhook.kubernetes.metadata import all_containers, check_annotations, check_old_profiles, check_pod_annotations
from webhook.kubernetes.resources import check_overhead, check_pod_resources
from webhook.kubernetes.scheduling import check_spread
from webhook.kubernetes.security import check_host_process, check_os, check_sysctls
from webhook.kubernetes.shown import listed
from webhook.kubernetes.values import Json, field, flag, go_struct, number, structs, text, texts
from webhook.kubernetes.volumes import check_volumes
from webhook.schema.fielderror import duplicate, forbidden, invalid, not_found, not_supported, required, too_long

POD: Final = "pod"
"""The owner of a pod that is created by itself."""

_NAMES: Final = frozenset(DATA["shapes"]["PodSpec"])
_RESTARTS: Final = ("Always", "OnFailure", "Never")
_SYSTEMS: Final = ("linux", "windows")
_CLAIM: Final = ("name", "resourceClaimName", "resourceClaimTemplateName")


def check_template(judge: Judge, template: Json, at: FieldPath) -> None:
    """``ValidatePodTemplateSpec``. Kubernetes gives the paths of labels and annotations without ``metadata``."""
    meta, spec = field(template, "metadata") or {}, field(template, "spec") or {}
    walk(judge, "PodTemplateSpec", template, at)
    walk(judge, "PodTemplateMetadata", meta, at)
    check_annotations(judge, meta, at.child("annotations"))
    check_pod_annotations(judge, meta, spec, at.child("annotations"))
    check_old_profiles(judge, meta, spec, at.child("spec"))


def read_pod(spec: Json) -> PodContext:
    """What the rules of containers need of their pod."""
    grace = number(spec, "terminationGracePeriodSeconds")
    claims = frozenset(name for _, claim in structs(spec, "resourceClaims") if (name := text(claim, "name")))
    return PodContext(
        claims=claims,
        claim_names=listed(claims) if claims else "",
        grace=30 if grace is None else grace,
        os=text(field(spec, "os") or {}, "name"),
        host_users=flag(spec, "hostUsers") is not False,
        restart=text(spec, "restartPolicy") or "Always",
    )


@rule("PodSpec")
def _spec(judge: Judge, value: Json, at: FieldPath) -> None:
    """``ValidatePodSpec``, beside what is data."""
    if not judge.part or not _NAMES.isdisjoint(value):
        _check_pod(judge, value, at)
    for key in judge.runners:
        runner = field(value, key)
        if runner is not None:
            check_main(judge, runner, at.child(key))


def _check_pod(judge: Judge, value: Json, at: FieldPath) -> None:
    judge.pod = read_pod(value)
    if "volumes" in value:
        judge.pod.volumes = check_volumes(judge, value, at)
    if "resourceClaims" in value:
        check_claims(judge, value, at.child("resourceClaims"))
    if "containers" in value or not judge.part:
        check_containers(judge, value, at)
    for key, check in _BY_FIELD:
        if key in value:
            check(judge, value, at)
    _check_host(judge, value, at)
    _check_names(judge, value, at)
    _check_dns(judge, value, at)
    check_host_process(judge, value, at)
    if judge.pod.os in _SYSTEMS:
        check_os(judge, value, at)
    _check_owner(judge, value, at)
    if judge.pod.files:
        _check_files(judge, value)


@rule("PodOS")
def _os(judge: Judge, value: Json, at: FieldPath) -> None:
    name = text(value, "name")
    if name and name not in _SYSTEMS:
        judge.add(not_supported(at, name, _SYSTEMS))


def _check_owner(judge: Judge, spec: Json, at: FieldPath) -> None:
    """What the owner of a template asks of it, if it is known."""
    restart, path = judge.pod.restart, at.child("restartPolicy")
    if judge.owner in (POD, ""):
        return
    if judge.owner != "job":
        if restart != "Always":
            judge.add(not_supported(path, restart, ["Always"]))
        if number(spec, "activeDeadlineSeconds") is not None:
            noun = "ReplicaSet" if judge.owner == "deployment" else judge.owner
            why = f"activeDeadlineSeconds in {noun} is not Supported"
            judge.add(forbidden(at.child("activeDeadlineSeconds"), why))
    elif restart == "Always":
        missing = not text(spec, "restartPolicy")
        judge.add(required(path, 'valid values: "OnFailure", "Never"'), only_if_complete=missing)
    elif restart not in _RESTARTS:
        judge.add(not_supported(path, restart, ["OnFailure", "Never"]))


def _check_names(judge: Judge, spec: Json, at: FieldPath) -> None:
    account = text(spec, "serviceAccountName") or text(spec, "serviceAccount")
    judge.add_invalid(dns_1123_subdomain(account) if account else [], account, at, "serviceAccountName")
    if spec.get("preemptionPolicy") == "":
        judge.add(required(at.child("preemptionPolicy")))
    name = spec.get("hostnameOverride")
    if not isinstance(name, str):
        return
    for key in ("setHostnameAsFQDN", "hostNetwork"):
        if flag(spec, key):
            judge.add(forbidden(at.child("hostnameOverride"), f"may not be specified when {key} is true"))
    if len(name.encode(errors="replace")) > 64:
        judge.add(too_long(at.child("hostnameOverride"), 64))


def _check_host(judge: Judge, spec: Json, at: FieldPath) -> None:
    """Fields that share something with the node."""
    if flag(spec, "hostNetwork"):
        for outer, container in structs(spec, "containers"):
            for index, port in structs(container, "ports"):
                wanted = number(port, "hostPort")
                if wanted and wanted != (number(port, "containerPort") or 0):
                    own = at.child("containers").index(outer).child("ports").index(index).child("hostPort")
                    judge.add(invalid(own, wanted, "must match `containerPort` when `hostNetwork` is true"))
    if flag(spec, "shareProcessNamespace") and flag(spec, "hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        judge.add(invalid(at.child("shareProcessNamespace"), True, why))
    if flag(spec, "hostUsers") is False:
        for key, spelled in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if flag(spec, key):
                judge.add(forbidden(at.child(spelled), "when `hostUsers` is false"))
        for path, container in all_containers(spec, at, judge.runners):
            if container.get("volumeDevices"):
                judge.add(forbidden(path.child("volumeDevices"), "when `hostUsers` is false"))


def _check_dns(judge: Judge, spec: Json, at: FieldPath) -> None:
    """The configuration. Without a server that ``None`` needs, Kubernetes looks no further."""
    config, path, needs = field(spec, "dnsConfig"), at.child("dnsConfig"), spec.get("dnsPolicy") == "None"
    if config is None:
        if needs:
            judge.add(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"), only_if_complete=True)
    elif needs and not config.get("nameservers"):
        why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        judge.add(required(path.child("nameservers"), why), only_if_complete=True)
    else:
        walk(judge, "PodDNSConfig", config, path)


@rule("PodDNSConfig")
def _dns(judge: Judge, value: Json, at: FieldPath) -> None:
    servers, searches = texts(value, "nameservers"), texts(value, "searches")
    if len(servers) > 3:
        judge.add(invalid(at.child("nameservers"), servers, "must not have more than 3 nameservers"))
    if len(searches) > 32:
        judge.add(invalid(at.child("searches"), searches, "must not have more than 32 search paths"))
    if len(" ".join(searches).encode(errors="replace")) > 2048:
        why = "must not have more than 2048 characters (including spaces) in the search list"
        judge.add(invalid(at.child("searches"), searches, why))
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        judge.add_invalid(FORMATS["search"][1](name) if search != "." else [], name, at.child("searches").index(index))
    for index, option in structs(value, "options"):
        if not text(option, "name"):
            judge.add(required(at.child("options").index(index), "must not be empty"), only_if_complete=True)


def check_gates(judge: Judge, spec: Json, at: FieldPath) -> None:
    """``validateSchedulingGates``."""
    path, seen = at.child("schedulingGates"), set[str]()
    for index, gate in structs(spec, "schedulingGates"):
        name = text(gate, "name")
        judge.add_invalid(label_key(name), name, path.index(index))
        if name in seen:
            judge.add(duplicate(path.index(index), name), only_if_complete=True)
        seen.add(name)


def check_claims(judge: Judge, spec: Json, path: FieldPath) -> None:
    """``validatePodResourceClaims``."""
    seen: set[str] = set()
    for index, claim in structs(spec, "resourceClaims"):
        name, own = text(claim, "name"), path.index(index)
        if not name:
            judge.add(required(own.child("name")))
        elif name in seen:
            judge.add(duplicate(own.child("name"), name), only_if_complete=True)
        else:
            judge.add_invalid(dns_1123_label(name), name, own, "name")
            seen.add(name)
        walk(judge, "PodResourceClaim", claim, own)


@rule("PodResourceClaim")
def _claim(judge: Judge, value: Json, at: FieldPath) -> None:
    names = sum(isinstance(value.get(key), str) for key in ("resourceClaimName", "resourceClaimTemplateName"))
    shown = go_struct(value | {"name": text(value, "name")}, _CLAIM)
    if names > 1:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        judge.add(invalid(at, shown, why))
    elif not names:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        judge.add(invalid(at, shown, why), only_if_complete=True)


def _check_files(judge: Judge, spec: Json) -> None:
    """``validateFileKeyRefVolumes``: files are read from an emptyDir."""
    volumes = {text(volume, "name"): volume for _, volume in structs(spec, "volumes")}
    for path, name in judge.pod.files:
        if name not in volumes:
            judge.add(not_found(path, name), only_if_complete=True)
        elif not _is_empty_dir(volumes[name]):
            judge.add(invalid(path, name, "referenced volume must be of type emptyDir"), only_if_complete=True)


def _is_empty_dir(volume: Json) -> bool:
    """Whether it is one, or becomes one because it has no source."""
    return field(volume, "emptyDir") is not None or not any(isinstance(item, dict) for item in volume.values())


def _check_ephemeral(judge: Judge, spec: Json, at: FieldPath) -> None:
    """Of a pod itself there is more to say than that they are not allowed in a template."""
    before = len(judge.errors)
    check_ephemeral(judge, spec, at)
    if judge.owner == POD:
        judge.errors[before:] = [
            error for error in judge.errors[before:] if error.field != str(at.child("ephemeralContainers"))
        ]


_BY_FIELD: Final[tuple[tuple[str, Rule], ...]] = (
    ("initContainers", check_init_containers),
    ("ephemeralContainers", _check_ephemeral),
    ("resources", check_pod_resources),
    ("overhead", check_overhead),
    ("schedulingGates", check_gates),
    ("securityContext", check_sysctls),
    ("topologySpreadConstraints", check_spread),
)
"""The checks of a field of a pod that is present."""
