"""Reports: the findings on one object as an object of their own, which goes when the object goes.

The API is OpenReports, or the older one of the policy working group, whichever the cluster has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from reconciler.audit import Verdict
from reconciler.children import digest
from reconciler.heal import REFUSED
from reconciler.resource import reference
from reconciler.say.conditions import Condition
from webhook.admission import escaped
from webhook.cluster import APIResource
from webhook.cluster.live import LiveView
from webhook.cluster.view import Kind

_NAMESPACED: Final = (Kind("openreports.io", "Report"), Kind("wgpolicyk8s.io", "PolicyReport"))
_CLUSTER: Final = (Kind("openreports.io", "ClusterReport"), Kind("wgpolicyk8s.io", "ClusterPolicyReport"))

KINDS: Final = (*_NAMESPACED, *_CLUSTER)

SOURCE: Final = "modelgate"

RESULTS: Final = 200
"""More findings on one object help no reader, and an object has at most 1.5 MiB."""


def resource_for(view: LiveView, owner: APIResource) -> APIResource | None:
    """The resource of reports about objects of a kind; None if the cluster has none."""
    kinds = _NAMESPACED if owner.namespaced else _CLUSTER
    return next((found for kind in kinds if (found := view.resource(kind)) is not None), None)


def report(
    resource: APIResource, obj: dict[str, Any], verdict: Verdict, condition: Condition, because: Mapping[str, str]
) -> dict[str, Any] | None:
    """The report about an object; None if nothing is wrong with it."""
    found = [*_results(verdict, condition, because)][:RESULTS]
    if not found:
        return None
    if verdict.chosen:
        found.append(_result("chosen", "pass", "info", "", dict(verdict.chosen)))
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": f"{SOURCE}-{obj['metadata'].get('uid') or digest(reference(obj))}"},
        "scope": reference(obj),
        "summary": {each: sum(item["result"] == each for item in found) for each in _OUTCOMES},
        "results": found,
    }


EXEMPT: Final = "except"
"""What comes of a finding that a PolicyException is about (:class:`webhook.admission.Muted`)."""

_MUTED: Final = {EXEMPT: "exception", "audit": "enforcement", "off": "enforcement"}
"""The property that names the policy."""

_OUTCOMES: Final = ("pass", "fail", "warn", "error", "skip")


def _results(verdict: Verdict, condition: Condition, because: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for cause in verdict.causes:
        yield _result(cause.label, "fail", "high", cause.text, _properties(cause.field, cause.labels, because))
    if verdict.clean and condition.reason == REFUSED:
        yield _result("gate", "fail", "high", condition.message, {})
    for warning in verdict.warnings:
        where = _properties(warning.field, (warning.label,), because)
        yield _result(warning.label, "warn", "medium", str(warning), where)
    for finding, action, by in verdict.muted:
        where = _properties(finding.field, (finding.label,), because) | {_MUTED[action]: by}
        yield _result(finding.label, "skip" if action == EXEMPT else "warn", "low", str(finding), where)


def _result(rule: str, outcome: str, severity: str, message: str, properties: dict[str, str]) -> dict[str, Any]:
    found = {"source": SOURCE, "policy": SOURCE, "rule": rule, "result": outcome, "severity": severity}
    extra = {"message": message, "properties": properties}
    return found | {key: value for key, value in extra.items() if value}


def _properties(field: str, labels: Iterable[str], because: Mapping[str, str]) -> dict[str, str]:
    reasons = " ".join(because[label] for label in labels if label in because)
    return {key: value for key, value in (("field", escaped(field)), ("because", reasons)) if value}
