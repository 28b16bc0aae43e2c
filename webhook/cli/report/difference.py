"""What a change does to objects: two judgements of the same ones, and the difference between their findings.

A change is another release, profile or definition (``--what-if``), or a pin that a commit raises.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from webhook.admission import GroupVersionKind
from webhook.admission.errors import Problem
from webhook.cli.report.report import Report
from webhook.engine import Ruling
from webhook.library.apiserver import kind_of
from webhook.library.explained import Change
from webhook.library.findings import Finding, Severity
from webhook.library.rulings import JudgedAs
from webhook.library.verdict import Result, Verdict
from webhook.manifests.places import Place

__all__ = ["Difference", "Differences", "Effect", "aside_of"]


class Effect(StrEnum):
    """What a change does, the gravest first."""

    REFUSED = "newly refused"
    WARNED = "newly warned"
    UNJUDGED = "no longer judged"
    MENDED = "mended"
    DEFAULT = "other default"


class Step(NamedTuple):
    """One effect on one object. ``code`` is that of a finding or a default, "-" where the object is not judged."""

    effect: Effect
    code: str
    text: str
    source: str
    place: Place
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two verdicts on one object. An error that becomes a warning is mended, and not new.

    ``new`` are findings of the second one, ``gone`` those of the first that the second does not have: they are
    ``mended``, or ``unjudged`` because their rules are not applied. ``defaults`` are what is filled in otherwise, by
    path: in the first and in the second object, None where nothing is. ``unchecked`` says why the object is judged no
    more, "" if it is.
    """

    before: Verdict
    after: Verdict
    new: tuple[Finding, ...]
    mended: tuple[Finding, ...]
    unjudged: tuple[Finding, ...]
    defaults: tuple[tuple[Change | None, Change | None], ...]
    unchecked: str = ""

    @classmethod
    def of(cls, before: Verdict, after: Verdict, aside: Collection[str]) -> Difference:
        """The difference; ``aside`` are codes of rules that the second judgement does not apply to the kind."""
        if before.checked and not after.checked:
            return cls(before, after, (), (), (), (), after.note or "its definition does not serve this version")
        errors = _missing(after.errors, before.errors, _rule, _field)
        lost_errors = _missing(before.errors, after.errors, _rule, _field)
        warnings = _missing(_missing(after.warnings, before.warnings, _rule), lost_errors, _rule, _noted)
        lost_warnings = _missing(_missing(before.warnings, after.warnings, _rule), errors, _rule, _noted)
        gone = (*lost_errors, *lost_warnings)
        unserved = _UNSERVED in {each.code for each in errors}
        unjudged = tuple(each for each in gone if unserved or each.code in aside)
        mended = tuple(each for each in gone if each not in unjudged)
        accepted = before.result is after.result is Result.ACCEPTED
        defaults = tuple(_other(before.filled, after.filled)) if accepted else ()
        return cls(before, after, (*errors, *warnings), mended, unjudged, defaults)

    def __bool__(self) -> bool:
        return bool(self.new or self.mended or self.unjudged or self.defaults or self.unchecked)

    def steps(self) -> Iterator[Step]:
        """The effects, those of a sort together."""
        if self.unchecked:
            place = Place(self.after.line, 1, 2)
            yield Step(Effect.UNJUDGED, "-", self.unchecked, self.after.source, place, self.after)
        for finding in self.new:
            effect = Effect.REFUSED if finding.severity is Severity.ERROR else Effect.WARNED
            yield _step(effect, finding, self.after)
        yield from (_step(Effect.UNJUDGED, finding, self.before) for finding in self.unjudged)
        yield from (_step(Effect.MENDED, finding, self.before) for finding in self.mended)
        yield from (self._default(*pair) for pair in self.defaults)

    def _default(self, before: Change | None, after: Change | None) -> Step:
        change = after or before
        assert change is not None  # one of them is there
        verdict = self.after
        in_file = verdict.source == verdict.document.source and verdict.document.tree is not None
        place = verdict.document.place(change.path) if in_file else Place(verdict.line, 1, 2)
        codes = (each.code for each in (after, before) if each is not None and each.code)
        nothing = "nothing" if change.operation == "add" else "as written"
        values = (nothing if each is None else _value(each) for each in (before, after))
        text = f"{change.path}: {' → '.join(values)}"
        return Step(Effect.DEFAULT, next(codes, "schema"), text, verdict.source, place, verdict)


@dataclass(slots=True)
class Differences:
    """All differences that a change makes; ``changes`` say what is changed, such as ``profile standard → strict``.

    ``releases`` are those by which objects are judged before and after.
    ``judged`` counts the objects. ``problems`` are what cannot be read or judged, ``remarks`` and ``notes`` what the
    second judgement says of the run and the first does not. ``docs`` is the address of the site, or "".
    """

    docs: str = ""
    changes: Sequence[str] = ()
    releases: dict[tuple[JudgedAs, JudgedAs], None] = field(default_factory=dict)
    judged: int = 0
    objects: list[Difference] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    remarks: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)

    def add(self, before: Verdict, after: Verdict, aside: Aside) -> None:
        """Compare two verdicts on one object, the second of which is without the rules ``aside``."""
        self.judged += before.checked or after.checked
        if before.judged_as is not None and after.judged_as is not None:
            self.releases[before.judged_as, after.judged_as] = None
        found = Difference.of(before, after, aside.get(kind_of(after.document.value), ()))
        if found:
            self.objects.append(found)

    def add_reports(self, before: Report, after: Report, rulings: Iterable[Ruling]) -> None:
        """Compare two reports on the same files, the second of which is by these rulings."""
        aside = aside_of(rulings)
        for pair in zip(before.objects, after.objects, strict=True):
            self.add(*pair, aside)
        self.problems = after.problems
        self.remarks = [each for each in after.remarks if each not in before.remarks]
        self.notes = [*after.notes()]

    def steps(self) -> list[Step]:
        """All effects, the gravest first, by code, and then in the order of the objects."""
        order = {effect: number for number, effect in enumerate(Effect)}
        steps = (step for each in self.objects for step in each.steps())
        return sorted(steps, key=lambda step: (order[step.effect], step.code))

    def counts(self) -> Mapping[Effect, int]:
        """The objects by effect: those with at least one such step."""
        return Counter(effect for each in self.objects for effect in {step.effect for step in each.steps()})

    @property
    def severities(self) -> frozenset[Severity]:
        """Those of the new findings."""
        return frozenset(finding.severity for each in self.objects for finding in each.new)


Aside = Mapping[GroupVersionKind, Collection[str]]
"""The codes of rules that are not applied, by kind."""


def aside_of(rulings: Iterable[Ruling]) -> Aside:
    """The codes of the rules that are not applied to each kind."""
    aside: dict[GroupVersionKind, frozenset[str]] = {}
    for each in (deviation for ruling in rulings for deviation in ruling.deviations):
        aside[each.kind] = aside.get(each.kind, frozenset()) | {*each.aside}
    return aside


Key = Callable[[Finding], object]

_UNSERVED: Final = "unknown-kind"
"""The code of a finding beside which nothing else is judged."""


def _rule(finding: Finding) -> object:
    return finding.code, finding.policy, finding.field


def _field(finding: Finding) -> object:
    """A field that is refused in other words is refused as before."""
    return finding.field or finding


def _noted(finding: Finding) -> object:
    """Under the profile audit, a note says what would be refused at a field."""
    return finding.field if finding.field and (finding.reason or finding.code == "note") else finding


def _missing(findings: Iterable[Finding], others: Iterable[Finding], *keys: Key) -> tuple[Finding, ...]:
    """The findings that have no like among others, by each of the keys in turn; each of the others counts once."""
    left, pool = [*findings], [*others]
    for key in keys:
        there = Counter(map(key, pool))
        common = Counter(map(key, left)) & there
        left, pool = _less(left, common, key), _less(pool, common, key)
    return tuple(left)


def _less(findings: Iterable[Finding], common: Mapping[object, int], key: Key) -> list[Finding]:
    """The findings without as many of each key as are common."""
    rest, left = Counter(common), []
    for finding in findings:
        if rest[key(finding)]:
            rest[key(finding)] -= 1
        else:
            left.append(finding)
    return left


def _other(before: Iterable[Change], after: Iterable[Change]) -> Iterator[tuple[Change | None, Change | None]]:
    """What is filled in otherwise, by path."""
    old, new = ({each.path: each for each in changes} for changes in (before, after))
    for path in dict.fromkeys((*new, *old)):
        one, other = old.get(path), new.get(path)
        if one is None or other is None or _value(one) != _value(other):
            yield one, other


def _value(change: Change) -> str:
    """What stands at a path, as text."""
    return "removed" if change.operation == "remove" else json.dumps(change.value, ensure_ascii=False)


def _step(effect: Effect, finding: Finding, verdict: Verdict) -> Step:
    text = "; help: ".join((finding.text, *finding.helps))
    return Step(effect, finding.code, text, verdict.source, finding.place, verdict)
