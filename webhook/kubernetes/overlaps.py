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
    """The pairs of files of which one is the other, or a folder above it. Many files may have more pairs than texts."""
    if len(files) < 2:
        return
    trimmed = [path.rstrip("/") for path, _ in files]
    above = _folders(trimmed)
    if above is None:
        return
    same: dict[str, list[int]] = {}
    below: dict[str, list[int]] = {}
    pairs = Few()
    for index, path in enumerate(trimmed):
        if not path:
            continue
        folders = list(_chain(path, above))
        others = [same.setdefault(path, []), below.get(path, []), *(same[name] for name in folders if name in same)]
        for other in pairs.first(others):
            yield f"{start}: overlapping paths: {_shown(files[index])} with {_shown(files[other])}"
        same[path].append(index)
        for name in folders:
            below.setdefault(name, []).append(index)
    if pairs.omitted:
        yield f"{start}: {pairs.omitted} more overlapping paths"


def _folders(paths: list[str]) -> dict[str, str] | None:
    """For each path the longest other path above it, if there is one; None if no path is above or equal to another."""
    above: dict[str, str] = {}
    stack: list[str] = []
    ordered = sorted({f"{path}/" for path in paths if path})
    for path in ordered:  # what is below a path comes directly after it
        while stack and not path.startswith(stack[-1]):
            stack.pop()
        if stack:
            above[path[:-1]] = stack[-1][:-1]
        stack.append(path)
    return above if above or len(ordered) < sum(map(bool, paths)) else None


def _chain(path: str, above: dict[str, str]) -> Iterator[str]:
    while path in above:
        path = above[path]
        yield path


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
