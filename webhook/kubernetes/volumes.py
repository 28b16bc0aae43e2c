"""Volumes: the source, and the sources whose rules are more than data."""

from __future__ import annotations

import re
from typing import Final

from webhook.golang.names import dns_1123_label, dns_1123_subdomain
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import DATA, Judge, one_of, rule, walk
from webhook.kubernetes.values import Json, field, flag, number, quantity, structs, text, texts
from webhook.schema.fielderror import duplicate, forbidden, invalid, not_supported, required, too_long

__all__ = ["check_volumes"]

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
_IQN: Final = re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)\Z").search
_INITIATORS: Final = {
    "iqn": _IQN,
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}").fullmatch,
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}").fullmatch,
}
_HOST_PORT: Final = re.compile(r"([^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*").fullmatch
_MANAGED: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def check_volumes(judge: Judge, spec: Json, at: str) -> dict[str, Json]:
    """``ValidateVolumes``: the valid volumes by name. A mount of any other is not found."""
    path, valid = f"{at}volumes", dict[str, Json]()
    for index, volume in structs(spec, "volumes"):
        name, before = text(volume, "name"), len(judge.errors)
        check_volume(judge, volume, f"{path}[{index}].")
        if name in valid:
            judge.whole(duplicate(f"{path}[{index}].name", name))
        if len(judge.errors) == before:
            valid[name] = volume
    return valid


def check_volume(judge: Judge, volume: Json, at: str) -> None:
    """One volume. Without a source it gets an emptyDir."""
    name = text(volume, "name")
    if not name:
        judge.say(required(f"{at}name"))
    for problem in dns_1123_label(name) if name else []:
        judge.say(invalid(f"{at}name", name, problem))
    sources = volume.keys() & _SOURCES.keys()
    if len(sources) == 1:
        _check_source(judge, volume, _SOURCES[next(iter(sources))], at)
    elif sources:
        one_of(judge, volume, at, DATA["volumes"], lambda kind, item, below: walk(judge, kind, item, below), "volume")
    if "emptyDir" in sources:
        size = quantity((field(volume, "emptyDir") or {}).get("sizeLimit"))
        if size is not None and size.sign() < 0:
            judge.say(forbidden(f"{at}emptyDir.sizeLimit", "SizeLimit field must be a valid resource quantity"))
    iscsi = field(volume, "iscsi") if "iscsi" in sources else None
    if iscsi and iscsi.get("initiatorName") is not None and len(f"{name}:{text(iscsi, 'targetPortal')}".encode()) > 64:
        why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is"
        judge.say(invalid(f"{at}name", name, f"{why} specified."))


def _check_source(judge: Judge, volume: Json, source: list[str], at: str) -> None:
    key, kind, _, inner = source
    value = volume[key]
    if isinstance(value, dict):
        walk(judge, kind, value, f"{at}{inner}.")


@rule("HostPathVolumeSource")
def _host_path(judge: Judge, value: Json, at: str) -> None:
    kind = text(value, "type")
    if text(value, "path") and kind not in _HOST_TYPES:
        judge.say(not_supported(f"{at}type", kind, _HOST_TYPES))


@rule("CSIVolumeSource")
def _csi(judge: Judge, value: Json, at: str) -> None:
    driver, secret = text(value, "driver"), field(value, "nodePublishSecretRef")
    if driver:
        if len(driver.encode(errors="replace")) > 63:
            judge.say(too_long(f"{at}driver", 63))
        for problem in dns_1123_subdomain(driver.lower()):
            judge.say(invalid(f"{at}driver", driver, problem))
    if secret is None:
        return
    name = text(secret, "name")
    if not name:
        judge.whole(required(f"{at}nodePublishSecretRef.name"))
    for problem in dns_1123_subdomain(name) if name else []:
        judge.say(invalid(f"{at}name", name, problem))


@rule("EphemeralVolumeSource")
def _ephemeral(judge: Judge, value: Json, at: str) -> None:
    if field(value, "volumeClaimTemplate") is None:
        judge.whole(required(f"{at}volumeClaimTemplate"))


@rule("ISCSIVolumeSource")
def _iscsi(judge: Judge, value: Json, at: str) -> None:
    name, initiator = text(value, "iqn"), value.get("initiatorName")
    if name:
        _check_initiator(judge, name, f"{at}iqn")
    if isinstance(initiator, str):
        _check_initiator(judge, initiator, f"{at}initiatorname")
    if (flag(value, "chapAuthDiscovery") or flag(value, "chapAuthSession")) and field(value, "secretRef") is None:
        judge.whole(required(f"{at}secretRef"))


def _check_initiator(judge: Judge, name: str, path: str) -> None:
    form = _INITIATORS.get(name[:3])
    if form is None:
        judge.say(invalid(path, name, "must be valid format starting with iqn, eui, or naa"))
    elif not form(name):
        judge.say(invalid(path, name, "must be valid format"))


@rule("FlockerVolumeSource")
def _flocker(judge: Judge, value: Json, at: str) -> None:
    name, uuid = text(value, "datasetName"), text(value, "datasetUUID")
    if name and uuid:
        judge.say(invalid(at[:-1], "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    elif not name and not uuid:
        judge.whole(required(at[:-1], "one of datasetName and datasetUUID is required"))


@rule("QuobyteVolumeSource")
def _quobyte(judge: Judge, value: Json, at: str) -> None:
    registry = text(value, "registry")
    if registry and len(text(value, "tenant").encode()) >= 65:
        judge.whole(required(f"{at}tenant", "must be a UUID and may not exceed a length of 64 characters"))
    elif registry:
        for pair in registry.split(","):
            if not _HOST_PORT(pair):
                why = "must be a host:port pair or multiple pairs separated by commas"
                judge.say(invalid(f"{at}registry", registry, why))


@rule("FCVolumeSource")
def _fc(judge: Judge, value: Json, at: str) -> None:
    names, ids, lun = texts(value, "targetWWNs"), texts(value, "wwids"), number(value, "lun")
    if not names and not ids:
        judge.whole(required(f"{at}targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        judge.say(invalid(f"{at}targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously"))
    if names and lun is None:
        judge.whole(required(f"{at}lun", "lun is required if targetWWNs is specified"))
    for problem in FORMATS["lun"][1](lun) if names and lun is not None else []:
        judge.say(invalid(f"{at}lun", lun, problem))


@rule("FlexVolumeSource")
def _flex(judge: Judge, value: Json, at: str) -> None:
    for key in field(value, "options") or {}:
        space = f".{key.partition('/')[0].lower()}"
        if space.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            judge.say(invalid(f"{at}options[{key}]", key, why))


@rule("AzureDiskVolumeSource")
def _azure_disk(judge: Judge, value: Json, at: str) -> None:
    uri, managed = text(value, "diskURI"), value.get("kind", "Shared") == "Managed"
    if not uri.startswith("/subscriptions/" if managed else "https://"):
        (judge.say if uri else judge.whole)(not_supported(f"{at}diskURI", uri, [_MANAGED if managed else _BLOB]))
