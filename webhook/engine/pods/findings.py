"""What Kubernetes says of the pods in an object: the operator's Deployment or Job would get the same answer, later.

It is a source of findings of its own: the API server does not give it for a custom resource.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from webhook.admission import Cause, Warn, cut_end
from webhook.engine.findings import Findings
from webhook.engine.options import Options
from webhook.engine.rules import MAX_FINDINGS, MESSAGE
from webhook.policy import Prepared, Profile
from webhook.schema import FieldError
from webhook.schema.pods import Place, Spot, spots, validate, warned

__all__ = ["POD_CODES", "pod_findings"]

REFUSED: Final = "KP001"
"""Kubernetes refuses the pods."""

WARNED: Final = "KP002"
"""Kubernetes accepts the pods with a warning."""

POD_CODES: Final = (REFUSED, WARNED)

_INDEX: Final = re.compile(r"\[[0-9]+\]")
_LAST_INDEX: Final = re.compile(r"\[[0-9]+\]\Z")


def pod_findings(
    prepared: Prepared, obj: dict[str, Any], old: dict[str, Any] | None, refused: Collection[str], options: Options
) -> Findings:
    """Findings about the pods of an object, :data:`MAX_FINDINGS` of each sort. ``old`` is what is stored.

    What Kubernetes refuses is a denial under the strict profile, unless the stored object has the same fault, and a
    warning under others. Nothing is said of fields that the schema has ``refused``, or of the items of such a list.
    """
    findings, place = Findings(), prepared.pods
    if place is None:
        return findings
    owner, old_faults = prepared.policy.pod_owner, None
    for spot in spots(place, obj):
        for error in _errors(spot, owner):
            if error.field in refused or _LAST_INDEX.sub("", error.field) in refused:
                continue
            text = cut_end(error.body(), MESSAGE)
            if options.profile is not Profile.STRICT:
                findings.warnings.append(Warn(error.field, text, REFUSED))
                continue
            if old_faults is None:
                old_faults = frozenset() if old is None else _faults(place, old, owner)
            if _fault(error) in old_faults:
                why = f"{text} (not refused, because this update does not change it)"
                findings.notices.append(Warn(error.field, why, REFUSED))
            else:
                findings.causes.append(Cause(error.field, error.type, text, REFUSED))
        for field, text in warned(spot.place.kind, spot.value, spot.path, part=not spot.place.whole):
            findings.warnings.append(Warn(field, cut_end(text, MESSAGE), WARNED))
        if _is_full(findings):
            break
    return findings


def _is_full(findings: Findings) -> bool:
    """Whether there are enough findings of one sort; what is too much of a sort is cut."""
    full = False
    for found in (findings.causes, findings.notices, findings.warnings):
        full = full or len(found) >= MAX_FINDINGS
        del found[MAX_FINDINGS:]
    return full


def _errors(spot: Spot, owner: str) -> list[FieldError]:
    place = spot.place
    return validate(
        place.kind, spot.value, spot.path, part=not place.whole, templates=True, owner=owner, runners=place.runners
    )


def _faults(place: Place, obj: dict[str, Any], owner: str) -> frozenset[tuple[str, str, str]]:
    return frozenset(fault for spot in spots(place, obj) for fault in _each_fault(spot, owner))


def _each_fault(spot: Spot, owner: str) -> Iterator[tuple[str, str, str]]:
    return map(_fault, _errors(spot, owner))


def _fault(error: FieldError) -> tuple[str, str, str]:
    """An error without the indexes of its field: an item of a list may move."""
    return error.type, _INDEX.sub("[]", error.field), error.body()
