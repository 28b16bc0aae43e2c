"""What a change does to objects: two judgements of the same ones, and the difference between their findings.

A change is another release, profile or definition (``--what-if``), or a pin that a commit raises.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.admission import GroupVersionKind
from webhook.admission.errors import Problem
from webhook.cli.report.made import ChildChange, made_otherwise
from webhook.cli.report.report import Report
from webhook.enforcement import Degree
from webhook.engine import Ruling
from webhook.library.apiserver import kind_of
from webhook.library.explained import Change
from webhook.library.findings import CODES, Finding, Severity, ordered
from webhook.library.rulings import JudgedAs
from webhook.library.verdict import Result, Verdict
from webhook.manifests.places import Place

if TYPE_CHECKING:
    from webhook.enforcement import PolicyObject


Decides = Callable[[str], "PolicyObject | None"]
"""The Enforcement or PolicyException that decides about a rule, by its code; None if the profile does."""


class Effect(StrEnum):
    """What a change does, the gravest first."""

    REFUSED = "newly refused"
    WARNED = "newly warned"
    RELAXED = "relaxed"
    UNJUDGED = "no longer judged"
    RESOLVED = "resolved"
    DEFAULT = "other default"
    CHILD = "other child"


class Impact(NamedTuple):
    """One effect on one object. ``code`` is that of a finding or a default, the kind of a child, or "-" where the
    object is not judged.
    """

    effect: Effect
    code: str
    text: str
    source: str
    place: Place
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two verdicts on one object. An error that becomes a warning is resolved, and not new.

    ``new`` are findings of the second one, ``gone`` those of the first that the second does not have: they are
    ``relaxed`` because an Enforcement or PolicyException says so, ``unjudged`` because their rules are not applied, or
    ``resolved``. ``defaults`` are what is filled in otherwise, by path: in the first and in the second object, None
    where nothing is. ``children`` are what the operator makes otherwise. ``unchecked`` says why the object is judged no
    more, "" if it is.
    """

    before: Verdict
    after: Verdict
    new: tuple[Finding, ...]
    resolved: tuple[Finding, ...]
    unjudged: tuple[Finding, ...]
    defaults: tuple[tuple[Change | None, Change | None], ...]
    children: tuple[ChildChange, ...] = ()
    unchecked: str = ""
    relaxed: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, before: Verdict, after: Verdict, aside: Collection[str], decides: Decides) -> Difference:
        """The difference; ``aside`` are codes of rules that the second judgement does not apply to the kind, and
        ``decides`` says which policy decides about a rule in it.
        """
        if before.checked and not after.checked:
            return cls(before, after, (), (), (), (), (), after.note or "its definition does not serve this version")
        errors = _missing(after.errors, before.errors, _rule, _field)
        lost_errors = _missing(before.errors, after.errors, _rule, _field)
        warnings = _missing(_missing(after.warnings, before.warnings, _rule), lost_errors, _rule, _noted)
        lost_warnings = _missing(_missing(before.warnings, after.warnings, _rule), errors, _rule, _noted)
        gone = (*lost_errors, *lost_warnings)
        unserved = _UNSERVED in {finding.code for finding in errors}
        unjudged = tuple(finding for finding in gone if unserved or finding.code in aside)
        relaxed = tuple(finding for finding in gone if finding not in unjudged and _relaxes(finding, decides))
        resolved = tuple(finding for finding in gone if finding not in (*unjudged, *relaxed))
        accepted = before.result is after.result is Result.ACCEPTED
        defaults = tuple(_other(before.filled, after.filled)) if accepted else ()
        children = tuple(made_otherwise(before, after)) if accepted else ()
        new, relaxed = (
            tuple(_decided(finding, decides) for finding in part) for part in ((*errors, *warnings), relaxed)
        )
        return cls(before, after, new, resolved, unjudged, defaults, children, relaxed=relaxed)

    def added_to(self, verdict: Verdict) -> Verdict:
        """A verdict on the same object, as an update, with the new findings, which an update may be spared."""
        new = _missing(self.new, verdict.findings, _rule)
        texts = {finding.text for finding in new}
        findings = ordered((*(finding for finding in verdict.findings if finding.text not in texts), *new))
        return replace(verdict, findings=findings, allowed=verdict.allowed and Severity.ERROR not in _severities(new))

    def __bool__(self) -> bool:
        gone = self.relaxed or self.resolved or self.unjudged
        return bool(self.new or gone or self.defaults or self.children or self.unchecked)

    def impacts(self) -> Iterator[Impact]:
        """The effects, those of a sort together."""
        if self.unchecked:
            place = Place(self.after.line, 1, 2)
            yield Impact(Effect.UNJUDGED, "-", self.unchecked, self.after.source, place, self.after)
        for finding in self.new:
            effect = Effect.REFUSED if finding.severity is Severity.ERROR else Effect.WARNED
            yield _impact(effect, finding, self.after)
        yield from (_impact(Effect.RELAXED, finding, self.before) for finding in self.relaxed)
        yield from (_impact(Effect.UNJUDGED, finding, self.before) for finding in self.unjudged)
        yield from (_impact(Effect.RESOLVED, finding, self.before) for finding in self.resolved)
        yield from (self._default(*pair) for pair in self.defaults)
        for child in self.children:
            yield Impact(
                Effect.CHILD, child.kind, child.text, self.after.source, Place(self.after.line, 1, 2), self.after
            )

    def _default(self, before: Change | None, after: Change | None) -> Impact:
        change = after or before
        assert change is not None  # one of them is there
        verdict = self.after
        in_file = verdict.source == verdict.document.source and verdict.document.tree is not None
        place = verdict.document.place(change.path) if in_file else Place(verdict.line, 1, 2)
        codes = (side.code for side in (after, before) if side is not None and side.code)
        nothing = "nothing" if change.operation == "add" else "as written"
        values = (nothing if side is None else _value(side) for side in (before, after))
        text = f"{change.path}: {' → '.join(values)}"
        return Impact(Effect.DEFAULT, next(codes, "schema"), text, verdict.source, place, verdict)


@dataclass(slots=True)
class ChangeReport:
    """All differences that a change makes; ``changes`` say what is changed, such as ``profile standard → strict``.

    ``releases`` are those by which objects are judged before and after. ``judged`` counts the objects, and ``counts``
    those that differ, by effect. ``problems`` are what cannot be read or judged, ``remarks`` and ``notes`` what the
    second judgement says of the run and the first does not. ``docs`` is the address of the site, or "".
    """

    docs: str = ""
    changes: Sequence[str] = ()
    releases: dict[tuple[JudgedAs, JudgedAs], None] = field(default_factory=dict)
    judged: int = 0
    objects: list[Difference] = field(default_factory=list)
    counts: Counter[Effect] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    remarks: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    _impacts: list[Impact] = field(default_factory=list)

    def add(self, before: Verdict, after: Verdict, aside: AsideCodes, ruling: Ruling) -> Difference:
        """Compare two verdicts on one object, the second of which is by a ruling, without the rules ``aside``."""
        self.judged += before.checked or after.checked
        if before.judged_as is not None and after.judged_as is not None:
            self.releases[before.judged_as, after.judged_as] = None
        value = after.document.value
        difference = Difference.of(before, after, aside.get(kind_of(value), ()), partial(ruling.policy_about, value))
        if difference:
            self.objects.append(difference)
            impacts = [*difference.impacts()]
            self._impacts += impacts
            self.counts.update({impact.effect for impact in impacts})
        return difference

    def add_reports(self, before: Report, after: Report, rulings: Iterable[Ruling]) -> list[Difference]:
        """Compare two reports on the same files, the second of which is by these rulings, object by object."""
        made = [*rulings]  # how strict they are is the same in all
        aside = aside_of(made)
        differences = [self.add(*pair, aside, made[0]) for pair in zip(before.objects, after.objects, strict=True)]
        self.problems = after.problems
        self.remarks = [remark for remark in after.remarks if remark not in before.remarks]
        self.notes = [*after.notes()]
        return differences

    def impacts(self) -> list[Impact]:
        """All effects, the gravest first, by code, and then in the order of the objects."""
        order = {effect: number for number, effect in enumerate(Effect)}
        return sorted(self._impacts, key=lambda impact: (order[impact.effect], impact.code))

    @property
    def severities(self) -> frozenset[Severity]:
        """Those of the new findings."""
        return _severities(finding for difference in self.objects for finding in difference.new)


AsideCodes = Mapping[GroupVersionKind, Collection[str]]
"""The codes of rules that are not applied, by kind."""


def aside_of(rulings: Iterable[Ruling]) -> AsideCodes:
    """The codes of the rules that are not applied, and those of the schema where its release has none."""
    aside: dict[GroupVersionKind, frozenset[str]] = {}
    for ruling in rulings:
        catalog = ruling.catalog
        for deviation in ruling.deviations:
            kind = deviation.kind
            has_no_schema = kind in catalog.kinds and catalog.uncompiled(kind).in_force.is_older
            codes = {*deviation.aside, *(_OF_SCHEMA if has_no_schema else ())}
            aside[kind] = aside.get(kind, frozenset()) | codes
    return aside


def _severities(findings: Iterable[Finding]) -> frozenset[Severity]:
    return frozenset(finding.severity for finding in findings)


def _relaxes(finding: Finding, decides: Decides) -> bool:
    policy = _policy_about(finding, decides)
    return policy is not None and policy.action != Degree.DENY


def _policy_about(finding: Finding, decides: Decides) -> PolicyObject | None:
    """What decides about a finding; nothing does about those of the API server."""
    return None if finding.code in CODES else decides(finding.code)


def _decided(finding: Finding, decides: Decides) -> Finding:
    """The finding, with what an Enforcement or a PolicyException makes of it."""
    policy = _policy_about(finding, decides)
    if policy is None:
        return finding
    return replace(finding, message=f"{finding.message} ({policy.action or 'excepted'} by {policy})")


Key = Callable[[Finding], object]

_OF_SCHEMA: Final = ("schema", "unknown-field")
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
    old, new = ({change.path: change for change in changes} for changes in (before, after))
    for path in dict.fromkeys((*new, *old)):
        one, other = old.get(path), new.get(path)
        if one is None or other is None or _value(one) != _value(other):
            yield one, other


def _value(change: Change) -> str:
    """What stands at a path, as text."""
    return "removed" if change.operation == "remove" else json.dumps(change.value, ensure_ascii=False)


def _impact(effect: Effect, finding: Finding, verdict: Verdict) -> Impact:
    text = finding.text_with_helps if effect in (Effect.REFUSED, Effect.WARNED) else finding.text
    return Impact(effect, finding.code, text, verdict.source, finding.place, verdict)
