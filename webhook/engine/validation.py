"""Name everything that is wrong with an object: its schema, the policy's rules, unknown fields, native policies."""

from __future__ import annotations

from webhook.admission import Cause, Decision, Request, Warn
from webhook.cel import Budget
from webhook.cluster import ClusterView
from webhook.engine.catalog import Catalog, KnownKind
from webhook.engine.findings import Findings
from webhook.engine.native import refusals_as_warnings
from webhook.engine.options import DEFAULT_OPTIONS, OBJECT_BUDGET, Options
from webhook.engine.rules import Subject, validate_rules
from webhook.engine.schema import missing_spec, suggestions, validate_schema
from webhook.engine.scope import reviewed_kind, scope_of

__all__ = ["judge", "validate"]


def validate(request: Request, catalog: Catalog, view: ClusterView, options: Options = DEFAULT_OPTIONS) -> Decision:
    """Everything that is wrong with the object, and everything its user should know.

    Raises:
        Malformed, Fault, DeadlineExceeded: as :func:`webhook.engine.mutate`.
    """
    decision = judge(request, catalog, view, options)
    if options.native is None:
        return decision
    verdict = options.native.validate(request, options.checkpoint)
    refused, warnings = verdict.causes, (*decision.warnings, *verdict.warnings)
    if not options.profile.denies:
        refused, warnings = (), (*refusals_as_warnings(refused), *warnings)
    audit = {**decision.audit, **verdict.annotations}
    return Decision(request.object, (*decision.causes, *refused), warnings, audit=audit)


def judge(request: Request, catalog: Catalog, view: ClusterView, options: Options) -> Decision:
    """As :func:`validate`, without native policies."""
    kind = reviewed_kind(request, catalog)
    if kind is None or request.object is None:
        return Decision(request.object)
    findings, unknown = _findings(kind, request, view, options)
    _add_unknown_fields(findings, kind, request.object, unknown, strict=options.strict_fields)
    causes, warnings = tuple(findings.causes), (*findings.notices, *findings.warnings)
    if not options.profile.denies:
        causes, warnings = (), (*refusals_as_warnings(causes), *warnings)
    return Decision(request.object, causes, warnings, audit=_audit(catalog, (*causes, *warnings)))


def _findings(kind: KnownKind, request: Request, view: ClusterView, options: Options) -> tuple[Findings, list[str]]:
    """The findings of the schema and of the policy, and the paths of unknown fields."""
    assert request.object is not None
    options.checkpoint("schema")
    obj, unknown = kind.schema.decode(request.object)
    old = kind.schema.decode(request.old_object)[0] if request.old_object is not None else None
    findings = validate_schema(kind, obj, old, Budget(OBJECT_BUDGET))
    options.checkpoint("policy")
    subject = Subject(kind, obj, old, schema_valid=not findings.causes)
    findings += validate_rules(subject, scope_of(kind, request, obj, old, view, options.settings), options)
    if not findings.causes:
        findings.warnings += missing_spec(kind, obj)
    return findings, unknown


def _add_unknown_fields(
    findings: Findings, kind: KnownKind, obj: dict[str, object], paths: list[str], *, strict: bool
) -> None:
    if strict:
        for path, suggestion in suggestions(kind, obj, paths, findings):
            findings.causes.append(Cause(path, "FieldValueInvalid", f"unknown field{suggestion}"))
    else:
        for path, suggestion in suggestions(kind, obj, paths, findings):
            text = f"unknown field: Modelgate does not check or default it{suggestion}"
            findings.warnings.append(Warn(path, text))


def _audit(catalog: Catalog, findings: tuple[Cause | Warn, ...]) -> dict[str, str]:
    """Audit annotations; the API server puts the webhook's name before each key."""
    codes = dict.fromkeys(item.label for item in findings)
    return {"catalog": catalog.digest, **({"codes": ",".join(codes)} if codes else {})}
