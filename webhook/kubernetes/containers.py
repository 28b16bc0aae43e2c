"""Containers: the fields that all have, and what is asked of main, init and ephemeral containers."""

from __future__ import annotations

from typing import Any, Final

from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import Judge, not_found, rule, walk
from webhook.kubernetes.mounts import check_devices, check_mounts
from webhook.kubernetes.probes import check_probes, forbid_probes
from webhook.kubernetes.values import Json, field, number, structs, text
from webhook.schema.fielderror import duplicate, forbidden, invalid, not_supported, required, too_many

__all__ = [
    "check_containers",
    "check_ephemeral",
    "check_init",
    "check_init_containers",
    "check_main",
    "check_port_list",
]

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
def _common(judge: Judge, value: Json, at: str) -> None:
    """``validateContainerCommon``, beside what is data."""
    if "ports" in value:
        check_ports(judge, value, f"{at}ports")
    if "volumeMounts" in value:
        check_mounts(judge, value, f"{at}volumeMounts")
    if "volumeDevices" in value:
        check_devices(judge, value, f"{at}volumeDevices")
    if "resizePolicy" in value:
        check_resize(judge, value, f"{at}resizePolicy")


def check_ports(judge: Judge, container: Json, path: str) -> None:
    """``validateContainerPorts``, beside what is data."""
    names: set[str] = set()
    for index, port in structs(container, "ports"):
        at, name = f"{path}[{index}].", text(port, "name")
        problems = FORMATS["portName"][1](name) if name else []
        for problem in problems:
            judge.say(invalid(f"{at}name", name, problem))
        if name and not problems:
            if name in names:
                judge.whole(duplicate(f"{at}name", name))
            names.add(name)
        inside = number(port, "containerPort")
        if not inside:
            (judge.whole if port.get("containerPort") is None else judge.say)(required(f"{at}containerPort"))
        else:
            for problem in FORMATS["port"][1](inside):
                judge.say(invalid(f"{at}containerPort", inside, problem))


def check_port_list(judge: Judge, ports: list[Any], path: str) -> None:
    """The ports of a container that is not known."""
    check_ports(judge, {"ports": ports}, path)
    for index, port in structs({"ports": ports}, "ports"):
        walk(judge, "ContainerPort", port, f"{path}[{index}].")


def check_resize(judge: Judge, container: Json, path: str) -> None:
    """``validateResizePolicy``; most errors stand at the list."""
    seen: set[str] = set()
    for index, policy in structs(container, "resizePolicy"):
        name, restart = text(policy, "resourceName"), text(policy, "restartPolicy")
        if name in seen:
            judge.say(duplicate(f"{path}[{index}]", name))
        seen.add(name)
        for value, allowed in ((name, _RESIZED), (restart, _RESIZES)):
            if not value:
                judge.say(required(path))
            elif value not in allowed:
                judge.say(not_supported(path, value, allowed))
        if judge.pod.restart == "Never" and restart != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            judge.say(invalid(path, restart, why))


def check_main(judge: Judge, container: Json, at: str) -> None:
    """A main container."""
    walk(judge, "Container", container, at)
    check_probes(judge, container, at)
    _check_restart(judge, container, at)


def check_containers(judge: Judge, spec: Json, at: str) -> None:
    """``validateContainers``."""
    path, names = f"{at}containers", set[str]()
    if not spec.get("containers"):
        judge.whole(required(path))
    for index, container in structs(spec, "containers"):
        name = text(container, "name")
        check_main(judge, container, f"{path}[{index}].")
        if name in names:
            judge.whole(duplicate(f"{path}[{index}].name", name))
        names.add(name)
    _check_host_ports(judge, list(structs(spec, "containers")), path)


def check_init(judge: Judge, container: Json, at: str) -> None:
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
            judge.whole(invalid(f"{at}resizePolicy[{index}].restartPolicy", "RestartContainer", why))


def check_init_containers(judge: Judge, spec: Json, at: str) -> None:
    """``validateInitContainers``. Kubernetes counts host ports as if each were the first."""
    path = f"{at}initContainers"
    names = {text(container, "name") for _, container in structs(spec, "containers")}
    for index, container in structs(spec, "initContainers"):
        name = text(container, "name")
        check_init(judge, container, f"{path}[{index}].")
        if name in names:
            judge.whole(duplicate(f"{path}[{index}].name", name))
        elif name:
            names.add(name)
        _check_host_ports(judge, [(0, container)], path)


def _check_host_ports(judge: Judge, containers: list[tuple[int, Json]], path: str) -> None:
    if judge.part:
        return
    seen: set[str] = set()
    for outer, container in containers:
        for index, port in structs(container, "ports"):
            wanted = number(port, "hostPort")
            if wanted:
                key = f"{text(port, 'protocol') or 'TCP'}/{text(port, 'hostIP')}/{wanted}"
                if key in seen:
                    judge.whole(duplicate(f"{path}[{outer}].ports[{index}].hostPort", key))
                seen.add(key)


def _check_restart(judge: Judge, container: Json, at: str) -> None:
    """``validateContainerRestartPolicy``."""
    policy, rules = container.get("restartPolicy"), list(structs(container, "restartPolicyRules"))
    if policy is None:
        if rules:
            why = "must specify restartPolicy when restart rules are used"
            judge.whole(required(f"{at}restartPolicy", why))
            _check_restart_rules(judge, rules, at, sidecar="initContainers[" in at)
        return
    if isinstance(policy, str) and policy not in _POLICIES:
        judge.say(not_supported(f"{at}restartPolicy", policy, _POLICIES))
    _check_restart_rules(judge, rules, at)


def _check_restart_rules(judge: Judge, rules: list[tuple[int, Json]], at: str, *, sidecar: bool = False) -> None:
    if sidecar:  # an init container without a policy: Kubernetes looks no further
        return
    if len(rules) > 20:
        judge.say(too_many(f"{at}restartPolicyRules", len(rules), 20))
    for index, rule_ in rules:
        own = f"{at}restartPolicyRules[{index}]."
        action, codes = text(rule_, "action"), field(rule_, "exitCodes")
        if action not in _ACTIONS:
            judge.say(not_supported(f"{own}action", action, _ACTIONS))
        if codes is None:
            judge.say(required(f"{own}exitCodes", "must be specified"))
            continue
        operator, values = text(codes, "operator"), codes.get("values")
        if operator not in _OPERATORS:
            judge.say(not_supported(f"{own}exitCodes.operator", operator, _OPERATORS))
        if isinstance(values, list) and len(values) > 255:
            judge.say(too_many(f"{own}exitCodes.values", len(values), 255))


def check_ephemeral(judge: Judge, spec: Json, at: str) -> None:
    """``validateEphemeralContainers``; a template must not have any."""
    path = f"{at}ephemeralContainers"
    others = {text(item, "name") for key in ("containers", "initContainers") for _, item in structs(spec, key)}
    names = set(others)
    for index, container in structs(spec, "ephemeralContainers"):
        own, name, target = f"{path}[{index}].", text(container, "name"), text(container, "targetContainerName")
        walk(judge, "Container", container, own)
        if name in names:
            judge.whole(duplicate(f"{own}name", name))
        names.add(name)
        if target and target not in others:
            judge.whole(not_found(f"{own}targetContainerName", target))
        for key in _NEVER_EPHEMERAL:
            if container.get(key) is not None and container[key] != {}:
                judge.say(forbidden(own + key, "cannot be set for an Ephemeral Container"))
        for place, mount in structs(container, "volumeMounts"):
            for key in ("subPath", "subPathExpr"):
                if text(mount, key):
                    why = "cannot be set for an Ephemeral Container"
                    judge.say(forbidden(f"{own}volumeMounts[{place}].{key}", why))
    if spec.get("ephemeralContainers"):
        judge.say(forbidden(path, "ephemeral containers not allowed in pod template"))
