"""Kubernetes' own warnings of a pod template: what is accepted, and does not do what its author expects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from webhook.golang.errors import GoError
from webhook.golang.names import label_value
from webhook.golang.netip import parse_address
from webhook.ground.budget import Budget
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.judge import DATA
from webhook.kubernetes.metadata import APP_ARMOR, SECCOMP, SECCOMP_POD, all_containers
from webhook.kubernetes.overlaps import LISTING, Warned, conflicting_ports, overlapping_paths
from webhook.kubernetes.resources import fractional
from webhook.kubernetes.shown import cut, shown
from webhook.kubernetes.values import Json, field, number, quantities, structs, text, texts
from webhook.schema.fielderror import ERRORS

_LABELS: Final[dict[str, str]] = DATA["deprecatedLabels"]
_VOLUMES: Final[dict[str, str]] = DATA["deprecatedVolumes"]
_NOTES: Final[dict[str, str]] = DATA["deprecatedAnnotations"]
_NAMES: Final = frozenset(DATA["shapes"]["PodSpec"])
_LISTED: Final = frozenset({*_VOLUMES, *LISTING, "ephemeral"})
"""Sources of volumes that Kubernetes may warn of."""
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_NO_POD: Final = "a null labelSelector results in matching no pod"
_BYTES: Final = ("memory", "ephemeral-storage")


def warned(
    kind: str, value: Any, path: FieldPath = ROOT, *, part: bool = False, budget: Budget | None = None
) -> list[tuple[str, str]]:
    """Kubernetes' warnings of a value of this type: the path, and the text; at most :data:`ERRORS`.

    ``part`` as for ``validate``. The texts spend the ``budget``.
    """
    if kind not in _KINDS or not isinstance(value, dict):
        return []
    warnings = _KINDS[kind](value, path)
    if not part and kind in _KINDS_OF_WHOLES:
        warnings = chain(warnings, _KINDS_OF_WHOLES[kind](value, path))
    placed: list[tuple[str, str]] = []
    for place, sentence, is_certain in warnings:
        if is_certain or not part:
            placed.append((str(place or path), sentence))
            if budget is not None:
                budget.write(sentence, placed[-1][0])
            if len(placed) == ERRORS:
                break
    return placed


def template_warnings(template: Json, at: FieldPath) -> Iterator[Warned]:
    """``GetWarningsForPodTemplate``."""
    meta, spec = field(template, "metadata") or {}, field(template, "spec") or {}
    notes = field(meta, "annotations") or {}
    for key in notes:
        if key in _NOTES:
            yield at.child("metadata", "annotations").key(key), _NOTES[key], True
    yield from _old_profiles(notes, spec, at.child("metadata", "annotations"))
    yield from pod_warnings(spec, at.child("spec"))
    yield from whole_pod_warnings(spec, at.child("spec"))


def _old_profiles(notes: Json, spec: Json, path: FieldPath) -> Iterator[Warned]:
    pod = field(spec, "securityContext") or {}
    seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    if SECCOMP_POD in notes and field(pod, "seccompProfile") is None:
        yield path.key(SECCOMP_POD), seccomp, False
    for _, container in all_containers(spec, ROOT):
        own, name = field(container, "securityContext") or {}, text(container, "name")
        if SECCOMP + name in notes and field(own, "seccompProfile") is None:
            yield path.key(SECCOMP + name), seccomp, False
        note = notes.get(APP_ARMOR + name)
        if note is not None and field(own, "appArmorProfile") is None:
            profile = field(pod, "appArmorProfile")
            if profile is None or profile != _profile(str(note)):
                yield (
                    path.key(APP_ARMOR + name),
                    'deprecated since v1.30; use the "appArmorProfile" field instead',
                    False,
                )


def _profile(note: str) -> Json | None:
    kind = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}.get(note)
    if kind:
        return {"type": kind}
    local = note.removeprefix("localhost/")
    return {"type": "Localhost", "localhostProfile": local} if local and local != note else None


def pod_warnings(spec: Json, at: FieldPath) -> Iterator[Warned]:
    """``warningsForPodSpecAndMeta``, without what needs the annotations."""
    if _NAMES.isdisjoint(spec):
        return
    for key in field(spec, "nodeSelector") or {}:
        if key in _LABELS:
            yield at.child("nodeSelector").key(key), _LABELS[key], True
    if "affinity" in spec:
        yield from affinity_warnings(field(spec, "affinity") or {}, at.child("affinity"))
    for index, spread in structs(spec, "topologySpreadConstraints"):
        path, key = at.child("topologySpreadConstraints").index(index), text(spread, "topologyKey")
        if key in _LABELS:
            yield path.child("topologyKey"), f"{key} is {_LABELS[key]}", True
        if field(spread, "labelSelector") is None:
            yield path.child("labelSelector"), _NO_POD, False
    for index, volume in structs(spec, "volumes"):
        if not _LISTED.isdisjoint(volume):
            yield from volume_warnings(volume, at.child("volumes").index(index))
    yield from _repeated(spec, at)
    if "overhead" in spec:
        yield from _fractions(quantities(spec, "overhead"), at.child("overhead"))
    for path, container in all_containers(spec, at):
        yield from container_warnings(container, path)
    if (number(spec, "terminationGracePeriodSeconds") or 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        yield at.child("terminationGracePeriodSeconds"), why, True
    for index, server in enumerate(texts(field(spec, "dnsConfig") or {}, "nameservers")):
        yield from _address(server, at.child("dnsConfig", "nameservers").index(index))
    for index, alias in structs(spec, "hostAliases"):
        yield from _address(text(alias, "ip"), at.child("hostAliases").index(index).child("ip"))


def affinity_warnings(affinity: Json, at: FieldPath) -> Iterator[Warned]:
    """Old labels of nodes, values that no label can have, and terms that select no pod."""
    yield from node_affinity_warnings(field(affinity, "nodeAffinity") or {}, at.child("nodeAffinity"))
    for key in ("podAffinity", "podAntiAffinity"):
        pod = field(affinity, key) or {}
        for index, term in structs(pod, _REQUIRED):
            if field(term, "labelSelector") is None:
                yield at.child(key, _REQUIRED).index(index).child("labelSelector"), _NO_POD, True
        for index, weighted in structs(pod, _PREFERRED):
            if field(field(weighted, "podAffinityTerm") or {}, "labelSelector") is None:
                yield at.child(key, _PREFERRED).index(index).child("podAffinityTerm", "labelSelector"), _NO_POD, True


def node_affinity_warnings(node: Json, at: FieldPath) -> Iterator[Warned]:
    required, preferred = at.child(_REQUIRED, "nodeSelectorTerms"), at.child(_PREFERRED)
    for index, term in structs(field(node, _REQUIRED) or {}, "nodeSelectorTerms"):
        yield from _term(term, required.index(index))
    for index, weighted in structs(node, _PREFERRED):
        path = preferred.index(index).child("preference")
        yield from _term(field(weighted, "preference") or {}, path, values=True)


def _term(term: Json, path: FieldPath, *, values: bool = False) -> Iterator[Warned]:
    for index, requirement in structs(term, "matchExpressions"):
        own, key = path.child("matchExpressions").index(index), text(requirement, "key")
        if key in _LABELS:
            yield own.child("key"), f"{key} is {_LABELS[key]}", True
        for place, value in enumerate(texts(requirement, "values") if values else []):
            for problem in label_value(value):
                yield own.child("values").index(place), f"{cut(value)} is invalid, {problem}", True


def volume_warnings(volume: Json, at: FieldPath) -> Iterator[Warned]:
    """Sources that are gone, fractions of a byte, files that hide others."""
    for key in _VOLUMES if not _VOLUMES.keys().isdisjoint(volume) else ():
        if field(volume, key) is not None:
            yield at.child("storageOS" if key == "storageos" else key), _VOLUMES[key], True
    if "ephemeral" in volume:
        yield from _claim_warnings(volume, at)
    if volume.keys() & LISTING:
        for warning in overlapping_paths(volume):
            yield None, warning, True


def _claim_warnings(volume: Json, at: FieldPath) -> Iterator[Warned]:
    claim = field(field(field(volume, "ephemeral") or {}, "volumeClaimTemplate") or {}, "spec") or {}
    for kind in ("requests", "limits"):
        storage = quantities(field(claim, "resources") or {}, kind).get("storage")
        if storage is not None and fractional(storage):
            path = at.child("ephemeral", "volumeClaimTemplate", "spec", "resources", kind).key("storage")
            yield path, f"fractional byte value {shown(str(storage))} is invalid, must be an integer", True


def _repeated(spec: Json, at: FieldPath) -> Iterator[Warned]:
    for key, name, noun in (("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")):
        seen: set[str] = set()
        for index, item in structs(spec, key):
            value = text(item, name)
            if value in seen:
                yield at.child(key).index(index).child(name), f"duplicate {noun} {shown(value)}", False
            seen.add(value)
            if key == "imagePullSecrets" and not value:
                yield at.child(key).index(index).child("name"), 'invalid empty name ""', True


def container_warnings(container: Json, at: FieldPath) -> Iterator[Warned]:
    return resource_warnings(field(container, "resources") or {}, at.child("resources"))


def resource_warnings(resources: Json, at: FieldPath) -> Iterator[Warned]:
    """Fractions of a byte."""
    for kind in ("limits", "requests"):
        amounts = resources.get(kind)
        if isinstance(amounts, dict):
            wanted = {name: amounts[name] for name in _BYTES if name in amounts}
            yield from _fractions(quantities({kind: wanted}, kind), at.child(kind))


def whole_pod_warnings(spec: Json, at: FieldPath) -> Iterator[Warned]:
    """Variables and ports that hide others: none of them is certain in a part."""
    containers = list(all_containers(spec, at))
    for path, container in containers:
        yield from hidden_variables(container, path)
    yield from conflicting_ports(containers)


def hidden_variables(container: Json, at: FieldPath) -> Iterator[Warned]:
    """Variables of a container that hide others."""
    variables = container.get("env") or ()
    try:
        if len({variable["name"] for variable in variables}) == len(variables):
            return
    except (KeyError, TypeError):
        pass  # of the wrong type, or absent
    seen: set[str] = set()
    for index, variable in structs(container, "env"):
        name, value = text(variable, "name"), text(variable, "value")
        reference = f"$({name})"
        extends = reference in value and value != reference and field(variable, "valueFrom") is None
        if name in seen and not extends:
            why = f"hides previous definition of {shown(name)}, which may be dropped when using apply"
            yield at.child("env").index(index), why, False
        seen.add(name)


def _fractions(amounts: Json, path: FieldPath) -> Iterator[Warned]:
    for name in _BYTES:
        amount = amounts.get(name)
        if amount is not None and fractional(amount):
            yield path.key(name), f"fractional byte value {shown(str(amount))} is invalid, must be an integer", True


def _address(value: str, path: FieldPath) -> Iterator[Warned]:
    try:
        printed = str(parse_address(value))
    except GoError:
        return
    if ":" in value and printed != value:
        yield path, f"IPv6 address {shown(value)} should be in RFC 5952 canonical format ({shown(printed)})", True


_KINDS: Final[Mapping[str, Callable[[Json, FieldPath], Iterator[Warned]]]] = {
    "PodTemplateSpec": template_warnings,
    "PodSpec": pod_warnings,
    "Container": container_warnings,
    "InitContainer": container_warnings,
    "Volume": volume_warnings,
    "Affinity": affinity_warnings,
    "NodeAffinity": node_affinity_warnings,
    "ResourceRequirements": resource_warnings,
}

_KINDS_OF_WHOLES: Final[Mapping[str, Callable[[Json, FieldPath], Iterator[Warned]]]] = {
    "PodSpec": whole_pod_warnings,
    "Container": hidden_variables,
    "InitContainer": hidden_variables,
}
"""What only the whole shows."""
