"""Write stamps, and check those that come: a stamp that ``mutate`` would not have written is refused.

A stamp has no key, so anyone may write one, and it stays in the object while the mutating webhook is missed. The check
computes again what ``mutate`` would have written. It runs only for a stamp that states something new: one that matches
the specification, and that is neither stored already for it nor written by this process for the same request. See
docs/decisions.md, record 42.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webhook.admission import Cause, Decision, Request, Warn
from webhook.admission.stamp import ANNOTATION, Stamp, canonical
from webhook.catalog import Catalog, KnownKind
from webhook.cluster import ClusterView
from webhook.engine.bound import over_bound
from webhook.engine.filling.defaulting import Normalised, normalise
from webhook.engine.judgement import Judgement, judge
from webhook.engine.options import Options
from webhook.engine.scope import scope_of
from webhook.policy import PolicyScope, Profile

__all__ = ["normalised", "stamp_of", "stamped", "tolerated", "with_checked_stamp"]

FIELD = f"metadata.annotations[{ANNOTATION}]"


def normalised(
    kind: KnownKind, request: Request, obj: dict[str, Any], catalog: Catalog, view: ClusterView, options: Options
) -> Normalised:
    """The request's object with every default."""
    old, prepared = request.old_object, catalog.prepared(kind)

    def scope(current: dict[str, Any]) -> PolicyScope:
        return scope_of(kind, prepared, request, current, old, view, options.settings)

    return normalise(kind, prepared, obj, scope, old)


def tolerated(
    judgement: Judgement, request: Request, catalog: Catalog, view: ClusterView, options: Options
) -> tuple[Cause, ...]:
    """What is wrong with an object that ratcheting alone lets pass; ``judgement`` is of the request.

    Its stamp matches nothing, so a reader of stamped objects never acts on it. The stored stamp does not help: it may
    have been forged while the gate was missed.
    """
    if not options.profile.denies:
        return ()
    if judgement.hidden or not judgement.spared:
        return judgement.hidden
    options = replace(options, strict_fields=False)  # whatever is stored has no unknown field
    return judge(replace(request, operation="CREATE", old_object=None), catalog, view, options).decision.causes


def stamp_of(result: Normalised, catalog: Catalog, profile: Profile, *, valid: bool) -> Stamp:
    if valid:
        return Stamp.of(result.object, catalog.digest, result.recorded, profile)
    return Stamp.of_tolerated(catalog.digest, result.recorded, profile)


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


def with_checked_stamp(
    judgement: Judgement, request: Request, catalog: Catalog, view: ClusterView, options: Options
) -> Decision:
    """The decision with what is wrong with the stamp: a cause under strict, else a warning."""
    decision = judgement.decision
    kind = judgement.kind
    if kind is None or kind.foreign or decision.causes or options.written(request):
        return decision
    stamp = _new_claim(request)
    if stamp is None:
        return decision
    options.checkpoint("stamp")
    why = _falsehood(kind, stamp, judgement, request, catalog, view, options)
    if why and options.profile is Profile.STRICT:
        return replace(decision, causes=(Cause(FIELD, "FieldValueForbidden", f"Forbidden: {why}"),))
    why = why or _label_mismatch(stamp, catalog, options)
    return replace(decision, warnings=(*decision.warnings, Warn(FIELD, why))) if why else decision


def _new_claim(request: Request) -> Stamp | None:
    """The stamp, if it says of this specification what the stored object does not."""
    if request.object is None:
        return None
    stamp = Stamp.read(request.object)
    if stamp is None or not stamp.spec or not stamp.matches(request.object):
        return None
    stored = None if request.old_object is None else Stamp.read(request.old_object)
    if stored == stamp and request.old_object is not None and stamp.matches(request.old_object):
        return None
    return stamp


def _falsehood(
    kind: KnownKind,
    stamp: Stamp,
    judgement: Judgement,
    request: Request,
    catalog: Catalog,
    view: ClusterView,
    options: Options,
) -> str:
    """Why ``mutate`` would not have written the stamp; empty if it would."""
    assert request.object is not None
    start, end = "is not the stamp that Modelgate writes for this object: ", "; remove the annotation and apply again"
    if over_bound(kind, request) is not None:
        return f"{start}the object is too large to be judged{end}"
    result = normalised(kind, request, request.object, catalog, view, options)
    if result.too_costly or not stamp.matches(result.object):
        return f"{start}defaults are missing{end}"
    if canonical(result.recorded) != canonical(stamp.defaulted):
        return f"{start}its record of defaults is wrong{end}"
    if tolerated(judgement, request, catalog, view, options):
        return f"{start}the object is invalid, and only passes because it is stored like this{end}"
    return ""


def _label_mismatch(stamp: Stamp, catalog: Catalog, options: Options) -> str:
    """Another catalog or profile than this gate's. Replicas differ during a rollout, so it never refuses."""
    if stamp.catalog != catalog.digest:
        return f'is of catalog "{stamp.catalog}", but this gate has catalog {catalog.digest}'
    if stamp.profile != options.profile:
        return f'is of profile "{stamp.profile}", but this gate judges by profile {options.profile}'
    return ""
