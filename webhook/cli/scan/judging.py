"""Judge the objects of a source one by one, and count what is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TextIO

from webhook.admission import Cause
from webhook.admission.errors import ModelgateError, Problem
from webhook.cli.output import say
from webhook.cli.report.codes import Ignoring
from webhook.cli.report.difference import ChangeReport, aside_of
from webhook.cli.report.omitted import kept
from webhook.cli.report.report import Report
from webhook.cluster.view import ClusterView
from webhook.engine import Ruling
from webhook.engine.audit import Standing, Verdict, children_of, filled, judge
from webhook.library.explained import changes
from webhook.library.findings import Finding, Severity, findings_of
from webhook.library.review import title_of
from webhook.library.rulings import JudgedAs, Rulings
from webhook.library.verdict import Verdict as ObjectVerdict
from webhook.manifests.documents import Document

STAMPS: Final = {Standing.VALID: "valid", Standing.OUTDATED: "outdated", Standing.VOID: "none"}
"""What the stamp of an object is worth, in a word."""
_SAMPLES: Final = 1
"""Objects that are named for one problem: a right that is missing is a problem of each object."""


class StoredObject(NamedTuple):
    """An object, where it stands, by what to judge it, and why the API server would not decode it."""

    document: Document
    value: dict[str, Any]
    rules: Ruling
    causes: tuple[Cause, ...] = ()
    readable: bool = True
    judged_as: JudgedAs | None = None


class Source(Protocol):
    """What is scanned. ``problems``, ``remarks`` and ``skipped`` are complete when all objects have been read.

    ``rules`` are those as they were loaded, and ``rulings`` the same under the releases and definitions of objects.
    ``notes`` say what decides instead of the definitions of the cluster.
    """

    problems: list[Problem]
    skipped: Counter[str]
    notes: list[Problem]

    @property
    def rules(self) -> Ruling: ...

    @property
    def rulings(self) -> Rulings: ...

    @property
    def remarks(self) -> Sequence[Problem]: ...

    @property
    def view(self) -> ClusterView: ...

    def objects(self) -> Iterator[StoredObject]: ...

    def pairs(self, changed: Any) -> Iterator[tuple[StoredObject, StoredObject]]: ...


@dataclass(frozen=True, slots=True)
class Judged:
    """An object with its verdict, without the warnings that are left out, and the rules that it is judged by."""

    value: dict[str, Any]
    verdict: Verdict
    report: ObjectVerdict
    rules: Ruling


class Scan:
    """One scan of a source. ``counts`` are the objects by severity, verdict of the stamp and in all."""

    def __init__(self, source: Source, ignored: Ignoring) -> None:
        self._source = source
        self._ignored = ignored
        self._failed: dict[str, list[str]] = {}
        self._bases = Counter[JudgedAs]()
        self.counts: Counter[object] = Counter()

    def judged(self) -> Iterator[Judged]:
        """Each object with its verdict. Memory holds one object at a time, beside what the source holds."""
        for each in self._source.objects():
            try:
                found = self._judge(each)
            except ModelgateError as error:
                self._fail(error, each)
            else:
                self._count(found)
                yield found
        self._add_failures()

    def differences(self, changed: Scan) -> ChangeReport:
        """Judge each object as this scan and as a changed one, and compare the findings."""
        differences = ChangeReport()
        for each, again in self._source.pairs(changed._source):
            try:
                before, after = self._with_made(each), changed._with_made(again)
                differences.add(before, after, aside_of([again.rules]), again.rules)
            except ModelgateError as error:
                self._fail(error, each)
        self._add_failures()
        differences.problems = [*dict.fromkeys((*self._source.problems, *changed._source.problems))]
        differences.remarks = [each for each in changed._remarks() if each not in self._remarks()]
        differences.notes = [*changed._source.notes, *changed._left_out()]
        return differences

    def _with_made(self, stored: StoredObject) -> ObjectVerdict:
        """The verdict on an object, with what is filled in and what is made of it."""
        report, view = self._judge(stored).report, self._source.view
        decision = filled(stored.value, stored.rules, view) if stored.readable else None
        if decision is None or decision.object is None:
            return report
        added = tuple(changes(stored.document.value, decision.object, decision.defaults))  # a file may lack defaults
        return replace(report, filled=added, describe=partial(children_of, decision.object, stored.rules, view))

    def _fail(self, error: ModelgateError, each: StoredObject) -> None:
        self._failed.setdefault(" ".join(str(error).split()), []).append(title_of(each.value))

    def _add_failures(self) -> None:
        for text, titles in self._failed.items():
            others = f" (and {len(titles) - _SAMPLES} more objects)" if len(titles) > _SAMPLES else ""
            self._source.problems.append(Problem(f"{titles[0]}{others}", "", f"cannot be judged: {text}"))

    def report(self, docs: str) -> Report:
        """All verdicts as a report, which lists the objects with findings. ``docs`` is the address of the site."""
        report = Report([], [], self._source.problems, docs=docs, unjudged=self._source.notes)
        for each in self.judged():
            if each.report.findings:
                report.objects.append(each.report)
            else:
                report.clean += 1
        report.remarks += self._remarks()
        report.bases = self._bases
        report.skipped = self._source.skipped
        report.ignored = self.counts["ignored"]
        return report

    @property
    def unsure(self) -> bool:
        """Whether the release of an operator is not known well enough for all rules."""
        return self._source.rulings.unsure

    def _remarks(self) -> list[Problem]:
        """Warnings about definitions, releases and pins."""
        rulings = self._source.rulings
        deviations = (Problem(place, "", str(each)) for each, place in rulings.deviations.items())
        return [*deviations, *self._source.remarks, *rulings.remarks]

    def _judge(self, each: StoredObject) -> Judged:
        verdict = judge(each.value, each.rules, self._source.view) if each.readable else None
        if verdict is None:
            verdict = Verdict((), (), Standing.VOID, {})
        causes = (*each.causes, *(cause for cause in verdict.causes if cause not in each.causes))
        all_found = findings_of(each.document, causes, verdict.warnings)
        findings, count = kept(all_found, each.document, self._ignored, each.rules.shipped.codes)
        self.counts["ignored"] += count
        warnings = tuple(each_ for each_ in verdict.warnings if Finding.of_warning(each_, each.document) in findings)
        verdict = verdict._replace(causes=causes, warnings=warnings)
        title, stamp = title_of(each.value), STAMPS[verdict.standing]
        report = replace(
            ObjectVerdict.of_document(each.document, findings),
            title=title,
            object=each.value,
            stamp=stamp,
            checked=each.readable or bool(each.causes),
            judged_as=each.judged_as,
            muted=verdict.muted,
        )
        self.counts["muted"] += bool(verdict.muted)
        return Judged(each.value, verdict, report, each.rules)

    def _count(self, found: Judged) -> None:
        self.counts["judged"] += 1
        self.counts.update({each.severity for each in found.report.findings})
        self.counts[found.verdict.standing] += 1
        self._bases.update([found.report.judged_as] if found.report.judged_as else [])

    def summarise(self, file: TextIO) -> None:
        """What was done."""
        for each in self._remarks():
            say(f"warning: {each.message}", file)
        counts = self.counts
        if not counts["judged"] and not self._source.problems:
            say("0 judged: there is no object of a kind that Modelgate covers", file)
        parts = [
            f"{counts['judged']} judged",
            f"{counts[Severity.ERROR]} would be refused",
            f"{counts[Severity.WARNING]} with warnings",
            f"{counts[Standing.VOID]} without a valid stamp",
            f"{counts[Standing.OUTDATED]} with an outdated one",
        ]
        if counts["muted"]:
            parts.append(f"{counts['muted']} with findings that count for nothing")
        if counts["ignored"]:
            parts.append(f"{counts['ignored']} warnings ignored")
        say(", ".join(parts), file)
        for each in (*Report([], bases=self._bases).judgements(), *self._source.notes, *self._left_out()):
            say(each.message, file)

    def _left_out(self) -> Iterator[Problem]:
        """The note that counts what is not judged, by reason."""
        if skipped := self._source.skipped:
            counts = ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items()))
            yield Problem("", "", f"not judged: {counts}")
