"""A report as one page of HTML for a browser: it loads nothing, and its one script only hides what does not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from webhook import catalog
from webhook.admission.errors import Problem
from webhook.cli.report.codes import KUBERNETES
from webhook.cli.report.difference import ChangeReport, Difference, Effect, Impact
from webhook.cli.report.markup import document, plain, source_line
from webhook.cli.report.report import Report, rule_page
from webhook.cli.rule.shown import title_of
from webhook.facts.nodes import text as text_at
from webhook.library.apiserver import kind_of
from webhook.library.findings import CODES, Finding
from webhook.library.verdict import Result, Verdict

_AROUND: Final = 2
"""Lines of source above a finding's own."""
_TEAMS: Final = ("team", "app.kubernetes.io/part-of")
"""Labels that say whose an object is; the first one counts."""
_STYLES: Final[Mapping[str, str]] = {
    Effect.REFUSED: "error",
    Effect.WARNED: "warning",
    Effect.RESOLVED: "accepted",
    Result.REFUSED: "error",
    Result.ACCEPTED: "accepted",
}
"""The classes of words."""


class _Row(NamedTuple):
    """What is said of one field. ``sort`` is a severity, or what a change does."""

    sort: str
    code: str
    field: str
    message: str
    helps: Sequence[str]
    line: int

    @classmethod
    def of_finding(cls, found: Finding) -> _Row:
        return cls(str(found.severity), found.code, found.field, found.message, found.helps, found.place.line)

    @classmethod
    def of_impact(cls, impact: Impact) -> _Row:
        return cls(str(impact.effect), impact.code, "", impact.text, (), impact.place.line)


class _Listed(NamedTuple):
    """An object of which something is said. ``result`` is HTML; ``judged_as`` is the release, or both of a change."""

    verdict: Verdict
    result: str
    rows: Sequence[_Row]
    judged_as: str

    @property
    def kind(self) -> str:
        return str(self.verdict.document.value["kind"])

    @property
    def namespace(self) -> str:
        return text_at(self.verdict.document.value, "metadata", "namespace")

    @property
    def team(self) -> str:
        labels = (text_at(self.verdict.document.value, "metadata", "labels", name) for name in _TEAMS)
        return next(filter(None, labels), "")


class _Page(NamedTuple):
    """What is on a page. ``sort`` says what :attr:`_Row.sort` is; ``notes`` are lists of sentences below titles."""

    title: str
    tiles: Sequence[tuple[int, str, str]]
    sort: str
    listed: Sequence[_Listed]
    notes: Sequence[tuple[str, Iterable[Problem]]]
    docs: str
    packs: Sequence[Path]


def render(report: Report) -> str:
    """The page of a report: its objects with findings, and what is not judged."""
    refused, warned = report.count(Result.REFUSED), report.warned
    verdict = report.refused if refused else f"{warned:,} with warnings" if warned else "nothing to say"
    tiles = (
        (report.checked, "checked", ""),
        (refused, "refused", "error"),
        (warned, "with warnings", "warning"),
        (report.count(Result.SKIPPED), "not checked", ""),
        (len(report.problems), "unreadable", "error"),
    )
    listed = [
        _Listed(each, _word(each.result), [*map(_Row.of_finding, each.findings)], str(each.judged_as or ""))
        for each in report.objects
        if each.findings
    ]
    notes: tuple[tuple[str, Iterable[Problem]], ...] = (
        ("Not read", (*report.problems, *report.unread)),
        ("Remarks", report.remarks),
        ("Not judged", report.notes()),
        ("What operators make", _made(report) if report.children else ()),
        ("Judged by", report.judgements()),
    )
    title = f"Modelgate: {verdict}, of {report.checked:,} checked"
    return _rendered(_Page(title, tiles, "severity", listed, notes, report.docs, report.packs))


def _made(report: Report) -> Iterator[Problem]:
    """The objects that operators make of each object."""
    for verdict in report.objects:
        if names := ", ".join(child.name for child in verdict.children):
            yield Problem(f"{verdict.source}:{verdict.line}", verdict.title, names)


def render_changes(differences: ChangeReport, title: str) -> str:
    """The page of a change: each object that differs, before and after."""
    tiles = tuple((differences.counts[effect], str(effect), _STYLES.get(effect, "")) for effect in Effect)
    listed = [*map(_changed, sorted(differences.objects, key=_identity))]
    notes = (
        ("Not read", differences.problems),
        ("Remarks", differences.remarks),
        ("Not judged", differences.notes),
    )
    return _rendered(_Page(f"Modelgate: {title}", tiles, "change", listed, notes, differences.docs, ()))


def _identity(difference: Difference) -> tuple[str, int, str]:
    return difference.after.source, difference.after.line, difference.after.title


def _changed(difference: Difference) -> _Listed:
    impacts = [*difference.impacts()]
    effects = dict.fromkeys(impact.effect for impact in impacts)
    words = ", ".join(f'<span class="{_STYLES.get(each, "")}">{each}</span>' for each in effects)
    before, after = difference.before.judged_as, difference.after.judged_as
    judged_as = f"{before} → {after.release}" if before and after and before != after else str(after or before or "")
    return _Listed(difference.after, words, [*map(_Row.of_impact, impacts)], judged_as)


def _word(result: Result) -> str:
    return f'<span class="{_STYLES.get(result, "")}">{result}</span>'


def _rendered(page: _Page) -> str:
    tiles = "".join(
        f'<li><b class="{style if number else ""}">{number:,}</b>{what}</li>' for number, what, style in page.tiles
    )
    script = "page.js" if page.listed else ""
    return document(page.title, f'<ul class="tiles">{tiles}</ul>', "\n".join(_body(page)), script=script)


def _body(page: _Page) -> Iterator[str]:
    if page.listed:
        yield from _filters(page)
        counts = f'<div class="counts">{"".join(_counts(page))}</div>'
        yield f"<details><summary>Counts by code, kind and namespace</summary>{counts}</details>"
        yield '<h2>Findings</h2><p id="shown" class="soft" aria-live="polite"></p>'
        yield from map(_article, page.listed)
    else:
        yield '<p class="accepted">No finding.</p>'
    for title, problems in page.notes:
        entries = "".join(f"<li>{plain(_sentence(each))}</li>" for each in problems)
        if entries:
            yield f"<h2>{title}</h2><ul>{entries}</ul>"


def _filters(page: _Page) -> Iterator[str]:
    """A field to search by, and a choice for each property that objects or findings have."""
    rows = [row for each in page.listed for row in each.rows]
    choices = (
        ("sort", page.sort, "finding", {row.sort for row in rows}),
        ("code", "code", "finding", {row.code for row in rows}),
        ("kind", "kind", "object", {each.kind for each in page.listed}),
        ("namespace", "namespace", "object", {each.namespace for each in page.listed} - {""}),
        ("team", "team", "object", {each.team for each in page.listed} - {""}),
    )
    yield '<div class="filters" role="search" aria-label="Filter findings">'
    yield '<label>Search (press /)<input id="search" type="search"></label>'
    for name, title, of, values in choices:
        if values:
            options = "".join(f'<option value="{plain(each)}">{plain(each)}</option>' for each in sorted(values))
            select = f'<select data-filter="{name}" data-of="{of}"><option value="">all</option>{options}</select>'
            yield f"<label>{title.capitalize()}{select}</label>"
    yield '<button id="all" type="button">Show all</button></div>'


def _counts(page: _Page) -> Iterator[str]:
    sentences = _sentences(page)
    codes = Counter(row.code for each in page.listed for row in each.rows)
    yield _table("By code", codes, lambda code: f"{_code(code, page.docs)} {plain(sentences[code])}")
    properties: tuple[tuple[str, Callable[[_Listed], str]], ...] = (
        ("By kind", lambda each: each.kind),
        ("By namespace", lambda each: each.namespace),
        ("By team", lambda each: each.team),
    )
    for title, value_of in properties:
        counts = Counter[str]()
        for each in page.listed:
            counts[value_of(each)] += len(each.rows)
        del counts[""]
        if counts:
            yield _table(title, counts, plain)


def _table(title: str, counts: Counter[str], shown: Callable[[str], str]) -> str:
    rows = (f'<tr><th scope="row">{shown(name)}</th><td>{count:,}</td></tr>' for name, count in counts.most_common())
    return f"<table><caption>{title}</caption>{''.join(rows)}</table>"


def _sentences(page: _Page) -> dict[str, str]:
    """What each code means, in general words."""
    kinds = {row.code: kind_of(each.verdict.document.value) for each in page.listed for row in each.rows}
    loaded = catalog.load(packs=page.packs)
    without_rule = {**CODES, **KUBERNETES}
    sentences = dict[str, str]()
    for code, kind in kinds.items():
        known = loaded.uncompiled(kind) if code not in without_rule and kind in loaded.kinds else None
        docs = without_rule.get(code, "").partition(". ")[0].rstrip(".")
        sentences[code] = docs if known is None else title_of(code, known)
    return sentences


def _article(each: _Listed) -> str:
    verdict = each.verdict
    place = f"{verdict.source}:{verdict.line}"
    searched = f"{verdict.title} {place}".lower()
    data = {"kind": each.kind, "namespace": each.namespace, "team": each.team, "text": searched}
    attributes = "".join(f' data-{name}="{plain(value)}"' for name, value in data.items())
    findings = "".join(_finding(verdict, row) for row in each.rows)
    note = f'<p class="soft">judged as of {plain(each.judged_as)}</p>' if each.judged_as else ""
    head = f'<h3>{plain(verdict.title)}: {each.result}</h3><p class="soft">{plain(place)}</p>{note}'
    return f"<article{attributes}>{head}<ul>{findings}</ul></article>"


def _finding(verdict: Verdict, row: _Row) -> str:
    field = f"<code>{plain(row.field)}</code>: " if row.field else ""
    helps = "".join(f'<p class="help">{plain(each)}</p>' for each in row.helps)
    style = _STYLES.get(row.sort, row.sort.split(" ", 1)[0])
    head = f'<p><span class="{style}">{row.sort}</span> <code>{plain(row.code)}</code> {field}{plain(row.message)}</p>'
    return f'<li data-code="{plain(row.code)}" data-sort="{row.sort}">{head}{helps}{_source(verdict, row.line)}</li>'


def _source(verdict: Verdict, own: int) -> str:
    """The lines of the file up to a finding's own, which is marked."""
    first = max(verdict.line, own - _AROUND)
    lines = [(number, verdict.document.text_of(number)) for number in range(first, own + 1)]
    if not any(text.strip() for _, text in lines):
        return ""
    *before, last = (f"{number:>5} {source_line(text)}" for number, text in lines)
    above = "".join(f"{row}\n" for row in before)
    return f'<pre tabindex="0" role="group" aria-label="Source">{above}<mark>{last}</mark></pre>'


def _sentence(problem: Problem) -> str:
    return ": ".join(filter(None, (problem.source, problem.path, problem.message)))


def _code(code: str, docs: str) -> str:
    page = rule_page(code, docs)
    text = f"<code>{plain(code)}</code>"
    return f'<a href="{plain(page)}">{text}</a>' if page.startswith(("https://", "http://")) else text
