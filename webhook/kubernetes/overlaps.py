"""Files of one volume, and ports of one pod, that hide each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.shown import Few, cut, shown
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
    name = shown(text(volume, "name"))
    for key, noun, named in (
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", "secretName"),
        ("downwardAPI", "", ""),
    ):
        source = field(volume, key)
        if source is not None:
            label = f"{noun} {shown(text(source, named))}" if noun else "DownwardAPI"
            yield from _overlaps([(path, "") for path in _items(source)], f"volume {name} ({label})")
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
            label = noun if key == "downwardAPI" else f"{noun} {shown(text(listed, 'name'))}"
            return [(path, label) for path in _items(listed)]
    token, bundle = field(source, "serviceAccountToken"), field(source, "clusterTrustBundle")
    if token is not None:
        return [(text(token, "path"), "ServiceAccountToken")]
    if bundle is not None:
        named = text(bundle, "name") if isinstance(bundle.get("name"), str) else text(bundle, "signerName")
        return [(text(bundle, "path"), f"ClusterTrustBundle {shown(named)}")]
    certificate = field(source, "podCertificate") or {}
    return [(path, label) for key, label in _PATHS if (path := text(certificate, key))]


def _overlaps(files: list[_File], start: str) -> Iterator[str]:
    """The pairs of files of which one is the other, or a folder above it. There may be far more pairs than files."""
    if len(files) < 2:
        return
    names = [f"{path.rstrip('/')}/" for path, _ in files]
    folders, pairs = _folders(names), Few()
    same: dict[str, list[int]] = {name: [] for name in names}
    below: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        if name == "/":
            continue
        for other in pairs.first([same[name], below.get(name, ()), *(same[above] for above in folders[name])]):
            yield f"{start}: overlapping paths: {_shown(files[index])} with {_shown(files[other])}"
        same[name].append(index)
        for above in folders[name]:
            below.setdefault(above, []).append(index)
    if pairs.omitted:
        yield f"{start}: {pairs.omitted} more overlapping paths"


def _folders(names: list[str]) -> dict[str, list[str]]:
    """By name, the other names above it. All end with a slash, so what is below one comes directly after it."""
    folders: dict[str, list[str]] = {}
    above: list[str] = []
    for name in sorted({*names} - {"/"}):
        while above and not name.startswith(above[-1]):
            above.pop()
        folders[name] = above.copy()
        above.append(name)
    return folders


def _shown(file: _File) -> str:
    path, source = file[0].rstrip("/"), file[1]
    return f"{shown(path)} ({source})" if source else shown(path)


def conflicting_ports(containers: Iterable[tuple[FieldPath, Json]]) -> Iterator[Warned]:
    """Ports of all containers: two of one number or name."""
    ports: dict[tuple[int, str], _Ports] = {}
    names: dict[str, FieldPath] = {}
    pairs = Few()
    for path, container in containers:
        for index, port in structs(container, "ports"):
            own, host, address = path.child("ports").index(index), number(port, "hostPort") or 0, text(port, "hostIP")
            inside, protocol, name = (
                number(port, "containerPort") or 0,
                text(port, "protocol") or "TCP",
                text(port, "name"),
            )
            if address and not host:
                parts = f"Name:{cut(name)} HostPort:0 ContainerPort:{inside} Protocol:{cut(protocol)}"
                yield own, f"hostIP set without hostPort: {{{parts} HostIP:{cut(address)}}}", False
            same = ports.setdefault((inside, protocol), _Ports())
            for other in pairs.first(same.conflicting(host, address)):
                path_of_other, other_host, other_address = same.ports[other]
                kind = _conflict(host, address, other_host, other_address)
                yield own, f"{kind} port definition with {path_of_other}", False
            same.add(own, host, address)
            if name and name in names:
                where = names[name]
                why = f"duplicate port name {shown(name)} with {where}, services and probes that select ports by name"
                yield own, f"{why} will use {where}", False
            elif name:
                names[name] = own
    if pairs.omitted:
        yield None, f"{pairs.omitted} more conflicting port definitions", False


class _Ports:
    """Ports of one number and protocol: path, host port, host address. Those with which another one may conflict."""

    def __init__(self) -> None:
        self.ports: list[tuple[FieldPath, int, str]] = []
        self._by_host: dict[tuple[int, bool], list[int]] = {}
        self._same: dict[tuple[int, str], list[int]] = {}

    def add(self, path: FieldPath, host: int, address: str) -> None:
        self._by_host.setdefault((host, bool(address)), []).append(len(self.ports))
        self._same.setdefault((host, address), []).append(len(self.ports))
        self.ports.append((path, host, address))

    def conflicting(self, host: int, address: str) -> list[Sequence[int]]:
        """Their places. One without a host port conflicts with all."""
        if not host:
            return [range(len(self.ports))]
        of_host = self._by_host.get((host, not address), ())
        without_host = (self._by_host.get((0, flag), ()) for flag in (False, True))
        return [*without_host, of_host, self._same.get((host, address), ())]


def _conflict(host: int, address: str, other_host: int, other_address: str) -> str:
    if (host, address) == (other_host, other_address):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    return "dangerously ambiguous"
