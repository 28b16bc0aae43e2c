"""What the gate says of one object, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webhook.library.changes import Change, changes
from webhook.library.findings import Finding, Severity, findings_of, ordered
from webhook.library.review import ReviewedManifest

__all__ = ["Verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of one object.

    Attributes:
        title: kind, namespace and name: ``Model default/llama``.
        source: the file that it is in, ``text`` or ``object``; ``line`` counts from 1.
        checked: whether there is anything to judge it by; if not, ``note`` says why, and it is allowed.
        allowed: whether a cluster would store it.
        findings: all errors and warnings, in the order of the file. Each has ``severity``, ``code``, ``field``,
            ``message``, ``helps`` (what to write instead) and ``place`` (``line`` and ``column``).
        object: the object as it would be stored, with its stamp.
        filled: what was filled in, replaced or removed: ``path``, ``value``, ``reason`` and the ``code`` of the rule,
            "" for a default of the definition.
        unknown: the values that are not judged: those that Flux substitutes or SOPS encrypts.
    """

    title: str
    source: str
    line: int
    checked: bool
    allowed: bool
    findings: tuple[Finding, ...]
    object: dict[str, Any]
    filled: tuple[Change, ...]
    unknown: tuple[str, ...] = ()
    note: str = ""

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity is Severity.WARNING)

    @property
    def codes(self) -> frozenset[str]:
        """The codes of all findings; `modelgate rule CODE` explains one."""
        return frozenset(each.code for each in self.findings)

    def __str__(self) -> str:
        if not self.checked:
            return f"{self.title}: not checked: {self.note}"
        lines = [f"{self.title}: {'allowed' if self.allowed else 'refused'}"]
        for each in self.findings:
            lines.append(f"  {each.severity}[{each.code}] {each.text}")
            lines += [f"    {text}" for text in each.helps]
        return "\n".join(lines)

    @classmethod
    def of(cls, outcome: ReviewedManifest) -> Verdict:
        """The verdict of a review."""
        document, decision = outcome.document, outcome.validation
        findings = ordered(findings_of(document, decision.causes, decision.warnings)) if outcome.reviewed else ()
        stored = outcome.mutation.object or outcome.merged
        return cls(
            title=outcome.title,
            source=document.source,
            line=document.line,
            checked=outcome.reviewed,
            allowed=not any(each.severity is Severity.ERROR for each in findings),
            findings=findings,
            object=stored,
            filled=tuple(changes(outcome.merged, stored, outcome.mutation.defaults)),
            unknown=outcome.unknown,
            note=outcome.unchecked,
        )
