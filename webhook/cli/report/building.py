"""Make a report of reviewed manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from webhook.admission import Cause, Warn
from webhook.admission.errors import Problem
from webhook.cli.judging import ReviewedManifest
from webhook.cli.manifests import Outcomes
from webhook.cli.report.changes import changes
from webhook.cli.report.consequences import without_consequences
from webhook.cli.report.finding import Finding, ObjectReport, Report, Severity, Verdict
from webhook.cli.report.ignoring import kept
from webhook.cli.report.known import Known
from webhook.cli.report.templates import Templates
from webhook.manifests.documents import Document
from webhook.manifests.places import find, keys
from webhook.offline.unknown import is_encrypted, substitutes, variables_of

__all__ = ["findings_of", "ordered", "report_of"]

_WRONG_TYPE: Final = "FieldValueTypeInvalid"
_SHOWN: Final = 5
"""Names of variables in a note."""
_UNSUPPORTED: Final = "FieldValueNotSupported"


def report_of(outcomes: Outcomes, ignored: Collection[str], docs: str) -> Report:
    """The report; ``ignored`` are the codes of warnings to leave out, ``docs`` is the address of the site or ""."""
    report = Report([], outcomes.remarks, outcomes.problems, outcomes.given.skipped, docs=docs)
    report.unread = outcomes.given.unread
    report.unjudged = [*_unjudged(outcomes), *_values_of_charts(outcomes.given.documents)]

    def judge(document: Document) -> list[Finding]:
        validation = outcomes.judge(document).validation
        return findings_of(document, validation.causes, validation.warnings)

    templates = Templates(Path.cwd())
    known = Known(outcomes.at_commit, findings_of)
    for outcome in outcomes.reviews:
        decision = outcome.validation
        all_found = findings_of(outcome.document, decision.causes, decision.warnings)
        all_found = without_consequences(outcome.document, all_found, judge)
        found, count = kept(all_found, outcome.document, ignored, outcomes.codes)
        new = known.without(outcome.document, found)
        report.objects.append(templates.located(_object(outcome, new, len(found) - len(new))))
        report.ignored += count
        report.before += len(found) - len(new)
    return report


def _unjudged(outcomes: Outcomes) -> Iterator[Problem]:
    """Which values are not judged, a sentence for each reason."""
    found = [(each.document, text) for each in outcomes.reviews for text in each.unknown]
    encrypted = [document for document, text in found if is_encrypted(text)]
    if encrypted:
        yield _note(encrypted, "encrypted by SOPS")
    variables = [(document, text) for document, text in found if not is_encrypted(text)]
    if variables:
        names = sorted({name for _, text in variables for name in variables_of(text)})
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        where = "" if any(map(substitutes, outcomes.given.documents)) else "; no Kustomization with postBuild found"
        what = f"that Flux substitutes: {', '.join(names[:_SHOWN])}{more}{where}"
        yield _note([document for document, _ in variables], what)


def _values_of_charts(documents: Sequence[Document]) -> Iterator[Problem]:
    """A note about the values of charts, of which only Helm makes objects."""
    found = [each for each in documents if _has_values(each.value)]
    kinds = Counter(each.value["kind"] for each in found)
    if found:
        named = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        text = f"not looked into: the values that {named} give to charts; pipe `helm template` into `modelgate check -`"
        yield Problem(f"{found[0].source}:{found[0].line}", "", text)


def _has_values(value: Mapping[str, Any]) -> bool:
    """Whether an object of Flux or Argo CD gives values to a chart."""
    spec = value.get("spec")
    if not isinstance(spec, dict):
        return False
    if str(value["apiVersion"]).startswith("helm.toolkit.fluxcd.io/"):
        return bool(spec.get("values"))
    if not str(value["apiVersion"]).startswith("argoproj.io/"):
        return False
    if value["kind"] == "ApplicationSet":
        template = spec.get("template")
        spec = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        return False
    sources = spec.get("sources")
    every = [spec.get("source"), *(sources if isinstance(sources, list) else ())]
    charts = [each.get("helm") for each in every if isinstance(each, dict)]
    return any(isinstance(each, dict) and (each.get("valuesObject") or each.get("values")) for each in charts)


def _note(documents: Sequence[Document], what: str) -> Problem:
    """The note about one value of each of these documents."""
    count, first = len(documents), documents[0]
    text = f"not judged: {count} {'value' if count == 1 else 'values'} {what}"
    return Problem(f"{first.source}:{first.line}", "", text)


def findings_of(document: Document, causes: Iterable[Cause], warnings: Iterable[Warn]) -> list[Finding]:
    """Everything that is said of a document. What an error is about needs no remark on its YAML."""
    found = [Finding.of_cause(cause, document, helps) for cause, helps in _faults(list(causes), document)]
    refused = {each.field for each in found}
    remarks = [Finding.of_remark(each) for each in document.remarks]
    found += [each for each in remarks if each.field not in refused]
    return [*found, *(Finding.of_warning(warning, document) for warning in warnings)]


def _faults(causes: Sequence[Cause], document: Document) -> Iterator[tuple[Cause, tuple[str, ...]]]:
    """The causes, each with advice: one for each fault. A value of the wrong type is not one of the supported values
    either, which the API server says, too; here that is advice.
    """
    wrong = {cause.field for cause in causes if cause.reason == _WRONG_TYPE}
    unsupported = {cause.field: cause for cause in causes if cause.reason == _UNSUPPORTED and cause.field in wrong}
    for cause in causes:
        if unsupported.get(cause.field) is not cause:
            helps = [*_quoting(cause, document)]
            if cause.reason == _WRONG_TYPE and cause.field in unsupported:
                helps.append(unsupported[cause.field].message.partition(": ")[2].partition(": ")[2])
            yield cause, tuple(filter(None, helps))


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in the order of the file, the graver ones first."""
    return tuple(sorted(findings, key=lambda each: (each.place, each.severity, each.code)))


def _object(outcome: ReviewedManifest, findings: list[Finding], known: int) -> ObjectReport:
    document = outcome.document
    if not outcome.reviewed:
        return ObjectReport(document, outcome.title, Verdict.SKIPPED, note=outcome.unchecked)
    refused = any(each.severity is Severity.ERROR for each in findings)
    note = f"{known} {'finding' if known == 1 else 'findings'} as before" if known else ""
    filled = changes(outcome.merged, outcome.mutation.object or outcome.merged, outcome.mutation.defaults)
    verdict = Verdict.REFUSED if refused else Verdict.ACCEPTED
    return ObjectReport(document, outcome.title, verdict, ordered(findings), note, tuple(filled), outcome.comparison)


def _quoting(cause: Cause, document: Document) -> Iterator[str]:
    """Advice about a key or a value without quotes that YAML does not read as text."""
    key, _, complete = find(document.tree, keys(cause.field))
    if complete and key is not None and key.plain and isinstance(key.value, bool) and key.text not in {"true", "false"}:
        yield f"YAML reads the key {key.text} as {str(key.value).lower()}: put it in quotes"
        return
    if cause.reason not in {"FieldValueTypeInvalid", "FieldValueNotSupported", "FieldValueInvalid"}:
        return
    spot = document.written(cause.field)
    if spot is None or not spot.plain:
        return
    if isinstance(spot.value, bool) and spot.text not in {"true", "false"}:
        yield f"YAML reads {spot.text} as {str(spot.value).lower()}: put it in quotes"
    elif isinstance(spot.value, int | float) and not isinstance(spot.value, bool) and "string" in cause.message:
        yield f"YAML reads {spot.text} as a number: put it in quotes"
