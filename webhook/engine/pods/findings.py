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
from webhook.engine.pods.whole import Fault, Pod
from webhook.facts import Whole, Wholes
from webhook.kubernetes import Place, Spot, is_clean, parts, spots, validate, warned
from webhook.policy import Prepared, Profile
from webhook.schema import FieldError

__all__ = ["POD_CODES", "pod_findings"]

REFUSED: Final = "KP001"
"""Kubernetes refuses the pods."""

WARNED: Final = "KP002"
"""Kubernetes accepts the pods with a warning."""

POD_CODES: Final = (REFUSED, WARNED)

WholesOf = Callable[[dict[str, Any]], Wholes]
"""The pods that an operator makes of an object."""

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
    for found in (findings.causes, findings.notices, findings.warnings):
        del found[MAX_FINDINGS:]
    return findings


def _judged(
    place: Place, obj: dict[str, Any], owner: str, wholes: WholesOf | None
) -> tuple[list[Fault], list[tuple[str, str]]]:
    """What Kubernetes refuses, and what it warns of.

    What was right is remembered only of pods that are merged, and of what the fast way does not know.
    """
    whole = None if wholes is None else wholes(obj)
    pods, other, read = ((), None, "") if whole is None else (whole.pods, whole.other, whole.read)
    if not pods and _are_clean(place, obj, owner, ()):
        return [], []
    key = RIGHT.key(owner, read, parts(place, obj))
    if RIGHT.has(key, place, other):
        return [], []
    unsure, clean = list[Whole](), dict[int, Whole]()
    for each in pods:
        if is_clean("PodSpec", each.pod, False, owner):
            clean[id(each.given)] = each
        else:
            unsure.append(each)
    exact = [Pod(each, owner) for each in unsure]
    found = list[Fault](), list[tuple[str, str]]()
    if unsure or not pods or not _are_clean(place, obj, owner, clean):
        found = _looked_at(place, obj, owner, exact, {each.path for each in clean.values()})
    if not any(found) and not any(pod.uses_volumes for pod in exact):
        RIGHT.add(key, place, other)
    return found


def _are_clean(place: Place, value: Any, owner: str, wholes: Collection[int]) -> bool:
    """Whether all parts are clean. A node of a whole that is clean, by its identity, is not looked at."""
    if (
        place.kind
        and id(value) not in wholes
        and not is_clean(place.kind, value, not place.whole, owner, place.runners)
    ):
        return False
    each = place.each
    if value.__class__ is dict:
        if each is not None:
            return all(_are_clean(place.children.get(key, each), item, owner, wholes) for key, item in value.items())
        for key, below in place.children.items():
            if key in value and not _are_clean(below, value[key], owner, wholes):
                return False
    elif each is not None and value.__class__ is list:
        return all(_are_clean(each, item, owner, wholes) for item in value)
    return True


def _looked_at(
    place: Place, obj: dict[str, Any], owner: str, pods: Sequence[Pod], clean: Collection[str]
) -> tuple[list[Fault], list[tuple[str, str]]]:
    """What the exact way says: first of the parts, and then of the ``pods``. ``clean`` are the paths of others.

    A whole that is right has no part that is wrong, so its part is not looked at. Enough are :data:`MAX_FINDINGS`.
    """
    faults, warnings = list[Fault](), list[tuple[str, str]]()
    right = {pod.whole.path for pod in pods if pod.is_right}.union(clean)
    for spot in spots(place, obj):
        if spot.path not in right:
            errors, told = _of_part(spot, owner)
            faults += [Fault(each.type, each.field, each.body()) for each in errors]
            warnings += told
            if len(faults) >= MAX_FINDINGS:
                return faults, warnings
    said = {(fault.field, fault.text) for fault in faults}.union(warnings)
    for pod in pods:
        faults += dict.fromkeys(pod.faults(said))
        warnings += dict.fromkeys(pod.notes(said))
    return faults, warnings


def _of_part(spot: Spot, owner: str) -> tuple[list[FieldError], list[tuple[str, str]]]:
    """The errors and the warnings of a part."""
    kind, runners, part = spot.place.kind, spot.place.runners, not spot.place.whole
    errors = validate(kind, spot.value, spot.path, part=part, templates=True, owner=owner, runners=runners)
    return errors, warned(kind, spot.value, spot.path, part=part)


def _unplaced(fault: Fault) -> tuple[str, str, str]:
    """A fault without the indexes of its field: an item of a list may move."""
    return fault.reason, _INDEX.sub("[]", fault.field), fault.text
