"""The report of a change: counts by code, namespace and file first, then places, as many as a person reads."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from typing import Any, Final, NamedTuple

from webhook.admission.errors import Problem
from webhook.cli.output import counted, inert_json, printable, say
from webhook.cli.report import machine, markdown
from webhook.cli.report.difference import ChangeReport, Difference, Effect, Impact
from webhook.cli.report.report import Report
from webhook.cli.report.text import Style
from webhook.cli.terminal import aligned
from webhook.facts.nodes import text as text_at
from webhook.library.explained import Change
from webhook.library.findings import CODES
from webhook.library.verdict import Verdict

_NAMES: Final = 2
"""Namespaces and files that a row names; the others are counted."""
_OF_CODE: Final = 5
"""Places of one code: they are alike."""
_PLACES: Final = 60
"""Places in all: two screens. A comment on a pull request has 65,536 characters, and a place at most 600."""
_COLOURS: Final[Mapping[str, str]] = {Effect.REFUSED: "red", Effect.WARNED: "yellow", Effect.RESOLVED: "green"}


def show(differences: ChangeReport, options: argparse.Namespace, form: str) -> None:
    """Print the report in a format, and on standard error what else a person may want to know."""
    for line in _rendered(differences, form, Style.of(options.color, sys.stdout), whole=options.verbose):
        print(line)
    for note in () if options.quiet else _explaining(differences):
        say(note.message, sys.stderr)


def _rendered(differences: ChangeReport, form: str, style: Style, *, whole: bool) -> Iterator[str]:
    """The report in a format, as lines or as one text; ``whole``: with all places (text)."""
    if form == "json":
        yield inert_json(json.dumps(_document(differences), ensure_ascii=True, indent=2))
    elif form == "github":
        yield from machine.github(_annotations(differences))
    elif form == "markdown":
        yield from _markdown(differences)
    elif form == "html":
        from webhook.cli.report.page import render_changes  # noqa: PLC0415 - it loads the texts of all rules

        yield render_changes(differences, _summary(differences))
    else:
        yield from _lines(differences, style, whole=whole)


def summed_up(differences: ChangeReport) -> str:
    """How many objects differ by each effect."""
    counts = differences.counts
    named = ", ".join(f"{counts[effect]:,} {_PLURALS[effect]}" for effect in Effect if counts[effect])
    return f"{named or 'nothing changes'} ({counted(differences.judged, 'object')} judged twice)"


def _summary(differences: ChangeReport) -> str:
    """What is changed, and what that does."""
    return f"what if {', '.join(differences.changes)}: {summed_up(differences)}"


def _explaining(differences: ChangeReport) -> Iterator[Problem]:
    """What else a person may want to know: what is not judged, and how to look up a code."""
    yield from differences.notes
    new = (impact.code for impact in differences.impacts() if impact.effect in (Effect.REFUSED, Effect.WARNED))
    if code := next((rule for rule in new if rule not in CODES), ""):
        yield Problem("", "", f"`modelgate rule {code}` explains a code, with an object that is right")


_PLURALS: Final = {
    **{effect: str(effect) for effect in Effect},
    Effect.DEFAULT: "with other defaults",
    Effect.CHILD: "with other children",
}


class _Group(NamedTuple):
    """The objects with one effect by one code; how many there are in all, in each namespace and in each file."""

    effect: Effect
    code: str
    objects: int
    namespaces: Counter[str]
    files: Counter[str]

    def cells(self) -> tuple[str, ...]:
        return str(self.effect), self.code, f"{self.objects:,}", _some(self.namespaces), _some(self.files)


_HEAD: Final = ("CHANGE", "CODE", "OBJECTS", "NAMESPACES", "FILES")


def _groups(differences: ChangeReport) -> Iterator[_Group]:
    for (effect, code), impacts in groupby(differences.impacts(), key=_sort):
        verdicts = {(impact.source, impact.verdict.line, impact.verdict.title): impact.verdict for impact in impacts}
        namespaces = Counter(text_at(verdict.document.value, "metadata", "namespace") for verdict in verdicts.values())
        files = Counter(verdict.source for verdict in verdicts.values() if verdict.document.piece is not None)
        del namespaces[""]
        yield _Group(effect, code, len(verdicts), namespaces, files)


def _sort(impact: Impact) -> tuple[Effect, str]:
    return impact.effect, impact.code


def _some(counts: Counter[str]) -> str:
    """The names with most objects, and how many more there are."""
    names = [f"{printable(name)} ({count:,})" for name, count in counts.most_common(_NAMES)]
    more = f" and {len(counts) - _NAMES:,} more" if len(counts) > _NAMES else ""
    return ", ".join(names) + more or "-"


def _shown(differences: ChangeReport) -> list[Impact]:
    """The places that a person reads: some of each code."""
    groups = groupby(differences.impacts(), key=_sort)
    return [*islice(chain.from_iterable(islice(group, _OF_CODE) for _, group in groups), _PLACES)]


def _left_out(differences: ChangeReport, shown: Collection[Impact], how: str) -> Iterator[str]:
    """The line about the places that are not listed."""
    if more := len(differences.impacts()) - len(shown):
        yield f"not listed: {counted(more, 'more place')}; {how} has all"


def _lines(differences: ChangeReport, style: Style, *, whole: bool) -> Iterator[str]:
    yield style.paint("bold", _summary(differences))
    for remark in differences.remarks:
        yield f"{printable(remark.source)}: {style.paint('yellow', 'warning')}: {printable(remark.message)}"
    rows = [_HEAD, *(group.cells() for group in _groups(differences))]
    if len(rows) > 1:
        yield from aligned(rows, paint=lambda _, row, cell: _painted(row, cell, style))
        yield ""
    shown = differences.impacts() if whole else _shown(differences)
    for impact in shown:
        where = style.paint("bold", f"{impact.source}:{impact.place.line}:{impact.place.column}")
        effect = _colour(impact.effect, style, f"{impact.code} {impact.effect}")
        yield f"{where}: {effect}: {printable(f'{impact.text} ({impact.verdict.title})')}"
    yield from _left_out(differences, shown, "-v")


def _painted(row: Sequence[str], cell: str, style: Style) -> str:
    return _colour(row[0], style, cell) if cell.strip() == row[0] else cell


def _colour(effect: str, style: Style, text: str) -> str:
    colour = _COLOURS.get(effect)
    return style.paint(colour, text) if colour else printable(text)


def _markdown(differences: ChangeReport) -> Iterator[str]:
    """A comment for a pull request. What manifests say stands in code, where it is neither a link nor a mention."""
    yield f"### {markdown.plain(_summary(differences))}"
    if differences.objects:
        yield from ("", "| change | code | objects | namespaces | files |", "|---|---|---|---|---|")
    for group in _groups(differences):
        yield f"| {' | '.join(map(markdown.code, group.cells()))} |"
    shown = _shown(differences)
    if shown:
        yield from ("", f"<details><summary>Places ({len(shown):,})</summary>", "")
        for impact in shown:
            where = markdown.code(f"{impact.source}:{impact.place.line}")
            what = f"{markdown.code(impact.code)} {impact.effect}, {markdown.code(impact.verdict.title)}"
            yield f"- {where} {what}: {markdown.code(impact.text)}"
        yield from ("", "</details>")
    left_out = _left_out(differences, shown, "`-o json`")
    yield from chain.from_iterable(("", line) for line in left_out)
    for problem in (*differences.problems, *differences.remarks, *differences.notes):
        yield from ("", markdown.code(str(problem)))


def _document(differences: ChangeReport) -> dict[str, Any]:
    """The report as JSON values; its fields are those of ``what-if-report.schema.json``."""
    parts = {name: machine.document(_report(differences, name)) for name in _SORTS}
    counts, new = differences.counts, parts["new"]
    objects = zip(differences.objects, *(part["objects"] for part in parts.values()), strict=True)
    return {
        "apiVersion": machine.API_VERSION,
        "kind": "WhatIfReport",
        "tool": new["tool"],
        "changes": [*differences.changes],
        "summary": {"judged": differences.judged, **{_KEYS[effect]: counts[effect] for effect in Effect}},
        "codes": [{**group._asdict(), "effect": _KEYS[group.effect]} for group in _groups(differences)],
        "objects": [_object(difference, *sorts) for difference, *sorts in objects],
        **{key: new[key] for key in ("problems", "remarks", "notes")},
    }


_KEYS: Final = {
    Effect.REFUSED: "refused",
    Effect.WARNED: "warned",
    Effect.RELAXED: "relaxed",
    Effect.UNJUDGED: "unjudged",
    Effect.RESOLVED: "resolved",
    Effect.DEFAULT: "otherDefaults",
    Effect.CHILD: "otherChildren",
}


_NAMING: Final = ("file", "line", "apiVersion", "kind", "namespace", "name")


_SORTS: Final = ("new", "relaxed", "resolved", "unjudged")
"""Fields with findings."""


def _object(difference: Difference, *sorts: dict[str, Any]) -> dict[str, Any]:
    """An object that differs: what names it, and its findings by effect; ``sorts`` are it with those of one sort."""
    return {
        **{key: value for key, value in sorts[0].items() if key in _NAMING},
        "before": str(difference.before.result),
        "after": str(difference.after.result),
        **({"note": difference.unchecked} if difference.unchecked else {}),
        **{name: sort["findings"] for name, sort in zip(_SORTS, sorts, strict=True)},
        "otherDefaults": [_default(*pair) for pair in difference.defaults],
        "otherChildren": [child._asdict() for child in difference.children],
    }


def _default(before: Change | None, after: Change | None) -> dict[str, Any]:
    """What is filled in at a field: ``before`` and ``after`` are absent where it is as written."""
    pairs = (("before", before), ("after", after))
    filled = {name: change for name, change in pairs if change is not None}
    (field, *_) = (change.path for change in filled.values())
    parts = {
        name: {"operation": change.operation, "value": change.value, "reason": change.reason, "code": change.code}
        for name, change in filled.items()
    }
    return {"field": field, **parts}


def _report(differences: ChangeReport, name: str) -> Report:
    """A report of the objects that differ, with the findings of one sort."""
    verdicts = [
        replace(one.after if name == "new" else one.before, findings=getattr(one, name), filled=())
        for one in differences.objects
    ]
    remarks, problems = differences.remarks, differences.problems
    return Report(verdicts, remarks, problems, docs=differences.docs, unjudged=differences.notes)


def _annotations(differences: ChangeReport) -> Report:
    """A report of the new findings, each with the change, and of what is judged no more; one note sums up."""
    change = f"(what if {', '.join(differences.changes)})"
    report = _report(differences, "new")
    report.objects = [_with(verdict, change) for verdict in report.objects if verdict.checked]
    unchecked = [one for one in differences.objects if one.unchecked]
    notes = [Problem(f"{one.after.source}:{one.after.line}", "", f"{one.unchecked} {change}") for one in unchecked]
    report.unjudged = [*notes, *differences.notes, Problem("", "", _summary(differences))]
    return report


def _with(verdict: Verdict, change: str) -> Verdict:
    """The verdict, whose findings name the change."""
    findings = (replace(finding, message=f"{finding.message} {change}") for finding in verdict.findings)
    return replace(verdict, findings=tuple(findings))
