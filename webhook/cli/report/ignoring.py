"""Warnings to leave out: by a flag, by a comment beside the field, or by an annotation of the object.

Only warnings can be left out. What is refused stays refused, whatever a manifest says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Final

from webhook.admission.errors import Problem, SettingsError
from webhook.cli.report.podcodes import KUBERNETES, retired
from webhook.library.findings import CODES, Finding, Severity
from webhook.manifests.documents import Document
from webhook.manifests.places import Place

__all__ = ["ANNOTATION", "kept", "known_codes", "unknown"]

Codes = Callable[[], frozenset[str]]
"""Gives the codes of all rules, which takes a while."""

ANNOTATION: Final = "modelgate.dev/ignore"
_COMMENT: Final = re.compile(r"(?:^|\s)#\s*modelgate:\s*ignore[\s:=]+(?P<codes>[\w,\s-]+)")


def known_codes(given: Collection[str], codes: Codes, source: str = "--ignore") -> frozenset[str]:
    """The codes that a flag names, in any case and separated by commas.

    Raises:
        SettingsError: a code does not exist.
    """
    named = [each for text in given for each in _split(text)]
    known = _known(codes) if named else ()
    problems = [Problem(source, "", unknown(each, known)) for each in named if each not in known]
    if problems:
        raise SettingsError(problems)
    return frozenset(named)


def _known(codes: Codes) -> frozenset[str]:
    """All codes. A retired one may still be named, which has no effect."""
    return codes() | CODES.keys() | KUBERNETES.keys() | retired()


_MOST: Final = 2
"""Letters that may be wrong in a code, of which each has five."""


def unknown(code: str, codes: Collection[str]) -> str:
    """Say that a code does not exist, with those that differ in the fewest letters, the nearest numbers first."""
    written = code.upper()[:20]
    far = {each: _distance(written, each.upper()) for each in codes}
    least = [each for each in far if far[each] == min(far.values()) <= _MOST]
    near = sorted(least, key=lambda each: (abs(_number(each) - _number(written)), each))[:3]
    advice = f"did you mean {' or '.join(near)}?" if near else "`modelgate rule` lists all"
    return f"there is no rule {code}; {advice}"


def _distance(one: str, other: str) -> int:
    """The letters to add, remove or change to make one of the other: Levenshtein's distance."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        above, row = row, [number]
        for place, each in enumerate(other):
            row.append(min(row[-1] + 1, above[place + 1] + 1, above[place] + (letter != each)))
    return row[-1]


def _number(code: str) -> int:
    """The number in a code, of which a written one may have too few or too many digits."""
    return int(f"{''.join(filter(str.isdecimal, code))}000"[:3])


def kept(
    findings: Collection[Finding], document: Document, ignored: Collection[str], codes: Codes
) -> tuple[list[Finding], int]:
    """The findings without the ignored warnings, with a warning about each unknown code; and how many are left out."""
    named, comments = _annotated(document), _comments(document)
    everywhere = {*ignored, *named}
    for line, found in comments.items():
        if line < document.line:  # a comment above the document counts for all of it
            everywhere |= found
    rest = [
        each
        for each in findings
        if each.severity is Severity.ERROR
        or not (each.code in everywhere or each.code in _beside(each.place, comments))
    ]
    mistakes = list(_mistakes(document, named, comments, codes))
    return [*rest, *mistakes], len(findings) - len(rest)


def _beside(place: Place, comments: dict[int, frozenset[str]]) -> frozenset[str]:
    """The codes of a comment on the line of a field, or on the line above it."""
    return comments.get(place.line, frozenset()) | comments.get(place.line - 1, frozenset())


def _annotated(document: Document) -> frozenset[str]:
    metadata = document.value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(ANNOTATION) if isinstance(annotations, dict) else None
    return frozenset(_split(text)) if isinstance(text, str) else frozenset()


def _comments(document: Document) -> dict[int, frozenset[str]]:
    """The comments of the document, and those directly above it, by their line."""
    found = _comments_of(document.text)
    if not found:
        return {}
    end = document.tree.end_line + 1 if document.tree else document.line
    above = document.line
    lines = document.text.split("\n")
    while above > 1 and lines[above - 2].lstrip().startswith("#"):
        above -= 1
    return {line: codes for line, codes in found.items() if above <= line <= end}


@lru_cache(maxsize=4)
def _comments_of(text: str) -> dict[int, frozenset[str]]:
    if "modelgate:" not in text:
        return {}
    found = ((number, _COMMENT.search(line)) for number, line in enumerate(text.split("\n"), 1))
    return {number: frozenset(_split(match["codes"])) for number, match in found if match}


def _mistakes(
    document: Document, named: Collection[str], comments: dict[int, frozenset[str]], codes: Codes
) -> Iterator[Finding]:
    places = [(code, document.place(f"metadata.annotations[{ANNOTATION}]")) for code in named]
    places += [(code, Place(line, 1, 2)) for line, found in comments.items() for code in found]
    known = _known(codes) if places else ()
    for code, place in sorted(places, key=lambda item: (item[1], item[0])):
        if code not in known:
            yield Finding(Severity.WARNING, "note", "", f"modelgate: ignore: {unknown(code, known)}", place)


def _split(text: str) -> list[str]:
    return [each if each in CODES else each.upper() for each in re.split(r"[\s,]+", text) if each]
