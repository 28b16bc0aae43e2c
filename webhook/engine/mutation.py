"""Fill in defaults and stamp the result, beside Kubernetes' own mutating policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.admission import Decision, Default, Request, Warn, patch
from webhook.admission.stamp import ANNOTATION, UNSTAMPED
from webhook.catalog import Catalog
from webhook.cluster import ClusterView
from webhook.engine.bound import over_bound
from webhook.engine.filling.stamping import normalised, stamp_of, stamped, tolerated
from webhook.engine.judgement import judge
from webhook.engine.native import refusals_as_warnings
from webhook.engine.options import DEFAULT_OPTIONS, Options
from webhook.engine.rules import fault_cause
from webhook.engine.scope import reviewed_kind
from webhook.policy import PolicyFault

__all__ = ["mutate"]

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
        return _default(request, catalog, view, options)
    decisions: list[Decision] = []

    def webhook(obj: dict[str, Any] | None) -> dict[str, Any] | None:
        given = request if obj is request.object else replace(request, object=obj, size=0)
        decisions.append(_default(given, catalog, view, options))
        return decisions[-1].object

    verdict = options.native.mutate(request, options.checkpoint, webhook)
    if verdict.allowed:
        return _merged(decisions, verdict.object, catalog)
    if not options.profile.denies:
        decision = _default(request, catalog, view, options)
        return replace(decision, warnings=(*refusals_as_warnings(verdict.causes), *decision.warnings))
    return Decision(request.object, verdict.causes)


def _merged(decisions: list[Decision], obj: dict[str, Any] | None, catalog: Catalog) -> Decision:
    """The last decision with the defaults of all: the second run finds those of the first already set."""
    if len(decisions) == 1:
        return replace(decisions[0], object=obj, patch=None)
    defaults = tuple({item.path: item for each in decisions for item in each.defaults}.values())
    audit = _audit(catalog, defaults) if decisions[-1].audit else {}
    return replace(decisions[-1], object=obj, defaults=defaults, audit=audit, patch=None)


def _default(request: Request, catalog: Catalog, view: ClusterView, options: Options) -> Decision:
    kind, obj = reviewed_kind(request, catalog), request.object
    if kind is None or obj is None or over_bound(kind, request) is not None:
        return Decision(obj)
    if kind.foreign:
        return Decision(kind.schema.default(obj))
    options.checkpoint("defaults")
    try:
        result = normalised(kind, request, obj, catalog, view, options)
    except PolicyFault as fault:
        if not options.faults_told:
            raise
        return Decision(obj, (fault_cause(fault),))
    options.checkpoint("stamp")
    valid, faults = (
        (True, []) if request.operation == "CREATE" else _standing(request, result.object, catalog, view, options)
    )
    if result.too_costly:
        valid = False
        faults = [*faults, f"the object is too large for rule {result.too_costly} to default (CEL cost limit)"]
    found = stamped(result.object, stamp_of(result, catalog, options.profile, valid=valid))
    steps = patch.steps(obj, found)
    defaults = result.defaults(_without_stamp(steps))
    warnings = tuple([Warn("", f"{UNSTAMPED}{fault}") for fault in faults])
    return Decision(found, (), warnings, defaults, _audit(catalog, defaults), patch.encoded(steps))


def _without_stamp(steps: list[patch.Step]) -> list[patch.Step]:
    """The steps that set defaults."""
    found = list[patch.Step]()
    for step in steps:
        if step.keys == _STAMP:
            continue
        if step.keys != _STAMP[:-1] or step.op == "remove":
            found.append(step)
        elif value := {key: item for key, item in step.value.items() if key != ANNOTATION}:
            found.append(step._replace(value=value))
    return found


def _standing(
    request: Request, obj: dict[str, Any], catalog: Catalog, view: ClusterView, options: Options
) -> tuple[bool, list[str]]:
    """Whether an update may be stamped, and why not; without a reason, validation refuses it and says why.

    An object that is created needs no judgement: it is valid, or it is not stored.
    """
    after = replace(request, object=obj, size=0)
    judgement = judge(after, catalog, view, options)
    if judgement.decision.causes:
        return False, []
    faults = [str(cause) for cause in tolerated(judgement, after, catalog, view, options)]
    return not faults, faults


def _audit(catalog: Catalog, defaults: Sequence[Default]) -> dict[str, str]:
    if not defaults:
        return {"catalog": catalog.digest}
    filled = ",".join([f"{item.path}={item.code or 'schema'}" for item in defaults])
    return {"catalog": catalog.digest, "defaults": filled}
