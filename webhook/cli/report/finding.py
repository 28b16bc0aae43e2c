"""Findings: what is wrong with an object, at which place of which file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from webhook.admission import Cause, Warn
from webhook.admission.errors import Problem
from webhook.cli.report.changes import Change
from webhook.manifests.documents import Document
from webhook.manifests.places import Place, Remark
from webhook.policy import field_path

__all__ = ["CODES", "Finding", "ObjectReport", "Report", "Severity", "Verdict"]

CODES: Final = {
    "schema": "The definition of the kind, or the API server's own validation of metadata, refuses the value. The "
    "text is the API server's.",
    "unknown-field": "The definition has no such field. The API server refuses it under strict validation, and drops "
    "it otherwise.",
    "unknown-kind": "No definition of this group serves the kind or the version. Give the definition with --crds if "
    "the cluster has it.",
    "policy": "A ValidatingAdmissionPolicy or MutatingAdmissionPolicy of --admission-policies says this.",
    "size": "The object has more values than the gate judges.",
    "yaml": "kubectl and kustomize read the same text as two different values, so that the object depends on the "
    "program that applies it. A key that is written twice is an error: kubectl takes the last one, while kustomize and "
    "strict field validation refuse it.",
    "note": "A remark without a rule, such as a finding that an update is not refused for.",
    "unreadable": "The file or document cannot be read, so that nothing is said about what is in it.",
}
"""The codes of findings that are not a rule's."""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Verdict(StrEnum):
    ACCEPTED = "accepted"
    REFUSED = "refused"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. ``reason`` is the API server's type of the cause (``FieldValueInvalid``), "" for a warning.

    ``helps`` say what to write instead; ``policy`` names the native policy that it is from.
    """

    severity: Severity
    code: str
    field: str
    message: str
    place: Place
    helps: tuple[str, ...] = ()
    reason: str = ""
    policy: str = ""

    @classmethod
    def of_cause(cls, cause: Cause, document: Document, helps: tuple[str, ...] = ()) -> Finding:
        label, policy = cause.label, cause.refusal.policy if cause.refusal else ""
        if label == "schema":
            label = _schema_code(cause)
        hints = (*map(str, cause.hints), *helps)
        place = document.place(cause.field)
        return cls(Severity.ERROR, label, cause.field, cause.message, place, hints, cause.reason, policy)

    @classmethod
    def of_warning(cls, warning: Warn, document: Document) -> Finding:
        label = "note" if warning.label == "schema" else warning.label
        place = document.place(warning.field)
        return cls(Severity.WARNING, label, warning.field, warning.message, place, policy=warning.policy)

    @classmethod
    def of_remark(cls, remark: Remark) -> Finding:
        return cls(Severity.WARNING, "yaml", field_path(remark.path), remark.message, remark.place)

    @property
    def is_rule(self) -> bool:
        """Whether `modelgate rule` explains its code by a rule."""
        return self.code not in CODES

    @property
    def text(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


def _schema_code(cause: Cause) -> str:
    if cause.message.startswith("unknown field"):
        return "unknown-field"
    if cause.message.startswith("duplicate key "):
        return "yaml"
    return "unknown-kind" if cause.message.startswith("no matches for kind") else "schema"


@dataclass(frozen=True, slots=True)
class ObjectReport:
    """An object, the verdict, and its findings in the order of the file. ``note`` says why an object is skipped, or how
    many of its findings are not new.

    ``stamp`` is, of a stored object, what its stamp is worth: ``valid``, ``outdated`` or ``none``.
    """

    document: Document
    title: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    note: str = ""
    changes: tuple[Change, ...] = ()
    comparison: tuple[str, ...] = ()
    stamp: str = ""


@dataclass(slots=True)
class Report:
    """All objects; ``remarks`` are warnings about policies and definitions, ``problems`` what cannot be read.

    ``skipped`` counts what is not read, by its reason; ``unread`` is the part of it that is not YAML or JSON.
    ``before`` counts the findings that are not new and not listed. ``unjudged`` says which values are not judged, a
    sentence for each reason. ``clean`` counts the objects without findings that are not listed. ``docs`` is the address
    of the site with a page for each rule, "" if it is not known.
    """

    objects: list[ObjectReport]
    remarks: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    ignored: int = 0
    clean: int = 0
    docs: str = ""
    unread: list[Problem] = field(default_factory=list)
    unjudged: list[Problem] = field(default_factory=list)
    before: int = 0

    def count(self, verdict: Verdict) -> int:
        return sum(each.verdict is verdict for each in self.objects)

    @property
    def checked(self) -> int:
        return self.clean + len(self.objects) - self.count(Verdict.SKIPPED)

    @property
    def warned(self) -> int:
        """How many objects have a warning."""
        return sum(any(found.severity is Severity.WARNING for found in each.findings) for each in self.objects)

    def notes(self) -> Iterator[Problem]:
        """What is not judged: a sentence for each reason, with counts, and the first place."""
        reasons: dict[str, list[ObjectReport]] = {}
        for each in self.objects:
            if each.verdict is Verdict.SKIPPED:
                reasons.setdefault(each.note, []).append(each)
        for reason, objects in sorted(reasons.items()):
            kinds = Counter(f"{each.document.value['apiVersion']} {each.document.value['kind']}" for each in objects)
            named = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            first = objects[0].document
            yield Problem(f"{first.source}:{first.line}", "", f"not checked: {named}: {reason}")
        yield from self.unjudged
        if self.before:
            text = f"not reported: {self.before} {'finding' if self.before == 1 else 'findings'} as before (--all)"
            yield Problem("", "", text)
        if self.skipped:
            counts = ", ".join(f"{count} {reason}" for reason, count in sorted(self.skipped.items()))
            yield Problem(self.unread[0].source if self.unread else "", "", f"not read: {counts}")

    def findings(self) -> Iterator[tuple[ObjectReport, Finding]]:
        for each in self.objects:
            yield from ((each, found) for found in each.findings)
