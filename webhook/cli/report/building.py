"""Make a report of reviewed manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from webhook.admission.errors import Problem
from webhook.cli.manifests import Outcomes
from webhook.cli.output import counted
from webhook.cli.report.codes import Codes, Ignoring
from webhook.cli.report.omitted import Known, kept, without_consequences
from webhook.cli.report.report import Report
from webhook.cli.report.templates import Templates
from webhook.facts.nodes import items, mapping
from webhook.library.findings import Finding, Severity, findings_of
from webhook.library.review import ReviewedManifest
from webhook.library.unknown import is_encrypted, substitutes, variables_of
from webhook.library.verdict import Verdict
from webhook.manifests.documents import Document

_SHOWN: Final = 5
"""Names of variables in a note."""


def report_of(outcomes: Outcomes, ignored: Ignoring, docs: str) -> Report:
    """The report; ``ignored`` are the warnings to leave out, ``docs`` is the address of the site or ""."""
    report = Report([], outcomes.remarks, outcomes.problems, outcomes.given.skipped, docs=docs, packs=outcomes.packs)
    report.unread = outcomes.given.unread
    report.bases.update(outcome.judged_as for outcome in outcomes.reviews if outcome.judged_as)
    report.moved = outcomes.moved
    report.unjudged = [*_unjudged(outcomes), *_values_of_charts(outcomes.given.documents)]

    templates = Templates(Path.cwd())
    known = Known(outcomes.at_commit, findings_of)
    for outcome in outcomes.reviews:
        found, count = kept_findings(outcome, outcomes.review, ignored, outcomes.codes)
        new = known.without(outcome.document, found)
        report.objects.append(templates.located(_verdict(outcome, found, new)))
        report.ignored += count
        report.before += len(found) - len(new)
    return report


def kept_findings(
    outcome: ReviewedManifest,
    review: Callable[[Document], ReviewedManifest],
    ignored: Ignoring,
    codes: Codes,
) -> tuple[list[Finding], int]:
    """The findings of a review without those that are ignored and those that follow from a misspelt field; and how many
    are ignored. ``review`` judges another text of the document.
    """

    def judge(document: Document) -> list[Finding]:
        return _all_findings(review(document))

    findings = without_consequences(outcome.document, _all_findings(outcome), judge)
    return kept(findings, outcome.document, ignored, codes)


def _all_findings(outcome: ReviewedManifest) -> list[Finding]:
    return findings_of(outcome.document, outcome.validation.causes, outcome.validation.warnings)


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
    spec = mapping(value, "spec")
    if str(value["apiVersion"]).startswith("helm.toolkit.fluxcd.io/"):
        return bool(spec.get("values"))
    if not str(value["apiVersion"]).startswith("argoproj.io/"):
        return False
    if value["kind"] == "ApplicationSet":
        spec = mapping(spec, "template", "spec")
    charts = [mapping(source, "helm") for source in (spec.get("source"), *items(spec, "sources"))]
    return any(chart.get("valuesObject") or chart.get("values") for chart in charts)


def _note(documents: Sequence[Document], what: str) -> Problem:
    """The note about one value of each of these documents."""
    return Problem(documents[0].where, "", f"not judged: {counted(len(documents), 'value')} {what}")


def _verdict(outcome: ReviewedManifest, findings: list[Finding], new: list[Finding]) -> Verdict:
    """The verdict with the findings that are new. An error that is not new refuses the object, too."""
    verdict, before = Verdict.of(outcome, new), len(findings) - len(new)
    if not before or not verdict.checked:
        return verdict
    allowed = not any(finding.severity is Severity.ERROR for finding in findings)
    return replace(verdict, allowed=allowed, note=f"{counted(before, 'finding')} as before")
