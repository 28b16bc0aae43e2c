"""Name everything that is wrong with an object: by Modelgate's rules, by its stamp, and by native policies."""

from __future__ import annotations

from webhook.admission import Decision, Request
from webhook.catalog import Catalog
from webhook.cluster import ClusterView
from webhook.engine.filling.stamping import with_checked_stamp
from webhook.engine.judgement import judge
from webhook.engine.native import refusals_as_warnings
from webhook.engine.options import DEFAULT_OPTIONS, Options

__all__ = ["validate"]


def validate(request: Request, catalog: Catalog, view: ClusterView, options: Options = DEFAULT_OPTIONS) -> Decision:
    """Everything that is wrong with the object, and everything its user should know.

    Raises:
        Malformed, Fault, DeadlineExceeded: as :func:`webhook.engine.mutate`.
    """
    decision = with_checked_stamp(judge(request, catalog, view, options), request, catalog, view, options)
    if options.native is None or not options.native.may_validate(request):
        return decision
    verdict = options.native.validate(request, options.checkpoint)
    refused, warnings = verdict.causes, (*decision.warnings, *verdict.warnings)
    if not options.profile.denies:
        refused, warnings = (), (*refusals_as_warnings(refused), *warnings)
    audit = {**decision.audit, **verdict.annotations}
    return Decision(request.object, (*decision.causes, *refused), warnings, audit=audit)
