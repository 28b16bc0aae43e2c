"""Where a container finds volumes: mounts and devices."""

from __future__ import annotations

from typing import Final

from webhook.kubernetes.formats import no_backsteps, relative_path
from webhook.kubernetes.judge import Judge, not_found
from webhook.kubernetes.values import Json, field, flag, structs, text
from webhook.schema.fielderror import forbidden, invalid, not_supported, required

__all__ = ["check_devices", "check_mounts"]

_PLAIN: Final = frozenset({"name", "mountPath"})
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")


def check_mounts(judge: Judge, container: Json, path: str) -> None:
    """``ValidateVolumeMounts``. Kubernetes gives errors of some fields without the index of the mount."""
    devices = {text(device, "name"): text(device, "devicePath") for _, device in structs(container, "volumeDevices")}
    seen: set[str] = set()
    for index, mount in structs(container, "volumeMounts"):
        at, name, place = f"{path}[{index}].", text(mount, "name"), text(mount, "mountPath")
        if not name:
            judge.say(required(f"{at}name"))
        if name not in judge.pod.volumes:
            judge.whole(not_found(f"{at}name", name))
        if not place:
            judge.say(required(f"{at}mountPath"))
        if place in seen:
            judge.whole(invalid(f"{at}mountPath", place, "must be unique"))
        seen.add(place)
        if name in devices:
            judge.say(invalid(f"{at}name", name, "must not already exist in volumeDevices"))
        if place in devices.values():
            judge.say(invalid(f"{at}mountPath", place, "must not already exist as a path in volumeDevices"))
        if not mount.keys() <= _PLAIN:
            _check_sub_paths(judge, mount, at, path)
            _check_modes(judge, container, mount, path)


def _check_sub_paths(judge: Judge, mount: Json, at: str, path: str) -> None:
    plain, expression = text(mount, "subPath"), text(mount, "subPathExpr")
    if plain and expression:
        judge.say(invalid(f"{at}subPathExpr", expression, "subPathExpr and subPath are mutually exclusive"))
    for key, value in (("subPath", plain), ("subPathExpr", expression)):
        for problem in relative_path(value):
            judge.say(invalid(f"{path}.{key}", value, problem))


def _check_modes(judge: Judge, container: Json, mount: Json, path: str) -> None:
    propagation, read_only = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if isinstance(propagation, str):
        if propagation not in _PROPAGATIONS:
            judge.say(not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        elif propagation == "Bidirectional" and not flag(field(container, "securityContext") or {}, "privileged"):
            why = "Bidirectional mount propagation is available only to privileged containers"
            judge.whole(forbidden(f"{path}.mountPropagation", why))
    if not isinstance(read_only, str):
        return
    own = f"{path}.recursiveReadOnly"
    if read_only not in _READ_ONLY:
        judge.say(not_supported(own, read_only, _READ_ONLY))
    elif read_only != "Disabled":
        if not flag(mount, "readOnly"):
            judge.whole(forbidden(own, "may only be specified when readOnly is true"))
        if isinstance(propagation, str) and propagation != "None":
            judge.whole(forbidden(own, "may only be specified when mountPropagation is None or not specified"))


def check_devices(judge: Judge, container: Json, path: str) -> None:
    """``ValidateVolumeDevices``."""
    mounts = {text(mount, "name"): text(mount, "mountPath") for _, mount in structs(container, "volumeMounts")}
    names: set[str] = set()
    places: set[str] = set()
    for index, device in structs(container, "volumeDevices"):
        at, name, place = f"{path}[{index}].", text(device, "name"), text(device, "devicePath")
        _check_device_name(judge, name, at, names)
        if not place:
            judge.say(required(f"{at}devicePath"))
        if place in places:
            judge.whole(invalid(f"{at}devicePath", place, "must be unique"))
        if no_backsteps(place):
            judge.say(invalid(f"{at}devicePath", place, "can not contain backsteps ('..')"))
        else:
            places.add(place)
        if name in mounts:
            judge.say(invalid(f"{at}name", name, "must not already exist in volumeMounts"))
        if place in mounts.values():
            judge.say(invalid(f"{at}devicePath", place, "must not already exist as a path in volumeMounts"))


def _check_device_name(judge: Judge, name: str, at: str, names: set[str]) -> None:
    source = judge.pod.volumes.get(name)
    if not name:
        judge.say(required(f"{at}name"))
    if name in names:
        judge.whole(invalid(f"{at}name", name, "must be unique"))
    if source is None:
        judge.whole(not_found(f"{at}name", name))
    elif not any(isinstance(source.get(key), dict) for key in ("persistentVolumeClaim", "ephemeral")):
        why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        judge.whole(invalid(f"{at}name", name, why))
    if name:
        names.add(name)
