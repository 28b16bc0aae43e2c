"""Reports: the findings on one object as an object of their own, which goes when the object goes.

The API is OpenReports, or the older one of the policy working group, whichever the cluster has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from reconciler.audit import Ruling, Verdict
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


EXEMPT: Final = "except"
"""What comes of a finding that a PolicyException is about (:class:`webhook.admission.Muted`)."""

_MUTED: Final = {EXEMPT: "exception", "audit": "enforcement", "off": "enforcement"}
"""The property that names the policy."""

_OUTCOMES: Final = ("pass", "fail", "warn", "error", "skip")

_KUBERNETES: Final = "Kubernetes"
"""The category of what the API server says itself: of schemas, of pods and of children."""


def name_of(obj: dict[str, Any]) -> str:
    """The name of the report about an object."""
    return f"{SOURCE}-{obj['metadata'].get('uid') or digest(reference(obj))}"


def report(
    resource: APIResource,
    obj: dict[str, Any],
    verdict: Verdict,
    condition: Condition,
    rules: Ruling,
    at: datetime,
    before: dict[str, Any] | None = None,
    *,
    passing: bool = False,
) -> dict[str, Any] | None:
    """The report about an object; None if nothing is wrong with it, unless what is ``passing`` has one, too.

    A result has the time ``at`` which it was found, or that of an equal one in the report ``before``.
    """
    if not (passing or verdict.causes or verdict.warnings or verdict.muted or _is_refused(verdict, condition)):
        return None
    applied = rules.applied(obj)
    results = [*_results(verdict, condition, applied.operator, rules.because(obj))]
    counts = Counter(result["result"] for result in results)
    counts["pass"] += len(applied.codes - {result["rule"] for result in results})
    if not results:
        results = [_result("all", "pass", "info", f"{counts['pass']} rules are met", {}, applied.operator)]
    elif verdict.chosen:
        del results[RESULTS:]
        results.append(_result("chosen", "pass", "info", "", dict(verdict.chosen), applied.operator))
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name_of(obj)},
        "scope": reference(obj),
        "summary": {outcome: counts[outcome] for outcome in _OUTCOMES},
        "results": _dated(results, (before or {}).get("results") or (), at),
    }


def _dated(results: list[dict[str, Any]], before: Iterable[dict[str, Any]], at: datetime) -> list[dict[str, Any]]:
    """The results with the times at which they were first found (metav1.Timestamp)."""
    times = {_identity(result): result["timestamp"] for result in before if result.get("timestamp")}
    now = {"seconds": int(at.timestamp()), "nanos": 0}
    return [{**result, "timestamp": times.get(_identity(result), now)} for result in results]


def _identity(result: dict[str, Any]) -> tuple[Any, ...]:
    return (*map(result.get, ("rule", "result", "message")), (result.get("properties") or {}).get("field"))


def _is_refused(verdict: Verdict, condition: Condition) -> bool:
    """Whether the gate refuses what the rules here allow."""
    return verdict.clean and condition.reason == REFUSED


def _results(
    verdict: Verdict, condition: Condition, operator: str, because: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    def result(rule: str, outcome: str, severity: str, message: str, properties: dict[str, str]) -> dict[str, Any]:
        category = operator if rule in because else _KUBERNETES
        return _result(rule, outcome, severity, message, properties, category)

    for cause in verdict.causes:
        yield result(cause.label, "fail", "high", str(cause), _properties(cause.field, cause.labels, because))
    if _is_refused(verdict, condition):
        yield result("gate", "fail", "high", condition.message, {})
    for warning in verdict.warnings:
        where = _properties(warning.field, (warning.label,), because)
        yield result(warning.label, "warn", "medium", str(warning), where)
    for finding, action, by in verdict.muted:
        where = _properties(finding.field, (finding.label,), because) | {_MUTED[action]: by}
        yield result(finding.label, "skip" if action == EXEMPT else "warn", "low", str(finding), where)


def _result(
    rule: str, outcome: str, severity: str, message: str, properties: dict[str, str], category: str
) -> dict[str, Any]:
    """One result. The policy is the rule itself: viewers of reports have a page for each policy."""
    named = {"source": SOURCE, "policy": rule, "rule": rule, "category": category}
    extra = {"message": message, "properties": properties}
    return {**named, "result": outcome, "severity": severity, **{key: value for key, value in extra.items() if value}}


def _properties(field: str, labels: Iterable[str], because: Mapping[str, str]) -> dict[str, str]:
    reasons = " ".join(because[label] for label in labels if label in because)
    return {key: value for key, value in (("field", escaped(field)), ("because", reasons)) if value}
