"""Containers: the fields that all have, and what is asked of main, init and ephemeral containers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import Judge, rule, walk
from webhook.kubernetes.probes import check_probes, forbid_probes
from webhook.kubernetes.values import Json, field, number, structs, text
from webhook.kubernetes.volumes import check_devices, check_mounts
from webhook.schema.fielderror import duplicate, forbidden, invalid, not_found, not_supported, required, too_many

_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_RESIZED: Final = ("cpu", "memory")
_RESIZES: Final = ("NotRequired", "RestartContainer")
_NEVER_EPHEMERAL: Final = (
    "ports",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
)


@rule("Container")
def _common(judge: Judge, value: Json, at: FieldPath) -> None:
    """``validateContainerCommon``, beside what is data."""
    if "ports" in value:
        check_ports(judge, value, at.child("ports"))
    if "volumeMounts" in value:
        check_mounts(judge, value, at.child("volumeMounts"))
    if "volumeDevices" in value:
        check_devices(judge, value, at.child("volumeDevices"))
    if "resizePolicy" in value:
        check_resize(judge, value, at.child("resizePolicy"))


def check_ports(judge: Judge, container: Json, path: FieldPath) -> None:
    """``validateContainerPorts``, beside what is data."""
    names: set[str] = set()
    for index, port in structs(container, "ports"):
        at, name = path.index(index), text(port, "name")
        problems = FORMATS["portName"][1](name) if name else []
        judge.add_invalid(problems, name, at, "name")
        if name and not problems:
            if name in names:
                judge.add(duplicate(at.child("name"), name), only_if_complete=True)
            names.add(name)
        inside = number(port, "containerPort")
        if not inside:
            judge.add(required(at.child("containerPort")), only_if_complete=port.get("containerPort") is None)
        else:
            judge.add_invalid(FORMATS["port"][1](inside), inside, at, "containerPort")


def check_port_list(judge: Judge, ports: list[Any], path: FieldPath) -> None:
    """The ports of an unknown container."""
    check_ports(judge, {"ports": ports}, path)
    for index, port in structs({"ports": ports}, "ports"):
        walk(judge, "ContainerPort", port, path.index(index))


def check_resize(judge: Judge, container: Json, path: FieldPath) -> None:
    """``validateResizePolicy``; most errors stand at the list."""
    seen: set[str] = set()
    for index, policy in structs(container, "resizePolicy"):
        name, restart = text(policy, "resourceName"), text(policy, "restartPolicy")
        if name in seen:
            judge.add(duplicate(path.index(index), name))
        seen.add(name)
        for value, allowed in ((name, _RESIZED), (restart, _RESIZES)):
            if not value:
                judge.add(required(path))
            elif value not in allowed:
                judge.add(not_supported(path, value, allowed))
        if judge.pod.restart == "Never" and restart != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            judge.add(invalid(path, restart, why))


def check_main(judge: Judge, container: Json, at: FieldPath) -> None:
    """A main container."""
    walk(judge, "Container", container, at)
    check_probes(judge, container, at)
    _check_restart(judge, container, at)


def check_containers(judge: Judge, spec: Json, at: FieldPath) -> None:
    """``validateContainers``."""
    path = at.child("containers")
    names: set[str] = set()
    if not spec.get("containers"):
        judge.add(required(path), only_if_complete=True)
    containers = structs(spec, "containers")
    for index, container in containers:
        name = text(container, "name")
        check_main(judge, container, path.index(index))
        if name in names:
            judge.add(duplicate(path.index(index).child("name"), name), only_if_complete=True)
        names.add(name)
    _check_host_ports(judge, containers, path)


def check_init(judge: Judge, container: Json, at: FieldPath) -> None:
    """An init container. One that always restarts is a sidecar."""
    walk(judge, "Container", container, at)
    _check_restart(judge, container, at)
    if text(container, "restartPolicy") == "Always":
        check_probes(judge, container, at)
        return
    forbid_probes(judge, container, at)
    for index, policy in structs(container, "resizePolicy"):
        if text(policy, "restartPolicy") == "RestartContainer":
            why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            own = at.child("resizePolicy").index(index).child("restartPolicy")
            judge.add(invalid(own, "RestartContainer", why), only_if_complete=True)


def check_init_containers(judge: Judge, spec: Json, at: FieldPath) -> None:
    """``validateInitContainers``. Kubernetes counts host ports as if each were the first."""
    path = at.child("initContainers")
    names = {text(container, "name") for _, container in structs(spec, "containers")}
    for index, container in structs(spec, "initContainers"):
        name = text(container, "name")
        check_init(judge, container, path.index(index))
        if name in names:
            judge.add(duplicate(path.index(index).child("name"), name), only_if_complete=True)
        elif name:
            names.add(name)
        _check_host_ports(judge, [(0, container)], path)


def _check_host_ports(judge: Judge, containers: Sequence[tuple[int, Json]], path: FieldPath) -> None:
    if judge.part:
        return
    seen: set[str] = set()
    for outer, container in containers:
        for index, port in structs(container, "ports"):
            wanted = number(port, "hostPort")
            if wanted:
                key = f"{text(port, 'protocol') or 'TCP'}/{text(port, 'hostIP')}/{wanted}"
                if key in seen:
                    judge.add(duplicate(path.index(outer).child("ports").index(index).child("hostPort"), key))
                seen.add(key)


def _check_restart(judge: Judge, container: Json, at: FieldPath) -> None:
    """``validateContainerRestartPolicy``."""
    policy, rules = container.get("restartPolicy"), structs(container, "restartPolicyRules")
    if policy is None:
        if rules:
            why = "must specify restartPolicy when restart rules are used"
            judge.add(required(at.child("restartPolicy"), why), only_if_complete=True)
            if "initContainers[" not in str(at):  # of an init container, Kubernetes looks no further
                _check_restart_rules(judge, rules, at)
        return
    if isinstance(policy, str) and policy not in _POLICIES:
        judge.add(not_supported(at.child("restartPolicy"), policy, _POLICIES))
    _check_restart_rules(judge, rules, at)


def _check_restart_rules(judge: Judge, rules: Sequence[tuple[int, Json]], at: FieldPath) -> None:
    if len(rules) > 20:
        judge.add(too_many(at.child("restartPolicyRules"), len(rules), 20))
    for index, rule_ in rules:
        own = at.child("restartPolicyRules").index(index)
        action, codes = text(rule_, "action"), field(rule_, "exitCodes")
        if action not in _ACTIONS:
            judge.add(not_supported(own.child("action"), action, _ACTIONS))
        if codes is None:
            judge.add(required(own.child("exitCodes"), "must be specified"))
            continue
        operator, values = text(codes, "operator"), codes.get("values")
        if operator not in _OPERATORS:
            judge.add(not_supported(own.child("exitCodes", "operator"), operator, _OPERATORS))
        if isinstance(values, list) and len(values) > 255:
            judge.add(too_many(own.child("exitCodes", "values"), len(values), 255))


def check_ephemeral(judge: Judge, spec: Json, at: FieldPath) -> None:
    """``validateEphemeralContainers``; a template must not have any."""
    path = at.child("ephemeralContainers")
    others = {text(item, "name") for key in ("containers", "initContainers") for _, item in structs(spec, key)}
    names = set(others)
    for index, container in structs(spec, "ephemeralContainers"):
        own, name, target = path.index(index), text(container, "name"), text(container, "targetContainerName")
        walk(judge, "Container", container, own)
        if name in names:
            judge.add(duplicate(own.child("name"), name), only_if_complete=True)
        names.add(name)
        if target and target not in others:
            judge.add(not_found(own.child("targetContainerName"), target), only_if_complete=True)
        for key in _NEVER_EPHEMERAL:
            if container.get(key) is not None and container[key] != {}:
                judge.add(forbidden(own.child(key), "cannot be set for an Ephemeral Container"))
        for place, mount in structs(container, "volumeMounts"):
            for key in ("subPath", "subPathExpr"):
                if text(mount, key):
                    why = "cannot be set for an Ephemeral Container"
                    judge.add(forbidden(own.child("volumeMounts").index(place).child(key), why))
    if spec.get("ephemeralContainers"):
        judge.add(forbidden(path, "ephemeral containers not allowed in pod template"))
