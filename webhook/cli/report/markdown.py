"""A report as Markdown: a comment on a pull request or a summary of a job. What manifests say stands in code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from webhook.admission.errors import Problem
from webhook.cli.output import printable
from webhook.cli.report.report import Report, rule_page
from webhook.library.findings import Finding, Severity
from webhook.library.verdict import Result, Verdict

_TEXT: Final = 400
"""Characters of a text in a comment."""
_ROWS: Final = 60
"""Findings in all: two screens. A comment on a pull request has 65,536 characters, and a row at most 900."""
_HEAD: Final = ("", "| | code | place | object | finding |", "|---|---|---|---|---|")


def render(report: Report) -> Iterator[str]:
    """The lines: one of summary, a table of the findings, the errors first, and what is not judged."""
    something = report.count(Result.REFUSED) or report.warned
    counts = f"{report.refused}, {report.warned:,} with warnings" if something else "no finding"
    yield f"### modelgate: {counts}, of {report.checked:,} checked"
    rows = sorted(report.findings(), key=lambda row: row[1].severity is not Severity.ERROR)
    yield from _HEAD if rows else ()
    yield from (_row(verdict, finding, report.docs) for verdict, finding in rows[:_ROWS])
    if len(rows) > _ROWS:
        yield from ("", f"not listed: {len(rows) - _ROWS:,} more; `-o json` has all")
    yield from _notes("Not read", (*report.problems, *report.remarks))
    yield from _notes("Not judged", [*report.unread, *report.notes()])


def _row(verdict: Verdict, finding: Finding, docs: str) -> str:
    page, label = rule_page(finding.code, docs), code(finding.code)
    linked = f"[{label}]({page})" if page.startswith(("https://", "http://")) else label
    text = code("; ".join((finding.text, *finding.helps)))
    where = code(f"{verdict.source}:{finding.place.line}")
    return f"| {finding.severity} | {linked} | {where} | {code(verdict.title)} | {text} |"


def _notes(title: str, problems: Sequence[Problem]) -> Iterator[str]:
    if problems:
        yield from ("", f"<details><summary>{title} ({len(problems):,})</summary>", "")
        yield from (f"- {code(str(problem))}" for problem in problems[:_ROWS])
        yield from ("", "</details>")


def code(text: str) -> str:
    """Text of a manifest as code of one line, also in a table, where it is neither a link nor a mention."""
    shown = printable(text if len(text) <= _TEXT else f"{text[:_TEXT]}…")
    return f"`{shown.replace('`', chr(39)).replace('|', '¦') or ' '}`"


def plain(text: str) -> str:
    """Text of a flag in a heading, without what Markdown or HTML would read."""
    return re.sub(r"[\\`*_<>\[\]|#@]", r"\\\g<0>", printable(text))
