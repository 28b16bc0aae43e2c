"""Name everything that is wrong with an object: its size, its schema, the policy's rules, and unknown fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from webhook.admission import Cause, Decision, Request, Warn, labels
from webhook.catalog import NOTHING_ASIDE, Aside, Catalog, KnownKind
from webhook.cel import Budget
from webhook.cluster import ClusterView
from webhook.engine.bound import over_bound
from webhook.engine.findings import Findings
from webhook.engine.metadata import metadata_errors
from webhook.engine.native import refusals_as_warnings
from webhook.engine.options import OBJECT_BUDGET, Options
from webhook.engine.pods import WholesOf, pod_findings
from webhook.engine.rules import Subject, validate_rules
from webhook.engine.schema import missing_spec, suggestions, validate_schema
from webhook.engine.scope import reviewed_kind, scope_of
from webhook.policy import PolicyScope, Prepared

__all__ = ["Judgement", "judge"]


_NOTHING: Final[tuple[Cause, ...]] = ()


class Judgement(NamedTuple):
    """A decision, whether ratcheting has ``spared`` findings of rules, and the errors of the schema that it hides.

    ``kind`` is the kind that the object was judged by; None if the request is not reviewed.
    """

    decision: Decision
    spared: bool = False
    hidden: tuple[Cause, ...] = ()
    kind: KnownKind | None = None


def judge(request: Request, catalog: Catalog, view: ClusterView, options: Options) -> Judgement:
    """Judge the object of a request by Modelgate's own rules.

    Raises:
        Malformed, Fault, DeadlineExceeded: as :func:`webhook.engine.mutate`.
    """
    kind = reviewed_kind(request, catalog)
    if kind is None or request.object is None:
        return Judgement(Decision(request.object))
    refusal = over_bound(kind, request)
    if refusal is not None:
        return Judgement(_unjudged(request, refusal, catalog, options), kind=kind)
    findings, hidden, unknown, aside = _findings(kind, catalog.prepared(kind), request, view, options)
    if unknown:
        _add_unknown_fields(findings, kind, request.object, unknown, strict=options.strict_fields)
    causes, warnings = tuple(findings.causes), (*findings.notices, *findings.warnings)
    if causes and not options.profile.denies:
        kept = tuple(cause for cause in causes if options.strict_fields and cause.label == "schema")
        causes, warnings = kept, (*refusals_as_warnings([each for each in causes if each not in kept]), *warnings)
    return Judgement(
        Decision(request.object, causes, warnings, audit=_audit(catalog, causes, warnings, aside)),
        bool(findings.notices),
        hidden,
        kind,
    )


def _unjudged(request: Request, refusal: Cause, catalog: Catalog, options: Options) -> Decision:
    """The decision about an object over the bound. An update is not refused for what it does not change."""
    if request.same_specification:
        text = f"{refusal.message} (not refused, because this update does not change it)"
        return Decision(request.object, warnings=(Warn("", text),), audit=_audit(catalog, (refusal,)))
    audit = _audit(catalog, (refusal,))
    if options.profile.denies:
        return Decision(request.object, (refusal,), audit=audit)
    return Decision(request.object, warnings=refusals_as_warnings((refusal,)), audit=audit)


def _findings(
    kind: KnownKind, prepared: Prepared, request: Request, view: ClusterView, options: Options
) -> tuple[Findings, tuple[Cause, ...], list[str], list[str]]:
    """The findings of the schema and of the policy, what ratcheting hides, the paths of unknown fields, and the codes
    of the rules that are left out.
    """
    assert request.object is not None
    options.checkpoint("schema")
    obj, unknown, is_clean = kind.schema.decode(request.object)
    old = None if request.old_object is None else kind.schema.decode(request.old_object).object
    of_schema, hidden = None, _NOTHING
    if not is_clean or not prepared.schema_rules_hold(obj, old, OBJECT_BUDGET):
        of_schema, hidden = validate_schema(kind, obj, old, Budget(OBJECT_BUDGET))
    elif errors := metadata_errors(obj, request.size):
        of_schema = Findings(errors)
    aside = NOTHING_ASIDE
    if kind.own is not None:
        aside, obj, old = kind.own.aside(obj, old), kind.own.seen(obj), None if old is None else kind.own.seen(old)
    of_pods = None
    if options.settings.recommends(kind.api):
        options.checkpoint("pods")
        refused = () if of_schema is None else {cause.field for cause in of_schema.causes}
        of_pods = pod_findings(prepared, obj, old, refused, options, _wholes_of(kind, view, options))
    options.checkpoint("policy")
    causes = () if of_schema is None else tuple(of_schema.causes)
    subject = Subject(kind, prepared, obj, old, causes, hidden, aside)
    scope = scope_of(kind, prepared, request, obj, old, view, options.settings)

    def stored_scope() -> PolicyScope:
        """The scope over the stored object, as if it were sent again."""
        again = replace(request, object=request.old_object)
        return scope_of(kind, prepared, again, old or {}, old, view, options.settings)

    findings = validate_rules(subject, scope, options, stored_scope)
    if of_pods is not None:
        findings = of_pods + findings
    if of_schema is not None:
        findings = of_schema + findings
    if findings.hints:
        findings.attach_hints()
    if obj.get("spec") is None and not findings.causes and not kind.foreign:
        findings.warnings += missing_spec(kind)
    return findings, hidden, unknown, _left_out(kind, aside, scope) if aside.rules or scope.hidden_facts else []


def _left_out(kind: KnownKind, aside: Aside, scope: PolicyScope) -> list[str]:
    """The codes of the rules that do not hold for the values of the object, or of others that its facts read."""
    hidden = filter(scope.reads_hidden_fact, kind.policy.validations)
    return sorted({rule.code for rule in (*aside.rules, *hidden)})


def _wholes_of(kind: KnownKind, view: ClusterView, options: Options) -> WholesOf | None:
    """The pods of an object; None if there is no view of what completes it."""
    made = kind.wholes
    return None if made is None or not options.references else lambda obj: made(obj, view, options.settings)


def _add_unknown_fields(
    findings: Findings, kind: KnownKind, obj: dict[str, object], paths: list[str], *, strict: bool
) -> None:
    found = suggestions(kind, obj, paths, findings, offline=strict)
    if strict:
        for path, suggestion in found:
            findings.causes.append(Cause(path, "FieldValueInvalid", f"unknown field{suggestion}"))
    else:
        for path, suggestion in found:
            text = f"unknown field: Modelgate does not check or default it{suggestion}"
            findings.warnings.append(Warn(path, text))


def _audit(
    catalog: Catalog, causes: tuple[Cause, ...], warnings: tuple[Warn, ...] = (), aside: Sequence[str] = ()
) -> dict[str, str]:
    """Audit annotations; the API server puts the webhook's name before each key."""
    audit = {"catalog": catalog.digest}
    if causes or warnings:
        audit["codes"] = ",".join(dict.fromkeys(labels(causes, warnings)))
    if aside:
        audit["aside"] = ",".join(aside)
    return audit
