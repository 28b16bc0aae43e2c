"""The decisions about one request: ``mutate`` fills in defaults and stamps the object, ``validate`` names its faults.

Kubernetes' own policies take part in both, as they would in a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.admission import Decision, Default, Request, Warn, escaped, patch
from webhook.admission.stamp import ANNOTATION, UNSTAMPED
from webhook.catalog import Catalog
from webhook.cluster import ClusterView
from webhook.engine.filling.defaulting import normalise
from webhook.engine.filling.stamping import stamp_of, stamped, tolerated, with_checked_stamp
from webhook.engine.findings import refusals_as_warnings
from webhook.engine.judgement import judge
from webhook.engine.options import DEFAULT_OPTIONS, Options
from webhook.engine.review import ObjectReview, refusal_of, review_of
from webhook.engine.rules import fault_cause
from webhook.ground.budget import SpentError
from webhook.policy import PolicyFault

_STAMP: Final = ("metadata", "annotations", ANNOTATION)


def mutate(request: Request, catalog: Catalog, view: ClusterView, options: Options = DEFAULT_OPTIONS) -> Decision:
    """The object with every default, and the stamp. Only a native policy may refuse here.

    The order is a cluster's: native policies run first, then Modelgate, as a webhook. If Modelgate changes the object,
    policies that allow reinvocation run again; if they change it, Modelgate runs again, too.

    Raises:
        Malformed: the request names a resource that is not the kind's.
        Fault: a rule could not be evaluated.
        DeadlineExceeded: from ``options.checkpoint``.
    """
    if options.native is None or not options.native.may_mutate(request):
        return _defaulted(request.object, review_of(request, catalog, view, options))
    decisions: list[Decision] = []

    def webhook(obj: dict[str, Any] | None) -> dict[str, Any] | None:
        given = request if obj is request.object else replace(request, object=obj, size=0)
        decisions.append(_defaulted(obj, review_of(given, catalog, view, options)))
        return decisions[-1].object

    verdict = options.native.mutate(request, options.checkpoint, webhook)
    if verdict.allowed:
        return _merged(decisions, verdict.object, catalog)
    if not options.profile.denies:
        decision = _defaulted(request.object, review_of(request, catalog, view, options))
        return replace(decision, warnings=(*refusals_as_warnings(verdict.causes), *decision.warnings))
    return Decision(request.object, verdict.causes)


def validate(request: Request, catalog: Catalog, view: ClusterView, options: Options = DEFAULT_OPTIONS) -> Decision:
    """Everything that is wrong with the object, and everything its user should know: by Modelgate's rules, by its
    stamp, and by native policies.

    Raises:
        Malformed, Fault, DeadlineExceeded: as :func:`mutate`.
    """
    review = review_of(request, catalog, view, options)
    decision = Decision(request.object) if review is None else _judged(review)
    if options.native is None or not options.native.may_validate(request):
        return decision
    verdict = options.native.validate(request, options.checkpoint)
    refused, warnings = verdict.causes, (*decision.warnings, *verdict.warnings)
    if not options.profile.denies:
        refused, warnings = (), (*refusals_as_warnings(refused), *warnings)
    audit = {**decision.audit, **verdict.annotations}
    return replace(decision, causes=(*decision.causes, *refused), warnings=warnings, audit=audit)


def _judged(review: ObjectReview) -> Decision:
    """What Modelgate's own rules say of the object and of its stamp."""
    try:
        return with_checked_stamp(judge(review), review)
    except SpentError as error:
        review = review._replace(too_large=refusal_of(error))
        return with_checked_stamp(judge(review), review)


def _merged(decisions: list[Decision], obj: dict[str, Any] | None, catalog: Catalog) -> Decision:
    """The last decision with the defaults of all: the second run finds those of the first already set."""
    if len(decisions) == 1:
        return replace(decisions[0], object=obj, patch=None)
    defaults = tuple({item.path: item for decision in decisions for item in decision.defaults}.values())
    audit = _audit(catalog, defaults) if decisions[-1].audit else {}
    return replace(decisions[-1], object=obj, defaults=defaults, audit=audit, patch=None)


def _defaulted(obj: dict[str, Any] | None, review: ObjectReview | None) -> Decision:
    """The decision of Modelgate alone about a request's object; without a review, it stays as it is."""
    if review is None or review.too_large is not None:
        return Decision(obj)
    if review.kind.foreign:
        return Decision(review.kind.schema.default(review.obj))
    try:
        return _stamped(review)
    except PolicyFault as fault:
        if not review.options.faults_told:
            raise
        return Decision(obj, (fault_cause(fault),))
    except SpentError:  # it gets no stamp, and validation refuses it
        return Decision(obj)


def _stamped(review: ObjectReview) -> Decision:
    """The object with its defaults and its stamp."""
    result = normalise(review)
    valid, faults = (True, []) if review.request.operation == "CREATE" else _standing(review, result.object)
    if result.too_costly:
        valid = False
        faults = [*faults, f"the object is too large for rule {result.too_costly} to default (CEL cost limit)"]
    whole = stamped(result.object, stamp_of(result, review.catalog, valid=valid))
    steps = patch.steps(review.obj, whole)
    review.budget.spend(len(steps), "patch")
    defaults = result.defaults(_without_stamp(steps))
    warnings = (*result.overruled, *[Warn("", f"{UNSTAMPED}{fault}") for fault in faults])
    return Decision(whole, (), warnings, defaults, _audit(review.catalog, defaults), patch.encoded(steps))


def _without_stamp(steps: list[patch.Step]) -> list[patch.Step]:
    """The steps that set defaults."""
    of_defaults = list[patch.Step]()
    for step in steps:
        if step.keys == _STAMP:
            continue
        if step.keys != _STAMP[:-1] or step.op == "remove":
            of_defaults.append(step)
        elif value := {key: item for key, item in step.value.items() if key != ANNOTATION}:
            of_defaults.append(step._replace(value=value))
    return of_defaults


def _standing(review: ObjectReview, obj: dict[str, Any]) -> tuple[bool, list[str]]:
    """Whether an update may be stamped, and why not; without a reason, validation refuses it and says why.

    An object that is created needs no judgement: it is valid, or it is not stored.
    """
    after = review.of_state(obj)
    if after is None:
        return True, []
    judgement = judge(after)
    if judgement.decision.causes:
        return False, []
    faults = [str(cause) for cause in tolerated(judgement, after)]
    return not faults, faults


def _audit(catalog: Catalog, defaults: Sequence[Default]) -> dict[str, str]:
    if not defaults:
        return {"catalog": catalog.digest}
    filled = ",".join([f"{item.path}={item.code or 'schema'}" for item in defaults])
    if "[" in filled:  # only a key in brackets may be any text
        filled = escaped(filled)
    return {"catalog": catalog.digest, "defaults": filled}
