"""Name everything that is wrong with an object: its size, its schema, its pods, the policy's rules, unknown fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from webhook.admission import Cause, Decision, Muted, Warn, labels
from webhook.catalog import NOTHING_ASIDE
from webhook.engine.children import child_findings
from webhook.engine.findings import SPARED, Findings, refusals_as_warnings
from webhook.engine.metadata import metadata_errors
from webhook.engine.options import OBJECT_BUDGET
from webhook.engine.placement import fit_findings
from webhook.engine.pods import pod_findings
from webhook.engine.review import ObjectReview, Subject
from webhook.engine.rules import validate_rules
from webhook.engine.schema import add_unknown_fields, missing_spec, relax, validate_schema
from webhook.engine.seen import nameless
from webhook.policy import PolicyScope


class RatchetedDecision(NamedTuple):
    """A decision, whether ratcheting has ``spared`` findings of rules, and the errors of the schema that it hides."""

    decision: Decision
    spared: bool = False
    hidden: tuple[Cause, ...] = ()


def judge(review: ObjectReview) -> RatchetedDecision:
    """Judge an object by Modelgate's own rules.

    Raises:
        Fault, DeadlineExceeded: as :func:`webhook.engine.mutate`.
        SpentError: it takes more steps than the review has.
    """
    if review.too_large is not None:
        return RatchetedDecision(_unjudged(review, review.too_large))
    subject = _subject(review)
    scope = review.scope(subject.obj, subject.old)
    findings = _findings(subject, scope)
    findings.warnings += _not_judged(subject, scope)
    if subject.unknown:
        add_unknown_fields(subject, findings)
    relax(review.kind, findings)
    causes, warnings, muted = _enforced(review, findings)
    aside = _left_out(subject, scope) if scope.hidden_facts or subject.aside.rules else ()
    audit = _audit(review, causes, warnings, aside, muted)
    return RatchetedDecision(
        Decision(review.obj, causes, warnings, audit=audit, muted=muted), bool(findings.notices), subject.hidden
    )


def _enforced(
    review: ObjectReview, findings: Findings
) -> tuple[tuple[Cause, ...], tuple[Warn, ...], tuple[Muted, ...]]:
    """The findings as the profile and the policies in force want them: causes, warnings, and what a user is not told.

    Under a profile that denies nothing, the causes that are left are those of a rule that an Enforcement lets deny.
    What the schema refuses is for the API server to refuse, or, for a file, for this judgement.
    """
    causes, warnings = tuple(findings.causes), (*findings.notices, *findings.warnings)
    if not causes and not warnings:
        return (), (), ()
    strictness = review.strictness()
    if not strictness.profile.denies:
        is_file = review.options.strict_fields
        kept = tuple(
            cause for cause in causes if strictness.is_enforced(cause.code) or (is_file and cause.label == "schema")
        )
        causes, warnings = kept, (*refusals_as_warnings(cause for cause in causes if cause not in kept), *warnings)
    heard, muted = strictness.heard(warnings)
    return causes, heard, muted


def _unjudged(review: ObjectReview, refusal: Cause) -> Decision:
    """The decision about an object over the bound. An update is not refused for what it does not change."""
    audit = _audit(review, (refusal,))
    if review.request.same_specification:
        return Decision(review.obj, warnings=(Warn("", f"{refusal.message}{SPARED}"),), audit=audit)
    if review.options.profile.denies:
        return Decision(review.obj, (refusal,), audit=audit)
    return Decision(review.obj, warnings=refusals_as_warnings((refusal,)), audit=audit)


def _subject(review: ObjectReview) -> Subject:
    """The object as rules read it, and the findings of the schema."""
    kind, budget = review.kind, review.budget
    review.begin("schema")
    obj, unknown, is_clean = kind.schema.decode(review.obj)
    old = None if review.old is None else kind.schema.decode(review.old).object
    of_schema, aside = None, NOTHING_ASIDE
    hidden: tuple[Cause, ...] = ()
    if not is_clean or not review.prepared.schema_rules_hold(obj, old, OBJECT_BUDGET):
        of_schema, hidden = validate_schema(kind, obj, old, budget)
    elif errors := metadata_errors(obj, review.request.size):
        of_schema = Findings(errors)
    if kind.own is not None:
        aside, obj, old = kind.own.aside(obj, old), kind.own.seen(obj), None if old is None else kind.own.seen(old)
    subject = Subject(review, obj, old, aside, unknown)
    return subject if of_schema is None else subject.with_findings(of_schema, hidden)


def _findings(subject: Subject, scope: PolicyScope) -> Findings:
    """The findings of the schema, of Kubernetes about pods, and of the policy, in this order."""
    review, of_pods, of_fit, of_schema = subject.review, None, None, subject.of_schema
    kind, options = review.kind, review.options
    findings = validate_rules(subject, scope)
    if options.settings.recommends(kind.api):
        rest = b"" if kind.fit is None else nameless(subject.obj)
        of_children = child_findings(subject, scope, findings, rest)
        of_pods = pod_findings(subject, None if of_children is None else of_children.judged)
        if of_children is not None:
            of_pods = of_children.findings if of_pods is None else of_children.findings + of_pods
        of_fit = fit_findings(subject, rest)
    if of_fit is not None:
        findings += of_fit
    if of_pods is not None:
        findings = of_pods + findings
    if of_schema is not None:
        findings = of_schema + findings
    if findings.hints:
        findings.attach_hints()
    if subject.obj.get("spec") is None and not findings.causes and not kind.foreign:
        findings.warnings += missing_spec(kind)
    return findings


def _not_judged(subject: Subject, scope: PolicyScope) -> Iterator[Warn]:
    """What the rules of a reference cannot be judged for, once for each reference."""
    for fact, reason in scope.hidden_facts.items():
        rules = [rule for rule in subject.review.kind.policy.validations if fact in rule.facts]
        if reason and rules:
            codes = ", ".join(dict.fromkeys(rule.code for rule in rules[1:] if rule.code != rules[0].code))
            also = f" (nor by {codes})" if codes else ""
            yield Warn(rules[0].about.text, f"not judged{also}: {reason}", rules[0].code)


def _left_out(subject: Subject, scope: PolicyScope) -> list[str]:
    """The codes of the rules that do not hold for the values of the object, or of others that its facts read."""
    hidden = filter(scope.reads_hidden_fact, subject.review.kind.policy.validations)
    return sorted({rule.code for rule in (*subject.aside.rules, *hidden)})


def _audit(
    review: ObjectReview,
    causes: tuple[Cause, ...],
    warnings: tuple[Warn, ...] = (),
    aside: Sequence[str] = (),
    muted: tuple[Muted, ...] = (),
) -> dict[str, str]:
    """Audit annotations; the API server puts the webhook's name before each key."""
    audit = {"catalog": review.catalog.digest}
    if causes or warnings:
        audit["codes"] = ",".join(dict.fromkeys(labels(causes, warnings)))
    if aside:
        audit["aside"] = ",".join(aside)
    if muted:
        audit["muted"] = ",".join(dict.fromkeys(f"{finding.code}={action}/{by}" for finding, action, by in muted))
    return audit
