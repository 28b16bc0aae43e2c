"""Files of one volume, and ports of one pod, that hide each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.golang.strconv import quote
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.values import Json, field, number, structs, text

Warned = tuple[FieldPath | None, str, bool]
"""The path of the field if Kubernetes names one, what it says of it, and whether a part alone shows it."""


LISTING: Final = frozenset({"configMap", "secret", "downwardAPI", "projected"})
"""Sources of volumes that list files."""

_PATHS: Final = (
    ("certificateChainPath", "PodCertificate chain"),
    ("keyPath", "PodCertificate key"),
    ("credentialBundlePath", "PodCertificate credential bundle"),
)
_File = tuple[str, str]


def overlapping_paths(volume: Json) -> Iterator[str]:
    """``warningsForOverlappingVirtualPaths`` of one volume, as whole sentences."""
    name = quote(text(volume, "name"))
    for key, noun, named in (
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", "secretName"),
        ("downwardAPI", "", ""),
    ):
        source = field(volume, key)
        if source is not None:
            shown = f"{noun} {quote(text(source, named))}" if noun else "DownwardAPI"
            yield from _overlaps([(path, "") for path in _items(source)], f"volume {name} ({shown})")
    projected = field(volume, "projected")
    if projected is None:
        return
    files: list[_File] = []
    for _, source in structs(projected, "sources"):
        if not any(isinstance(item, dict) for item in source.values()):
            yield f"volume {name} (Projected) has no sources provided"
        files += _projected(source)
    yield from _overlaps(files, f"volume {name} (Projected)")


def _items(source: Json) -> list[str]:
    return [text(item, "path") for _, item in structs(source, "items")]


def _projected(source: Json) -> list[_File]:
    for key, noun in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        listed = field(source, key)
        if listed is not None and listed.get("items") is not None:
            shown = noun if key == "downwardAPI" else f"{noun} {quote(text(listed, 'name'))}"
            return [(path, shown) for path in _items(listed)]
    token, bundle = field(source, "serviceAccountToken"), field(source, "clusterTrustBundle")
    if token is not None:
        return [(text(token, "path"), "ServiceAccountToken")]
    if bundle is not None:
        named = text(bundle, "name") if isinstance(bundle.get("name"), str) else text(bundle, "signerName")
        return [(text(bundle, "path"), f"ClusterTrustBundle {quote(named)}")]
    certificate = field(source, "podCertificate") or {}
    return [(path, shown) for key, shown in _PATHS if (path := text(certificate, key))]


def _overlaps(files: list[_File], start: str) -> Iterator[str]:
    seen: list[_File] = []
    for path, source in files:
        own = (path.rstrip("/"), source)
        for other in seen:
            if own[0] and other[0] and _covers(own[0], other[0]):
                yield f"{start}: overlapping paths: {_shown(own)} with {_shown(other)}"
        seen.append(own)


def _covers(path: str, other: str) -> bool:
    return f"{other}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other}/")


def _shown(file: _File) -> str:
    path, source = file
    return f"{quote(path)} ({source})" if source else quote(path)


def conflicting_ports(containers: Iterable[tuple[FieldPath, Json]]) -> Iterator[Warned]:
    """Ports of all containers: two of one number or name."""
    ports: dict[tuple[int, str], list[tuple[FieldPath, int, str]]] = {}
    names: dict[str, FieldPath] = {}
    for path, container in containers:
        for index, port in structs(container, "ports"):
            own, host, address = path.child("ports").index(index), number(port, "hostPort") or 0, text(port, "hostIP")
            inside, protocol, name = (
                number(port, "containerPort") or 0,
                text(port, "protocol") or "TCP",
                text(port, "name"),
            )
            if address and not host:
                shown = f"{{Name:{name} HostPort:0 ContainerPort:{inside} Protocol:{protocol} HostIP:{address}}}"
                yield own, f"hostIP set without hostPort: {shown}", False
            for other, other_host, other_address in ports.setdefault((inside, protocol), []):
                kind = _conflict(host, address, other_host, other_address)
                if kind:
                    yield own, f"{kind} port definition with {other}", False
            ports[inside, protocol].append((own, host, address))
            if name and name in names:
                where = names[name]
                why = f"duplicate port name {quote(name)} with {where}, services and probes that select ports by name"
                yield own, f"{why} will use {where}", False
            elif name:
                names[name] = own


def _conflict(host: int, address: str, other_host: int, other_address: str) -> str:
    if (host, address) == (other_host, other_address):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    return "dangerously ambiguous" if host == other_host and (not address) != (not other_address) else ""
