"""What Kubernetes says of the pods in an object: the operator's Deployment or Job would get the same answer, later.

It is a source of findings of its own: the API server does not give it for a custom resource.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from webhook.admission import Warn, cut_end
from webhook.cluster import Notes
from webhook.engine.findings import MAX_FINDINGS, Findings, findings_of_faults
from webhook.engine.pods.whole import REFUSED, KubernetesJudge, PodFault
from webhook.engine.review import ObjectReview, Subject
from webhook.engine.seen import RIGHT, json_of
from webhook.ground.fieldpath import field_keys
from webhook.kubernetes import LINE, Place, Spot, faults_of, parts, spots
from webhook.policy import Profile, is_above

WARNED: Final = "KP002"
"""Kubernetes accepts the pods with a warning."""

POD_CODES: Final = (REFUSED, WARNED)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedParts:
    """The ``paths`` of the parts of one object that are judged in its children; ``*`` is any key.

    One that ends with "" is of this node alone. The value itself stands for the object: an equal one has the same.
    """

    paths: frozenset[tuple[str | int, ...]] = frozenset()


_Said: TypeAlias = tuple[list[PodFault], list[tuple[str, str]]]
"""What Kubernetes refuses, and what it warns of: fields and texts."""

_OF_OBJECT: Final = (b"its parts",)
"""The key of an object that is known by what is judged of it."""

_LAST_INDEX: Final = re.compile(r"\[[0-9]+\]\Z")


def pod_findings(subject: Subject, judged: JudgedParts | None = None) -> Findings | None:
    """Findings about the pods of an object, :data:`MAX_FINDINGS` of each sort; None without pods.

    The ``judged`` parts are left out; None if the object has no children.

    What Kubernetes refuses is a denial under the strict profile, unless the stored object has the same fault, and a
    warning under others. Nothing is said of fields that the schema has refused, or of the items of such a list.

    Raises:
        SpentError, DeadlineExceeded: from the budget of the review.
    """
    review, refused = subject.review, subject.refused
    place = review.prepared.pods
    if place is None:
        return None
    faults, warnings = _remembered(review, place, subject.obj, judged)
    if not faults and not warnings:
        return None
    left = (one for one in faults if one.field not in refused and _LAST_INDEX.sub("", one.field) not in refused)
    denies = bool(review.strictness().denies(REFUSED, {Profile.STRICT}))
    findings = findings_of_faults(
        left,
        lambda _: denies,
        lambda: _judged(review, place, subject.old, judged)[0],
        review.budget,
    )
    findings.warnings += [Warn(field, cut_end(text, LINE), WARNED) for field, text in warnings]
    del findings.warnings[MAX_FINDINGS:]
    return findings


def _remembered(review: ObjectReview, place: Place, obj: dict[str, Any], judged: JudgedParts | None) -> _Said:
    """What Kubernetes says of the parts of an object. One whose parts were right is not judged again."""
    if judged is None:
        written = parts(place, obj)
        if written is None:
            return [], []
        key = (json_of(review.prepared.policy.pod_owner, written),)
    else:
        key = _OF_OBJECT
    if RIGHT.verdict(key, review.view, place, judged):
        return [], []
    faults, warnings = _judged(review, place, obj, judged)
    if not faults and not warnings:
        RIGHT.add(key, Notes(), True, place, judged)
    return faults, warnings


def _judged(review: ObjectReview, place: Place, obj: dict[str, Any] | None, judged: JudgedParts | None) -> _Said:
    """What Kubernetes refuses, and what it warns of. After :data:`MAX_FINDINGS` it is not asked further."""
    faults: list[PodFault] = []
    warnings: list[tuple[str, str]] = []
    judge = KubernetesJudge(review.prepared.policy.pod_owner, review.budget)
    for spot in _left(place, obj, judged):
        faults += map(PodFault.of, faults_of(judge.errors_of_part(spot), review.budget))
        if len(warnings) < MAX_FINDINGS:
            warnings += judge.warnings_of_part(spot)
        if len(faults) >= MAX_FINDINGS:
            break
    return faults, warnings


def _left(place: Place, obj: dict[str, Any] | None, judged: JudgedParts | None) -> Iterator[Spot]:
    """The parts of pods of an object that are not judged otherwise."""
    paths = () if judged is None else judged.paths
    for spot in spots(place, obj):
        keys = field_keys(str(spot.path))
        if not any(is_above(path, [*keys, ""]) if path[-1:] == ("",) else is_above(path, keys) for path in paths):
            yield spot
