"""What Kubernetes says of the pods in an object: the operator's Deployment or Job would get the same answer, later.

It is a source of findings of its own: the API server does not give it for a custom resource.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from webhook.admission import Cause, Warn, cut_end
from webhook.engine.findings import MAX_FINDINGS, MESSAGE, Findings
from webhook.engine.options import Options
from webhook.engine.pods.seen import RIGHT
from webhook.engine.pods.whole import JudgedPod, PodFault
from webhook.facts import Wholes
from webhook.kubernetes import Place, Spot, parts, spots, validate, warned
from webhook.policy import Prepared, Profile
from webhook.schema import FieldError

REFUSED: Final = "KP001"
"""Kubernetes refuses the pods."""

WARNED: Final = "KP002"
"""Kubernetes accepts the pods with a warning."""

POD_CODES: Final = (REFUSED, WARNED)

WholesOf = Callable[[dict[str, Any]], Wholes]
"""The pods that an operator makes of an object."""
_NO_WHOLES: Final = Wholes(())

_INDEX: Final = re.compile(r"\[[0-9]+\]")
_LAST_INDEX: Final = re.compile(r"\[[0-9]+\]\Z")


def pod_findings(
    prepared: Prepared,
    obj: dict[str, Any],
    old: dict[str, Any] | None,
    refused: Collection[str],
    options: Options,
    wholes: WholesOf | None,
) -> Findings | None:
    """Findings about the pods of an object, :data:`MAX_FINDINGS` of each sort; None without pods. ``old`` is stored.

    What Kubernetes refuses is a denial under the strict profile, unless the stored object has the same fault, and a
    warning under others. Nothing is said of fields that the schema has ``refused``, or of the items of such a list.
    ``wholes`` makes the pods of an object and of those that complete it; None if nothing does.
    """
    place = prepared.pods
    if place is None:
        return None
    owner, old_faults = prepared.policy.pod_owner, None
    faults, warnings = _judged(place, obj, owner, wholes)
    if not faults and not warnings:
        return None
    findings = Findings()
    for fault in faults:
        if fault.field in refused or _LAST_INDEX.sub("", fault.field) in refused:
            continue
        text = cut_end(fault.text, MESSAGE)
        if options.profile is not Profile.STRICT:
            findings.warnings.append(Warn(fault.field, text, REFUSED))
            continue
        if old_faults is None:
            stored = [] if old is None else _judged(place, old, owner, wholes)[0]
            old_faults = frozenset(map(_unplaced, stored))
        if _unplaced(fault) in old_faults:
            why = f"{text} (not refused, because this update does not change it)"
            findings.notices.append(Warn(fault.field, why, REFUSED))
        else:
            findings.causes.append(Cause(fault.field, fault.reason, text, REFUSED))
    findings.warnings += [Warn(field, cut_end(text, MESSAGE), WARNED) for field, text in warnings]
    for sort in (findings.causes, findings.notices, findings.warnings):
        del sort[MAX_FINDINGS:]
    return findings


def _judged(
    place: Place, obj: dict[str, Any], owner: str, wholes: WholesOf | None
) -> tuple[list[PodFault], list[tuple[str, str]]]:
    """What Kubernetes refuses, and what it warns of. An object whose pods were right is not judged again."""
    written = parts(place, obj)
    merged = _NO_WHOLES if wholes is None else wholes(obj)
    if written is None and not merged.pods:
        return [], []
    key = RIGHT.key(owner, merged.read, written)
    if RIGHT.has(key, place, merged.other):
        return [], []
    pods = [JudgedPod(whole, owner) for whole in merged.pods]
    faults, warnings = _of_parts_and_pods(place, obj, owner, pods)
    if not faults and not warnings and not any(pod.uses_volumes for pod in pods):
        RIGHT.add(key, place, merged.other)
    return faults, warnings


def _of_parts_and_pods(
    place: Place, obj: dict[str, Any], owner: str, pods: Sequence[JudgedPod]
) -> tuple[list[PodFault], list[tuple[str, str]]]:
    """What Kubernetes says of the parts, and then of the ``pods``. After :data:`MAX_FINDINGS` it is not asked further.

    A whole that is right has no part that is wrong, so its part is not judged.
    """
    faults: list[PodFault] = []
    warnings: list[tuple[str, str]] = []
    right = {pod.whole.path for pod in pods if pod.is_right}
    for spot in spots(place, obj):
        if str(spot.path) not in right:
            errors, of_part = _of_part(spot, owner)
            faults += [PodFault(error.type, error.field, error.body()) for error in errors]
            warnings += of_part
            if len(faults) >= MAX_FINDINGS:
                return faults, warnings
    of_parts = {(fault.field, fault.text) for fault in faults}.union(warnings)
    for pod in pods:
        faults += dict.fromkeys(pod.faults(of_parts))
        warnings += dict.fromkeys(pod.warnings_besides(of_parts))
    return faults, warnings


def _of_part(spot: Spot, owner: str) -> tuple[list[FieldError], list[tuple[str, str]]]:
    """The errors and the warnings of a part."""
    kind, runners, part = spot.place.kind, spot.place.runners, not spot.place.whole
    errors = validate(kind, spot.value, spot.path, part=part, templates=True, owner=owner, runners=runners)
    return errors, warned(kind, spot.value, spot.path, part=part)


def _unplaced(fault: PodFault) -> tuple[str, str, str]:
    """A fault without the indexes of its field: an item of a list may move."""
    return fault.reason, _INDEX.sub("[]", fault.field), fault.text
