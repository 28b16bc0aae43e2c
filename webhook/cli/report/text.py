"""The report as text: one line for each finding, with an excerpt of the file on a terminal."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TextIO

from webhook.cli.output import printable, say
from webhook.cli.report.report import Report, rule_page
from webhook.cli.terminal import terminal_width
from webhook.library.findings import Finding, Severity
from webhook.library.verdict import Result, Verdict

_PAINT: Final = {"bold": "1", "dim": "2", "red": "31;1", "green": "32", "yellow": "33", "cyan": "36"}
_OF: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow"}
_VERDICTS: Final = {Result.ACCEPTED: "green", Result.REFUSED: "red", Result.SKIPPED: "dim"}
_SIGNS: Final = {"add": ("+", "green"), "replace": ("~", "yellow"), "remove": ("-", "red")}
_WIDTH: Final = 160
"""Characters of a source line in an excerpt: a longer line is cut."""
_GUTTER: Final = 8
"""Columns of the number of a line."""
_NARROW: Final = 20
_BEFORE: Final = 16
"""Characters before a key that is outside of a narrow terminal."""


@dataclass(frozen=True, slots=True)
class Style:
    """``colour`` and ``excerpts`` are for terminals; ``width`` is the room of a line in an excerpt."""

    colour: bool = False
    excerpts: bool = False
    width: int = _WIDTH

    @classmethod
    def of(cls, choice: str, stream: TextIO | None) -> Style:
        """The style for a stream: colour where a person reads, unless NO_COLOR is set (https://no-color.org)."""
        terminal = stream is not None and stream.isatty()
        wanted = bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")
        if os.environ.get("NO_COLOR"):
            wanted = False
        columns = terminal_width(stream) if stream is not None else None
        room = _WIDTH if columns is None else max(_NARROW, columns - _GUTTER)
        return cls(wanted if choice == "auto" else choice == "always", terminal or choice == "always", room)

    def paint(self, colour: str, text: str) -> str:
        """The text, escaped, in a colour."""
        plain = printable(text)
        return f"\033[{_PAINT[colour]}m{plain}\033[0m" if self.colour and plain else plain


def lines(report: Report, style: Style, *, quiet: bool, changes: bool, verbose: bool = False) -> Iterator[str]:
    """The report without its summary. ``quiet`` leaves out what has no finding, ``changes`` adds what is filled in,
    ``verbose`` what is not judged.
    """
    for remark in report.remarks:
        yield f"{printable(remark.source)}: {style.paint('yellow', 'warning')}: " + printable(
            ": ".join(part for part in (remark.path, remark.message) if part)
        )
    for each in report.objects:
        if not each.findings and (quiet or (each.result is Result.SKIPPED and not verbose)):
            continue
        differs = each.judged_as is not None and (verbose or each.judged_as.api in report.split)
        yield _head(each, style, f"judged as of {each.judged_as}" if differs else "")
        for found in each.findings:
            yield from _finding(each, found, style)
        if changes:
            yield from _changes(each, style)
        if report.children and each.children:
            yield printable(f"  makes {', '.join(child.name for child in each.children)}")
        yield from (printable(f"    {line}") for line in each.comparison)
    if verbose:
        yield from (printable(f"{each}: not read") for each in report.unread)


def _head(each: Verdict, style: Style, judged_as: str) -> str:
    where = printable(f"{each.source}:{each.line}: {each.title}: ")
    word = each.result.upper() if each.result is Result.REFUSED else each.result
    notes = "".join(printable(f": {text}") for text in (each.note, judged_as) if text)
    return f"{where}{style.paint(_VERDICTS[each.result], word)}{notes}"


def _finding(each: Verdict, found: Finding, style: Style) -> Iterator[str]:
    where = style.paint("bold", f"{each.source}:{found.place.line}:{found.place.column}")
    code = style.paint("bold", found.code)
    yield f"{where}: {code} {style.paint(_OF[found.severity], found.severity)}: {printable(found.text)}"
    if style.excerpts:
        yield from _excerpt(each, found, style)
    yield from (f"  {style.paint('cyan', 'help')}: {printable(text)}" for text in found.helps)


def _excerpt(each: Verdict, found: Finding, style: Style) -> Iterator[str]:
    """The line of the file, and a caret below each character of the key."""
    text = each.document.text_of(found.place.line)
    shown = printable(text[:_WIDTH].replace("\t", " "))
    start = found.place.column - 1
    if not shown.strip() or start >= len(shown) or len(shown) != len(text[:_WIDTH]):
        return  # a line that is cut before the key, or with escaped characters, has no columns
    width = max(1, min(found.place.end, len(shown) + 1) - found.place.column)
    cut = 0 if min(len(shown), start + width) <= style.width else max(0, start - _BEFORE)
    seen = shown[cut : cut + style.width]
    yield style.paint("dim", f"{found.place.line:>5} | ") + seen
    caret = style.paint(_OF[found.severity], "^" * max(1, min(width, len(seen) - start + cut)))
    yield style.paint("dim", f"{'':>5} | ") + " " * (start - cut) + caret


def _changes(each: Verdict, style: Style) -> Iterator[str]:
    """What the gate and the schema fill in, each with its reason."""
    for change in each.filled:
        sign, colour = _SIGNS[change.operation]
        value = "" if change.operation == "remove" else f": {json.dumps(change.value, ensure_ascii=False)}"
        reason = f"{change.reason} ({change.code})" if change.code else change.reason
        yield f"  {style.paint(colour, f'{sign} {change.path}{value}')}  {style.paint('dim', f'# {reason}')}"


def summary(report: Report, *, quiet: bool, verbose: bool = False) -> None:
    """What was done, on standard error, so that pipes hold findings only."""
    file = sys.stderr
    if quiet:
        return
    if not report.checked and not report.problems:
        print("0 checked: no object is of a kind that Modelgate knows", file=file)
    counts = [
        f"{report.checked} checked",
        report.refused,
        f"{report.warned} with warnings",
        f"{report.count(Result.SKIPPED)} skipped",
    ]
    if report.ignored:
        counts.append(f"{report.ignored} warnings ignored")
    print(", ".join(counts), file=file)
    for note in (*report.notes(brief=not verbose), *report.judgements()):
        say(note.message, file)
    rules = [found for _, found in report.findings() if found.is_rule]
    first = next((found.code for found in sorted(rules, key=lambda each: each.severity is not Severity.ERROR)), "")
    if first:
        page = rule_page(first, report.docs)
        packs = [] if page else [f"--policies={each}" for each in report.packs]
        asked = shlex.join(["modelgate", "rule", first, *packs])
        more = f": {page}" if page and report.docs else ""
        say(f"`{asked}` explains a code, with an object that is right{more}", file)
