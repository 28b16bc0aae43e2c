"""What a report leaves out: ignored warnings, findings that were there before, and what follows from a misspelt field.

Warnings are ignored by a flag, by a comment beside the field, or by an annotation of the object. Only warnings can be:
what is refused stays refused, whatever a manifest says.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from webhook.admission import Cause, Warn
from webhook.cli.report.codes import Codes, Ignoring, all_codes, codes_in, unknown
from webhook.facts.nodes import text
from webhook.ground.fieldpath import field_keys
from webhook.library.apiserver import placed
from webhook.library.edits import MEANT
from webhook.library.findings import Finding, Severity
from webhook.library.review import Key, ReviewedManifest, key_of
from webhook.manifests.documents import Document
from webhook.manifests.places import Place

ANNOTATION: Final = "modelgate.dev/ignore"
_COMMENT: Final = re.compile(r"(?:^|\s)#\s*modelgate:\s*ignore[\s:=]+(?P<codes>[\w,\s-]+?)(?=\bbecause\b|[^\w,\s-]|$)")
"""What is behind ``because``, or another sign, is the reason."""


def kept(
    findings: Collection[Finding], document: Document, ignored: Ignoring, codes: Codes
) -> tuple[list[Finding], int]:
    """The findings without the ignored warnings, with a warning about each unknown code; and how many are left out."""
    named, comments = _annotated(document), _comments(document)
    everywhere = {*named}
    for line, found in comments.items():
        if line < document.line:  # a comment above the document counts for all of it
            everywhere |= found
    rest = [
        each
        for each in findings
        if each.severity is Severity.ERROR
        or not (
            each.code in everywhere or each.code in _beside(each.place, comments) or ignored.holds(each.code, document)
        )
    ]
    mistakes = list(_mistakes(document, named, comments, codes))
    return [*rest, *mistakes], len(findings) - len(rest)


def _beside(place: Place, comments: dict[int, frozenset[str]]) -> frozenset[str]:
    """The codes of a comment on the line of a field, or on the line above it."""
    return comments.get(place.line, frozenset()) | comments.get(place.line - 1, frozenset())


def _annotated(document: Document) -> frozenset[str]:
    return frozenset(codes_in(text(document.value, "metadata", "annotations", ANNOTATION)))


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
    return {number: frozenset(codes_in(match["codes"])) for number, match in found if match}


def _mistakes(
    document: Document, named: Collection[str], comments: dict[int, frozenset[str]], codes: Codes
) -> Iterator[Finding]:
    places = [(code, document.place(f"metadata.annotations[{ANNOTATION}]")) for code in named]
    places += [(code, Place(line, 1, 2)) for line, found in comments.items() for code in found]
    known = all_codes(codes) if places else ()
    for code, place in sorted(places, key=lambda item: (item[1], item[0])):
        if code not in known:
            yield Finding(Severity.WARNING, "note", "", f"modelgate: ignore: {unknown(code, known)}", place)


Findings = Callable[[Document, Iterable[Cause], Iterable[Warn]], list[Finding]]

_SPARED: Final = "(not refused, because this update does not change it)"
"""What a warning ends with that is about the stored object."""
_INDEX: Final = re.compile(r"\[\d+\]")
"""The position of an item, which another item may move."""


class Known:
    """What was found of the objects as they were. An object is the same if its kind, namespace and name are; of several
    such, that of the same file.
    """

    def __init__(self, reviews: Iterable[ReviewedManifest], findings: Findings) -> None:
        self._found: Counter[tuple[Key, str, str]] = Counter()
        self._sources: dict[Key, list[str]] = {}
        for each in reviews:
            key, source, decision = _key(each.document), each.document.source, each.validation
            self._sources.setdefault(key, []).append(source)
            found = findings(each.document, decision.causes, decision.warnings)
            self._found.update((key, source, _text(finding)) for finding in found)

    def without(self, document: Document, findings: Iterable[Finding]) -> list[Finding]:
        """The findings of an object that are new."""
        if not self._sources:
            return [*findings]
        key = _key(document)
        sources = self._sources.get(key, [])
        if len(sources) > 1:  # one for each environment: that of its own file, if there is one
            path = os.path.abspath(document.source)  # noqa: PTH100 - it follows no link
            own = [source for source in sources if path.endswith(f"/{source.partition(':')[2]}")]
            sources = own or sources
        return [each for each in findings if not self._take(key, sources, each)]

    def _take(self, key: Key, sources: Iterable[str], finding: Finding) -> bool:
        """Whether a finding is known; each of the past counts once."""
        if finding.message.endswith(_SPARED):
            return True
        counted = ((key, source, _text(finding)) for source in sources)
        taken = next((entry for entry in counted if self._found[entry] > 0), None)
        if taken is not None:
            self._found[taken] -= 1
        return taken is not None


def _key(document: Document) -> Key:
    return key_of(placed(document.value, None))


def _text(finding: Finding) -> str:
    return _INDEX.sub("[]", finding.text)


_MOST: Final = 100
"""Misspelt fields of one object that are looked at: people make fewer."""


def without_consequences(
    document: Document, findings: list[Finding], judge: Callable[[Document], Iterable[Finding]]
) -> list[Finding]:
    """The findings without those that an unknown field brings, such as that the field which is meant is missing.

    ``judge`` gives the findings of another document.
    """
    wrong = [each for each in findings if each.code == "unknown-field"]
    value = document.value
    for each in wrong[:_MOST]:
        if found := MEANT.match(each.message):
            value = _renamed(value, field_keys(each.field), found["name"])
    if value is document.value or len(wrong) == len(findings):
        return findings
    left = {(each.code, each.field, each.message) for each in judge(replace(document, value=value))}
    return [each for each in findings if each in wrong or (each.code, each.field, each.message) in left]


def _renamed(value: Any, path: list[str | int], name: str) -> Any:
    """The value with another name of a field; itself if it has that field, too, or lacks this one."""
    step, *rest = path
    if isinstance(value, dict) and step in value:
        if rest:
            below = _renamed(value[step], rest, name)
            return value if below is value[step] else {**value, step: below}
        return value if name in value else {name if key == step else key: item for key, item in value.items()}
    if isinstance(value, list) and isinstance(step, int) and step < len(value) and rest:
        below = _renamed(value[step], rest, name)
        return value if below is value[step] else [*value[:step], below, *value[step + 1 :]]
    return value
