"""Edits that repair what is unambiguous and leave every other byte of a file as it is: `check --fix`, and the editor.

An edit replaces one key or one scalar in the text. It is kept only if that error is gone and no other one is
there, but for errors that only the edit makes visible: those below a renamed field, or of a kind that is now known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from webhook.admission import Cause
from webhook.ground.fieldpath import field_keys, field_path
from webhook.library.review import ReviewedManifest
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.places import BREAK, Spot, find

MEANT: Final = re.compile(r"unknown field; (?:did you mean|its name is now) (?P<name>[\w.\[\]]+)")

_VERSION: Final = re.compile(r"^no matches for kind .*: use (?P<version>v\w+)$")
_SUPPORTED: Final = re.compile(r'supported values: (?P<values>".*")$')
_AMOUNT: Final = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kmgt])i?b?\s*", re.IGNORECASE)
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


class Repair:
    """A file in repair: its ``reviews``, and ``review``, which judges another text of one of its documents.

    ``text`` is what the edits have made of the file so far, and ``done`` has a line about each.
    """

    def __init__(self, reviews: Sequence[ReviewedManifest], review: Callable[[Document], ReviewedManifest]) -> None:
        self._review = review
        self.reviews = [*reviews]
        self.text = reviews[0].document.text
        self.done: list[str] = []

    def repair(self) -> None:
        """Make every edit that helps."""
        for _ in range(_ROUNDS):
            if not any(self._repair(number) for number in range(len(self.reviews))):
                return

    def helpful(self, number: int, wanted: Callable[[Edit], bool]) -> Iterator[Edit]:
        """The wanted edits of an object that help, each by itself."""
        return (edit for edit, _, _ in self._helpful(number, wanted))

    def judged(self, number: int, edit: Edit) -> ReviewedManifest | None:
        """The review of an object after an edit; None if the file would have other objects."""
        changed = self._documents(self.text[: edit.start] + edit.text + self.text[edit.end :])
        return self._review(changed[number]) if len(changed) == len(self.reviews) else None

    def _repair(self, number: int) -> bool:
        """Make the first edit of an object that helps; return whether there is one."""
        for edit, text, changed in self._helpful(number):
            line = len(BREAK.findall(self.text[: edit.start])) + 1
            self.done.append(f"{line}: fixed: {edit.about}: {self.text[edit.start : edit.end]} → {edit.text}")
            self.text = text
            self.reviews = [self._review(document) for document in changed]
            return True
        return False

    def _helpful(
        self, number: int, wanted: Callable[[Edit], bool] = lambda _: True
    ) -> Iterator[tuple[Edit, str, list[Document]]]:
        """The wanted edits of an object that help, with the text and the documents that each makes."""
        before = self.reviews[number]
        for edit in filter(wanted, _edits(before)):
            text = self.text[: edit.start] + edit.text + self.text[edit.end :]
            changed = self._documents(text)
            if len(changed) == len(self.reviews) and _helps(edit, before, self._review(changed[number])):
                yield edit, text, changed

    def _documents(self, text: str) -> list[Document]:
        scan = documents.scan_text(text, self.reviews[0].document.source)
        objects = [document for document in scan.documents if {"apiVersion", "kind"} <= document.value.keys()]
        places = {(review.document.line, review.document.value.get("kind")) for review in self.reviews}
        return [document for document in objects if (document.line, document.value["kind"]) in places]


def amount_meant(text: str) -> str:
    """The quantity that ``16GB`` or ``16 gb`` may mean, ``16Gi``; "" if there is none. It is more."""
    amount = _AMOUNT.fullmatch(text)
    meant = f"{amount['number']}{amount['unit'].upper()}i" if amount else ""
    return "" if meant == text else meant


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


def _edits(review: ReviewedManifest) -> Iterator[Edit]:
    """The edits that may repair the errors of a document."""
    document = review.document
    if not document.text:
        return
    offsets = [0, *(line_break.end() for line_break in BREAK.finditer(document.text))]
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
    alike = [value for value in supported if _letters(value) == _letters(text) and value != text]
    if len(alike) == 1:
        yield alike[0]


def _supported(cause: Cause) -> list[str]:
    listed = _SUPPORTED.search(cause.message)
    try:
        return list(json.loads(f"[{listed['values']}]")) if listed else []
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
