"""Write stamps, and check those that come: a stamp that ``mutate`` would not have written is refused.

A stamp has no key, so anyone may write one, and it stays in the object while the mutating webhook is missed. The check
computes again what ``mutate`` would have written. It runs only for a stamp that states something new: one that matches
the specification, and that is neither stored already for it nor written by this process for the same request. See
docs/decisions.md, record 42.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webhook.admission import Cause, Decision, Warn
from webhook.admission.stamp import ANNOTATION, Stamp, canonical
from webhook.catalog import Catalog
from webhook.engine.filling.defaulting import Normalised, normalise
from webhook.engine.judgement import RatchetedDecision, judge
from webhook.engine.review import ObjectReview
from webhook.policy import Profile

FIELD = f"metadata.annotations[{ANNOTATION}]"


def tolerated(judged: RatchetedDecision, review: ObjectReview) -> tuple[Cause, ...]:
    """What is wrong with an object that ratcheting alone lets pass; ``judged`` is of the same review.

    Its stamp matches nothing, so a reader of stamped objects never acts on it. The stored stamp does not help: it may
    have been forged while the gate was missed.
    """
    if judged.spared:
        return judged.hidden or judge(review.as_created()).decision.causes
    return judged.hidden if judged.hidden and review.strictness().profile.denies else ()


def stamp_of(result: Normalised, catalog: Catalog, *, valid: bool) -> Stamp:
    if valid:
        return Stamp.of(result.object, catalog.digest, result.recorded)
    return Stamp.of_tolerated(catalog.digest, result.recorded)


def stamped(obj: dict[str, Any], stamp: Stamp) -> dict[str, Any]:
    """The object with the stamp; the object itself if it carries that stamp already."""
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict | None):
        return obj  # it cannot carry an annotation: the API server refuses it
    text = stamp.encode()
    if annotations and annotations.get(ANNOTATION) == text:
        return obj
    return {**obj, "metadata": {**metadata, "annotations": {**(annotations or {}), ANNOTATION: text}}}


def with_checked_stamp(judged: RatchetedDecision, review: ObjectReview) -> Decision:
    """The decision with what is wrong with the stamp: a cause under strict, else a warning."""
    decision = judged.decision
    if review.kind.foreign or decision.causes or review.options.written(review.request):
        return decision
    stamp = _new_claim(review)
    if stamp is None:
        return decision
    why = _falsehood(stamp, judged, review)
    if why and review.strictness().profile is Profile.STRICT:
        return replace(decision, causes=(Cause(FIELD, "FieldValueForbidden", f"Forbidden: {why}"),))
    why = why or _label_mismatch(stamp, review)
    return replace(decision, warnings=(*decision.warnings, Warn(FIELD, why))) if why else decision


def _new_claim(review: ObjectReview) -> Stamp | None:
    """The stamp, if it says of this specification what the stored object does not."""
    stamp, old = Stamp.matching(review.obj), review.old
    return None if stamp is None or (old is not None and Stamp.matching(old) == stamp) else stamp


def _falsehood(stamp: Stamp, judged: RatchetedDecision, review: ObjectReview) -> str:
    """Why ``mutate`` would not have written the stamp; empty if it would."""
    start, end = "is not the stamp that Modelgate writes for this object: ", "; remove the annotation and apply again"
    if review.too_large is not None:
        return f"{start}the object is too large to be judged{end}"
    result = normalise(review)
    if result.too_costly or not stamp.matches(result.object):
        return f"{start}defaults are missing{end}"
    if canonical(result.recorded) != canonical(stamp.defaulted):
        return f"{start}its record of defaults is wrong{end}"
    if tolerated(judged, review):
        return f"{start}the object is invalid, and only passes because it is stored like this{end}"
    return ""


def _label_mismatch(stamp: Stamp, review: ObjectReview) -> str:
    """Another catalog than this gate's. Replicas differ during a rollout, so it never refuses."""
    digest = review.catalog.digest
    return "" if stamp.catalog == digest else f'is of catalog "{stamp.catalog}", but this gate has catalog {digest}'
