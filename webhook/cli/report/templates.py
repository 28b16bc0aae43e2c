"""Templates of Helm: what `helm template` makes names the template that it is from, and findings are shown there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Final

from webhook.library.findings import Finding
from webhook.library.verdict import Verdict
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.files import content
from webhook.manifests.places import BREAK, Piece, Place

_CHART: Final = "Chart.yaml"
_SOURCE: Final = re.compile(r"# Source: (?P<chart>[^/]+)/(?P<path>.+)")
_KEY: Final = re.compile(r"\s*(?:- +)*(?P<key>[\w./\"'-]+) *:(?: |$)")
"""What a line of a template and the lines that are made of it have in common."""


class Templates:
    """The templates of the charts below a folder. They are looked for when a text of Helm is met."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._charts: dict[str, list[Path]] | None = None

    def located(self, verdict: Verdict) -> Verdict:
        """The verdict about an object of standard input with the places of its template, if that is one of the files.

        A template has no line for each line that is made of it. The place is the line with the same key, or the nearest
        one above it.
        """
        file = self._file(verdict.document) if verdict.source == "stdin" else None
        piece = verdict.document.piece
        text = "" if file is None else _text(file)
        if file is None or piece is None or not text:
            return verdict
        lines = _Lines(text, piece)
        findings = tuple(replace(each, place=lines.place(each)) for each in verdict.findings)
        source, line = os.path.relpath(file, self._folder), lines.line(verdict.line)
        document = Document(source, line, verdict.document.value, Piece(text, 0, len(text), 0))
        return replace(verdict, document=document, source=source, line=line, findings=findings)

    def _file(self, document: Document) -> Path | None:
        """The template of an object; None if it is not known, or that of a chart elsewhere."""
        named = _source_of(document)
        if named is None:
            return None
        if self._charts is None:
            self._charts = {}
            for name, folder in _charts(self._folder):
                self._charts.setdefault(name, []).append(folder)
        files = [folder / named["path"] for folder in self._charts.get(named["chart"], ())]
        found = [each for each in files if ".." not in each.parts and each.is_file()]
        return found[0] if len(found) == 1 else None


def _source_of(document: Document) -> re.Match[str] | None:
    """The comment that Helm writes above an object."""
    found = None
    if document.piece is not None:
        for line in document.piece.body.split("\n"):
            if line.strip() and not line.startswith(("#", "---")):
                break
            found = _SOURCE.fullmatch(line) or found
    return found


def _charts(folder: Path) -> Iterator[tuple[str, Path]]:
    """The name and the folder of each chart."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        if _CHART in names:
            for each in documents.scan_file(Path(here, _CHART)).documents:
                yield str(each.value.get("name")), Path(here)


@lru_cache(maxsize=4)
def _text(file: Path) -> str:
    """The text of a template; "" if it cannot be read."""
    try:
        return content(file).decode()
    except (OSError, UnicodeDecodeError):
        return ""


class _Lines:
    """The lines of a template beside those of what is made of it."""

    def __init__(self, template: str, piece: Piece) -> None:
        self._template = BREAK.split(template)
        self._theirs = [_key(each) for each in self._template]
        self._ours = [_key(each) for each in piece.body.split("\n")]
        self._first = piece.line + 1
        self._blocks = SequenceMatcher(None, self._ours, self._theirs, autojunk=False).get_matching_blocks()

    def line(self, made: int) -> int:
        """The line of a line that is made, both from 1."""
        at = made - self._first
        above = 0
        for ours, theirs, size in self._blocks:
            if ours <= at < ours + size:
                return theirs + at - ours + 1
            if size and ours + size <= at:
                above = theirs + size - 1
        alike = [number for number, key in enumerate(self._theirs) if key == self._key_at(at)]
        return min(alike, key=lambda each: abs(each - above), default=above) + 1

    def place(self, finding: Finding) -> Place:
        line = self.line(finding.place.line)
        text = self._template[line - 1]
        found = _KEY.match(text)
        start, end = found.span("key") if found else (len(text) - len(text.lstrip()), len(text))
        return Place(line, start + 1, max(start, end) + 1)

    def _key_at(self, number: int) -> str:
        return self._ours[number] if 0 <= number < len(self._ours) else ""


def _key(line: str) -> str:
    found = _KEY.match(line)
    return found["key"] if found else line.strip()
