"""Volumes: their sources, and where a container finds them: mounts and devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import ascii_letters, digits
from typing import Final

from webhook.golang.names import dns_1123_label, dns_1123_subdomain
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.formats import FORMATS, no_backsteps, relative_path
from webhook.kubernetes.judge import DATA, Judge, check_first, rule, walk
from webhook.kubernetes.values import Json, field, flag, number, quantity, structs, text, texts
from webhook.schema.fielderror import duplicate, forbidden, invalid, not_found, not_supported, required, too_long

_PLAIN: Final = frozenset({"name", "mountPath"})
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")
_SOURCES: Final = {source[0]: source for source in DATA["volumes"]}
_HOST_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_FORBIDDEN: Final = re.compile(r"[,;*&$|\s]")
_NAMING: Final = f"{ascii_letters}{digits}.-"
_has_date: Final = re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\..").search


def _is_iqn(name: str) -> bool:
    r"""Whether Go finds ``iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$``.

    Python's pattern would look on from each ``iqn.``, which takes the square of the length.
    """
    before_colons = _FORBIDDEN.split(name)[-1][:-1].split(":")[:-1]
    return any(_has_date(text[len(text.rstrip(_NAMING)) :]) for text in before_colons)


_INITIATORS: Final[Mapping[str, Callable[[str], object]]] = {
    "iqn": _is_iqn,
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}").fullmatch,
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}").fullmatch,
}
_HOST_PORT: Final = re.compile(r"([^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*").fullmatch
_MANAGED: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def check_volumes(judge: Judge, spec: Json, at: FieldPath) -> dict[str, Json]:
    """``ValidateVolumes``: the valid volumes by name. A mount of any other is not found."""
    path = at.child("volumes")
    valid: dict[str, Json] = {}
    for index, volume in structs(spec, "volumes"):
        name, before = text(volume, "name"), len(judge.errors)
        check_volume(judge, volume, path.index(index))
        if name in valid:
            judge.add(duplicate(path.index(index).child("name"), name), only_if_complete=True)
        if len(judge.errors) == before:
            valid[name] = volume
    return valid


def check_volume(judge: Judge, volume: Json, at: FieldPath) -> None:
    """One volume. Without a source it gets an emptyDir."""
    name = text(volume, "name")
    if not name:
        judge.add(required(at.child("name")))
    judge.add_invalid(dns_1123_label(name) if name else [], name, at, "name")
    sources = volume.keys() & _SOURCES.keys()
    if len(sources) == 1:
        _check_source(judge, volume, _SOURCES[next(iter(sources))], at)
    elif sources:
        check_first(judge, volume, at, DATA["volumes"], "volume")
    if "emptyDir" in sources:
        size = quantity((field(volume, "emptyDir") or {}).get("sizeLimit"))
        if size is not None and size.sign() < 0:
            judge.add(forbidden(at.child("emptyDir", "sizeLimit"), "SizeLimit field must be a valid resource quantity"))
    iscsi = field(volume, "iscsi") if "iscsi" in sources else None
    if iscsi and iscsi.get("initiatorName") is not None and len(f"{name}:{text(iscsi, 'targetPortal')}".encode()) > 64:
        why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is"
        judge.add(invalid(at.child("name"), name, f"{why} specified."))


def _check_source(judge: Judge, volume: Json, source: list[str], at: FieldPath) -> None:
    key, kind, _, inner = source
    value = volume[key]
    if isinstance(value, dict):
        walk(judge, kind, value, at.child(inner))


@rule("HostPathVolumeSource")
def _host_path(judge: Judge, value: Json, at: FieldPath) -> None:
    kind = text(value, "type")
    if text(value, "path") and kind not in _HOST_TYPES:
        judge.add(not_supported(at.child("type"), kind, _HOST_TYPES))


@rule("CSIVolumeSource")
def _csi(judge: Judge, value: Json, at: FieldPath) -> None:
    driver, secret = text(value, "driver"), field(value, "nodePublishSecretRef")
    if driver:
        if len(driver.encode(errors="replace")) > 63:
            judge.add(too_long(at.child("driver"), 63))
        judge.add_invalid(dns_1123_subdomain(driver.lower()), driver, at, "driver")
    if secret is None:
        return
    name = text(secret, "name")
    if not name:
        judge.add(required(at.child("nodePublishSecretRef", "name")), only_if_complete=True)
    judge.add_invalid(dns_1123_subdomain(name) if name else [], name, at, "name")


@rule("EphemeralVolumeSource")
def _ephemeral(judge: Judge, value: Json, at: FieldPath) -> None:
    if field(value, "volumeClaimTemplate") is None:
        judge.add(required(at.child("volumeClaimTemplate")), only_if_complete=True)


@rule("ISCSIVolumeSource")
def _iscsi(judge: Judge, value: Json, at: FieldPath) -> None:
    name, initiator = text(value, "iqn"), value.get("initiatorName")
    if name:
        _check_initiator(judge, name, at.child("iqn"))
    if isinstance(initiator, str):
        _check_initiator(judge, initiator, at.child("initiatorname"))
    if (flag(value, "chapAuthDiscovery") or flag(value, "chapAuthSession")) and field(value, "secretRef") is None:
        judge.add(required(at.child("secretRef")), only_if_complete=True)


def _check_initiator(judge: Judge, name: str, path: FieldPath) -> None:
    form = _INITIATORS.get(name[:3])
    if form is None:
        judge.add(invalid(path, name, "must be valid format starting with iqn, eui, or naa"))
    elif not form(name):
        judge.add(invalid(path, name, "must be valid format"))


@rule("FlockerVolumeSource")
def _flocker(judge: Judge, value: Json, at: FieldPath) -> None:
    name, uuid = text(value, "datasetName"), text(value, "datasetUUID")
    if name and uuid:
        judge.add(invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    elif not name and not uuid:
        judge.add(required(at, "one of datasetName and datasetUUID is required"), only_if_complete=True)


@rule("QuobyteVolumeSource")
def _quobyte(judge: Judge, value: Json, at: FieldPath) -> None:
    registry = text(value, "registry")
    if registry and len(text(value, "tenant").encode()) >= 65:
        why = "must be a UUID and may not exceed a length of 64 characters"
        judge.add(required(at.child("tenant"), why), only_if_complete=True)
    elif registry:
        for pair in registry.split(","):
            if not _HOST_PORT(pair):
                why = "must be a host:port pair or multiple pairs separated by commas"
                judge.add(invalid(at.child("registry"), registry, why))


@rule("FCVolumeSource")
def _fc(judge: Judge, value: Json, at: FieldPath) -> None:
    names, ids, lun = texts(value, "targetWWNs"), texts(value, "wwids"), number(value, "lun")
    if not names and not ids:
        why = "must specify either targetWWNs or wwids, but not both"
        judge.add(required(at.child("targetWWNs"), why), only_if_complete=True)
    if names and ids:
        judge.add(invalid(at.child("targetWWNs"), names, "targetWWNs and wwids can not be specified simultaneously"))
    if names and lun is None:
        judge.add(required(at.child("lun"), "lun is required if targetWWNs is specified"), only_if_complete=True)
    judge.add_invalid(FORMATS["lun"][1](lun) if names and lun is not None else [], lun, at, "lun")


@rule("FlexVolumeSource")
def _flex(judge: Judge, value: Json, at: FieldPath) -> None:
    for key in field(value, "options") or {}:
        space = f".{key.partition('/')[0].lower()}"
        if space.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            judge.add(invalid(at.child("options").key(key), key, why))


@rule("AzureDiskVolumeSource")
def _azure_disk(judge: Judge, value: Json, at: FieldPath) -> None:
    uri, managed = text(value, "diskURI"), value.get("kind", "Shared") == "Managed"
    if not uri.startswith("/subscriptions/" if managed else "https://"):
        forms = [_MANAGED if managed else _BLOB]
        judge.add(not_supported(at.child("diskURI"), uri, forms), only_if_complete=not uri)


def check_mounts(judge: Judge, container: Json, path: FieldPath) -> None:
    """``ValidateVolumeMounts``. Kubernetes gives errors of some fields without the index of the mount."""
    devices = {text(device, "name"): text(device, "devicePath") for _, device in structs(container, "volumeDevices")}
    device_places, seen = set(devices.values()), set[str]()
    for index, mount in structs(container, "volumeMounts"):
        at, name, place = path.index(index), text(mount, "name"), text(mount, "mountPath")
        if not name:
            judge.add(required(at.child("name")))
        if name not in judge.pod.volumes:
            judge.add(not_found(at.child("name"), name), only_if_complete=True)
        if not place:
            judge.add(required(at.child("mountPath")))
        if place in seen:
            judge.add(invalid(at.child("mountPath"), place, "must be unique"), only_if_complete=True)
        seen.add(place)
        if name in devices:
            judge.add(invalid(at.child("name"), name, "must not already exist in volumeDevices"))
        if place in device_places:
            judge.add(invalid(at.child("mountPath"), place, "must not already exist as a path in volumeDevices"))
        if not mount.keys() <= _PLAIN:
            _check_sub_paths(judge, mount, at, path)
            _check_modes(judge, container, mount, path)


def _check_sub_paths(judge: Judge, mount: Json, at: FieldPath, path: FieldPath) -> None:
    plain, expression = text(mount, "subPath"), text(mount, "subPathExpr")
    if plain and expression:
        judge.add(invalid(at.child("subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive"))
    for key, value in (("subPath", plain), ("subPathExpr", expression)):
        judge.add_invalid(relative_path(value), value, path, key)


def _check_modes(judge: Judge, container: Json, mount: Json, path: FieldPath) -> None:
    propagation, read_only = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if isinstance(propagation, str):
        if propagation not in _PROPAGATIONS:
            judge.add(not_supported(path.child("mountPropagation"), propagation, _PROPAGATIONS))
        elif propagation == "Bidirectional" and not flag(field(container, "securityContext") or {}, "privileged"):
            why = "Bidirectional mount propagation is available only to privileged containers"
            judge.add(forbidden(path.child("mountPropagation"), why), only_if_complete=True)
    if not isinstance(read_only, str):
        return
    own = path.child("recursiveReadOnly")
    if read_only not in _READ_ONLY:
        judge.add(not_supported(own, read_only, _READ_ONLY))
    elif read_only != "Disabled":
        if not flag(mount, "readOnly"):
            judge.add(forbidden(own, "may only be specified when readOnly is true"), only_if_complete=True)
        if isinstance(propagation, str) and propagation != "None":
            why = "may only be specified when mountPropagation is None or not specified"
            judge.add(forbidden(own, why), only_if_complete=True)


def check_devices(judge: Judge, container: Json, path: FieldPath) -> None:
    """``ValidateVolumeDevices``."""
    mounts = {text(mount, "name"): text(mount, "mountPath") for _, mount in structs(container, "volumeMounts")}
    mount_places = set(mounts.values())
    names, places = set[str](), set[str]()
    for index, device in structs(container, "volumeDevices"):
        at, name, place = path.index(index), text(device, "name"), text(device, "devicePath")
        _check_device_name(judge, name, at, names)
        if not place:
            judge.add(required(at.child("devicePath")))
        if place in places:
            judge.add(invalid(at.child("devicePath"), place, "must be unique"), only_if_complete=True)
        if no_backsteps(place):
            judge.add(invalid(at.child("devicePath"), place, "can not contain backsteps ('..')"))
        else:
            places.add(place)
        if name in mounts:
            judge.add(invalid(at.child("name"), name, "must not already exist in volumeMounts"))
        if place in mount_places:
            judge.add(invalid(at.child("devicePath"), place, "must not already exist as a path in volumeMounts"))


def _check_device_name(judge: Judge, name: str, at: FieldPath, names: set[str]) -> None:
    source = judge.pod.volumes.get(name)
    if not name:
        judge.add(required(at.child("name")))
    if name in names:
        judge.add(invalid(at.child("name"), name, "must be unique"), only_if_complete=True)
    if source is None:
        judge.add(not_found(at.child("name"), name), only_if_complete=True)
    elif not any(isinstance(source.get(key), dict) for key in ("persistentVolumeClaim", "ephemeral")):
        why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        judge.add(invalid(at.child("name"), name, why), only_if_complete=True)
    if name:
        names.add(name)
