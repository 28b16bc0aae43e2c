"""What the gate says of one object, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from webhook.admission import Muted
from webhook.children import Child
from webhook.library.explained import Change, changes
from webhook.library.findings import Finding, Severity, findings_of, ordered
from webhook.library.review import ReviewedManifest, title_of
from webhook.library.rulings import JudgedAs
from webhook.manifests.documents import Document


class Result(StrEnum):
    """A verdict in a word, as reports print it."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    SKIPPED = "skipped"


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
        document: the object as it was written, with the places of its fields.
        comparison: lines about the objects among which one is chosen for this one; see ``check -v``.
        muted: findings that count for nothing by an Enforcement or a PolicyException: ``finding``, ``action``
            (``audit``, ``off`` or ``except``) and ``by``, its name.
        stamp: of a stored object, what its stamp is worth: ``valid``, ``outdated`` or ``none``.
        judged_as: the release of the operator by which it is judged: ``release`` (``LLMKube 0.9.19``), what says so
            (``by``: ``pin``, ``setting``, ``definitions`` or ``documented``), and the ``places`` of a pin; None if the
            operator has no releases.
        children: the objects that the operator makes of this one, where a description says it, as the operator sends
            them. Each has its ``object``, its ``name``, and ``origin(keys)``: the field that decides a place of it.
    """

    title: str
    source: str
    line: int
    checked: bool
    allowed: bool
    findings: tuple[Finding, ...]
    object: dict[str, Any]
    filled: tuple[Change, ...]
    document: Document = field(repr=False)
    unknown: tuple[str, ...] = ()
    note: str = ""
    comparison: tuple[str, ...] = field(default=(), repr=False)
    muted: tuple[Muted, ...] = field(default=(), repr=False)
    stamp: str = field(default="", repr=False)
    judged_as: JudgedAs | None = None
    describe: Callable[[], Sequence[Child]] = field(default=tuple, repr=False, compare=False)

    @property
    def children(self) -> tuple[Child, ...]:
        """They are made anew each time: most verdicts are not asked."""
        return tuple(self.describe())

    @property
    def result(self) -> Result:
        if not self.checked:
            return Result.SKIPPED
        return Result.ACCEPTED if self.allowed else Result.REFUSED

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity is Severity.ERROR)

    @property
    def refusal(self) -> str:
        """The code and the text of the first error; "" without one."""
        return next((f"{error.code} {error.text}" for error in self.errors), "")

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
    def of(cls, outcome: ReviewedManifest, findings: Iterable[Finding] | None = None) -> Verdict:
        """The verdict of a review: by all of its findings, or by these."""
        document, decision = outcome.document, outcome.validation
        if not outcome.reviewed:
            return replace(cls.of_document(document, ()), checked=False, note=outcome.unchecked)
        if findings is None:
            findings = findings_of(document, decision.causes, decision.warnings)
        stored = outcome.mutation.object or outcome.merged
        return replace(
            cls.of_document(document, findings),
            object=stored,
            filled=tuple(changes(outcome.merged, stored, outcome.mutation.defaults)),
            unknown=outcome.unknown,
            comparison=outcome.comparison,
            judged_as=outcome.judged_as,
            describe=outcome.describe,
            muted=decision.muted,
        )

    @classmethod
    def of_document(cls, document: Document, findings: Iterable[Finding]) -> Verdict:
        """The verdict about an object to which nothing is added."""
        found = ordered(findings)
        return cls(
            title=title_of(document.value),
            source=document.source,
            line=document.line,
            checked=True,
            allowed=not any(finding.severity is Severity.ERROR for finding in found),
            findings=found,
            object=document.value,
            filled=(),
            document=document,
        )
