"""`check --fix`: edit what is unambiguous, and leave every other byte of the file as it is.

An edit replaces one key or one scalar in the text. It is kept only if that error is gone and no other one is
there, but for errors that only the edit makes visible: those below a renamed field, or of a kind that is now known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final, NamedTuple

from webhook.admission import Cause
from webhook.cli.manifests import Outcomes
from webhook.cli.report.omitted import MEANT
from webhook.ground.fieldpath import field_keys, field_path
from webhook.library.review import ReviewedManifest
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.places import BREAK, Spot, find

_VERSION: Final = re.compile(r"^no matches for kind .*: use (?P<version>v\w+)$")
_SUPPORTED: Final = re.compile(r'supported values: (?P<values>".*")$')
_LIKENESS: Final = 0.87
"""``fomat`` is ``format`` (0.91), but ``modelRef`` need not be ``model`` (0.77)."""
_ROUNDS: Final = 8
"""A repaired field can show the errors below it; more levels than this have never been seen."""


class Edit(NamedTuple):
    """The characters from ``start`` to ``end`` of a text become ``text``; ``about`` is the field.

    ``renamed`` is the new path of a field whose key is edited.
    """

    start: int
    end: int
    text: str
    about: str
    renamed: str = ""


def fixed(outcomes: Outcomes) -> tuple[Outcomes, list[str]]:
    """The outcomes after the files are edited, and a line about each edit."""
    reviews, said = list(outcomes.reviews), []
    for name in dict.fromkeys(each.document.source for each in reviews):
        path = Path(name)
        if not path.is_file():  # standard input, or what kustomize makes
            continue
        numbers = [number for number, each in enumerate(reviews) if each.document.source == name]
        file = _File(outcomes, [reviews[number] for number in numbers])
        file.repair()
        if file.done:
            content = file.text.encode()
            mark = b"\xef\xbb\xbf" if path.read_bytes().startswith(b"\xef\xbb\xbf") else b""
            path.write_bytes(mark + content)
            said += [f"{name}:{line}" for line in file.done]
            for number, review in zip(numbers, file.reviews, strict=True):
                reviews[number] = review
    return outcomes._replace(reviews=reviews), said


class _File:
    """A file in repair."""

    def __init__(self, outcomes: Outcomes, reviews: list[ReviewedManifest]) -> None:
        self._review = outcomes.review
        self.reviews = reviews
        self.text = reviews[0].document.text
        self.done: list[str] = []

    def repair(self) -> None:
        for _ in range(_ROUNDS):
            if not any(self._repair(number) for number in range(len(self.reviews))):
                return

    def _repair(self, number: int) -> bool:
        """Make the first edit of an object that helps; return whether there is one."""
        before = self.reviews[number]
        for edit in edits(before):
            text = self.text[: edit.start] + edit.text + self.text[edit.end :]
            found = self._documents(text)
            if len(found) != len(self.reviews):
                continue
            after = self._review(found[number])
            if _helps(edit, before, after):
                line = len(BREAK.findall(self.text[: edit.start])) + 1
                self.done.append(f"{line}: fixed: {edit.about}: {self.text[edit.start : edit.end]} → {edit.text}")
                self.text = text
                self.reviews = [self._review(document) for document in found]
                return True
        return False

    def _documents(self, text: str) -> list[Document]:
        scan = documents.scan_text(text, self.reviews[0].document.source)
        kinds = [each for each in scan.documents if {"apiVersion", "kind"} <= each.value.keys()]
        places = {(each.document.line, each.document.value.get("kind")) for each in self.reviews}
        return [each for each in kinds if (each.line, each.value["kind"]) in places]


def _helps(edit: Edit, before: ReviewedManifest, after: ReviewedManifest) -> bool:
    """Whether an edit leaves fewer errors, and none where it was made.

    A field that gets its right name may show errors of its own.
    """
    old, new = _errors(before), _errors(after)
    if not edit.renamed and any(field == edit.about for field, _ in new):
        return False
    if _is_known(after) > _is_known(before):
        return True
    added = new - old
    return (
        len(new) <= len(old)
        and not old <= new
        and all(edit.renamed and field.startswith(edit.renamed) for field, _ in added)
    )


def _is_known(review: ReviewedManifest) -> bool:
    """Whether a definition serves the kind: only then the other errors can be seen."""
    return not any(cause.message.startswith("no matches for kind") for cause in review.validation.causes)


def _errors(review: ReviewedManifest) -> frozenset[tuple[str, str]]:
    """The errors by which a document is refused, without their words: a list of supported values may differ."""
    return frozenset((cause.field, cause.reason) for cause in review.validation.causes)


def edits(review: ReviewedManifest) -> Iterator[Edit]:
    """The edits that may repair the errors of a document."""
    document = review.document
    if not document.text:
        return
    offsets = [0, *(found.end() for found in BREAK.finditer(document.text))]
    for cause in review.validation.causes:
        key, value, complete = find(document.tree, field_keys(cause.field))
        if complete and key is not None and key.is_scalar and (meant := MEANT.search(cause.message)):
            name = str(field_keys(meant["name"])[-1])
            if _is_typo(key.text, name):
                renamed = field_path([*field_keys(cause.field)[:-1], name])
                yield _edit(document, offsets, key, name, cause.field)._replace(renamed=renamed)
        elif complete and value is not None and value.is_scalar:
            for text in _scalars(cause, value):
                yield _edit(document, offsets, value, text, cause.field)


def _is_typo(written: str, meant: str) -> bool:
    """Whether a word can only be a misspelling: words that share a part may be names of different things."""
    if sorted(_letters(written)) == sorted(_letters(meant)):  # other case, or two letters swapped
        return True
    return SequenceMatcher(None, written, meant).ratio() >= _LIKENESS


def _scalars(cause: Cause, spot: Spot) -> Iterator[str]:
    """What a scalar may stand for."""
    text = spot.text
    if version := _VERSION.match(cause.message):
        yield f"{text.rpartition('/')[0]}/{version['version']}"
    plain = spot.plain and isinstance(spot.value, bool | int | float)
    supported = _supported(cause)
    if plain and (not supported or text in supported):
        yield json.dumps(text)
    alike = [each for each in supported if _letters(each) == _letters(text) and each != text]
    if len(alike) == 1:
        yield alike[0]


def _supported(cause: Cause) -> list[str]:
    found = _SUPPORTED.search(cause.message)
    try:
        return list(json.loads(f"[{found['values']}]")) if found else []
    except ValueError:
        return []


def _letters(text: str) -> str:
    return re.sub(r"[\s_-]", "", text).lower()


def _edit(document: Document, offsets: list[int], spot: Spot, text: str, about: str) -> Edit:
    start = offsets[spot.line] + spot.column
    end = offsets[spot.end_line] + spot.end_column
    quote = document.text[start : start + 1]
    if quote in ('"', "'") and not text.startswith('"'):
        text = f"{quote}{text}{quote}"
    return Edit(start, end, text, about)
