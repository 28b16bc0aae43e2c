"""Metadata of a pod: labels are data; annotations, and those that say what fields say today."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from webhook.golang.errors import GoError
from webhook.golang.names import label_key
from webhook.golang.strconv import parse_int
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.formats import relative_path
from webhook.kubernetes.judge import Judge, walk
from webhook.kubernetes.shown import shown
from webhook.kubernetes.values import Json, field, structs, text, texts
from webhook.schema import annotations_size
from webhook.schema.fielderror import FieldError, forbidden, invalid

SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_MIRROR: Final = "kubernetes.io/config.mirror"
_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_LOCAL: Final = "localhost/"
_DEFAULTS: Final = ("runtime/default", "docker/default")


def check_annotations(judge: Judge, meta: Json, path: FieldPath) -> None:
    """``ValidateAnnotations``."""
    notes = field(meta, "annotations") or {}
    for key in notes:
        judge.add_invalid(label_key(key.lower()), key, path)
    for error in annotations_size(_texts(notes), path):
        judge.add(error)


def check_finalizers(judge: Judge, meta: Json) -> None:
    """``ValidateFinalizerName`` of a built-in kind: a name of Kubernetes, or one with a domain."""
    for index, name in enumerate(texts(meta, "finalizers")):
        if "/" not in name and name not in _FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            judge.add(invalid(ROOT.child("metadata", "finalizers").index(index), name, why))


_FINALIZERS: Final = ("foregroundDeletion", "kubernetes", "orphan")


def _texts(notes: Json) -> dict[str, str]:
    return {key: note if isinstance(note, str) else "" for key, note in notes.items()}


def check_pod_annotations(judge: Judge, meta: Json, spec: Json, path: FieldPath) -> None:
    """``ValidatePodSpecificAnnotations``."""
    notes = _texts(field(meta, "annotations") or {})
    if _MIRROR in notes and not text(spec, "nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        judge.add(invalid(path.key(_MIRROR), notes[_MIRROR], why), only_if_complete=True)
    if notes.get(_TOLERATIONS):
        _check_tolerations(judge, notes[_TOLERATIONS], path)
    if _COST in notes and not _is_cost(notes[_COST]):
        judge.add(invalid(path.key(_COST), notes[_COST], "must be a 32bit integer"))
    names = {text(container, "name") for _, container in all_containers(spec, ROOT)}
    for key, note in notes.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP):
            judge.add_invalid(_seccomp_problems(note), note.removeprefix(_LOCAL), path, key)
        elif key.startswith(APP_ARMOR):
            name = key.removeprefix(APP_ARMOR)
            if name not in names:
                judge.add(invalid(path.key(key), name, "container not found"), only_if_complete=True)
            if note not in ("", "runtime/default", "unconfined") and not note.startswith(_LOCAL):
                why = f"invalid AppArmor profile name: {shown(note)}"
                judge.add(invalid(path.key(key), note, why), only_if_complete=True)


def _check_tolerations(judge: Judge, note: str, path: FieldPath) -> None:
    """Of texts that are not a list of objects, only those that end too early are judged."""
    try:
        items: Any = json.loads(note)
    except json.JSONDecodeError as error:
        if error.pos == len(note):
            judge.add(invalid(path, _TOLERATIONS, "unexpected end of JSON input"))
        return
    except (RecursionError, ValueError):
        return
    for index, item in structs({"items": items}, "items"):
        walk(judge, "Toleration", item, path.child(_TOLERATIONS).index(index))


def _is_cost(value: str) -> bool:
    first = value[:1]
    try:
        return (first in ("-", *"123456789") or value == "0") and -(2**31) <= parse_int(value) < 2**31
    except GoError:
        return False


def _seccomp_problems(note: str) -> list[str]:
    if note in (*_DEFAULTS, "unconfined"):
        return []
    if note.startswith(_LOCAL):
        return relative_path(note.removeprefix(_LOCAL))
    return ["must be a valid seccomp profile"]


def all_containers(spec: Json, at: FieldPath, runners: tuple[str, ...] = ()) -> Iterator[tuple[FieldPath, Json]]:
    """Every container with its path, in the order of ``VisitContainersWithPath``, then the ``runners``."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        if key in spec:
            path = at.child(key)
            for index, container in structs(spec, key):
                yield path.index(index), container
    for key in runners:
        runner = field(spec, key)
        if runner is not None:
            yield at.child(key), runner


def check_old_profiles(judge: Judge, meta: Json, spec: Json, at: FieldPath) -> None:
    """Annotations of seccomp and AppArmor must say the same as the fields."""
    notes = _texts(field(meta, "annotations") or {})
    if not any(key == SECCOMP_POD or key.startswith((SECCOMP, APP_ARMOR)) for key in notes):
        return
    pod = field(spec, "securityContext") or {}
    if SECCOMP_POD in notes:
        _match(
            judge,
            "seccomp",
            notes[SECCOMP_POD],
            field(pod, "seccompProfile"),
            at.child("securityContext", "seccompProfile"),
        )
    windows = text(field(spec, "os") or {}, "name") == "windows"
    for path, container in all_containers(spec, at):
        name, own = text(container, "name"), field(container, "securityContext") or {}
        if SECCOMP + name in notes:
            where = path.child("securityContext", "seccompProfile")
            _match(judge, "seccomp", notes[SECCOMP + name], field(own, "seccompProfile"), where)
        if APP_ARMOR + name in notes and not windows:
            profile = field(own, "appArmorProfile") or field(pod, "appArmorProfile")
            _match(
                judge, "apparmor", notes[APP_ARMOR + name], profile, path.child("securityContext", "appArmorProfile")
            )


def is_local(note: str, profile: Any) -> bool:
    """Whether an annotation names this profile of the node; without a copy of it, which each container would make."""
    has_length = isinstance(profile, str) and len(note) == len(_LOCAL) + len(profile)
    return has_length and note.startswith(_LOCAL) and note.endswith(profile)


def _match(judge: Judge, noun: str, note: str, profile: Json | None, at: FieldPath) -> None:
    kind = text(profile or {}, "type")
    wrong: FieldError | None = None
    if kind == "Localhost" and note.startswith(_LOCAL):
        if not is_local(note, (profile or {}).get("localhostProfile")):
            wrong = forbidden(at.child("localhostProfile"), f"{noun} profile in annotation and field must match")
    elif kind in ("Localhost", "Unconfined", "RuntimeDefault"):
        defaults = _DEFAULTS if noun == "seccomp" else _DEFAULTS[:1]
        fits = {"Unconfined": note == "unconfined", "RuntimeDefault": note in defaults}.get(kind, False)
        wrong = None if fits else forbidden(at.child("type"), f"{noun} type in annotation and field must match")
    if wrong is not None:
        judge.add(wrong)
