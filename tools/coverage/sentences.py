"""The sentences of the API documents, and the files with the answers to them.

``docs/spec/sentences/<api>.yaml`` has one line for each sentence: the line of the document, a digest of the text, the
type and field that it is about, and what holds it. The text itself is not stored.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tools.coverage.seeds import Text

SENTENCES: Final = Path(__file__).parents[2] / "docs" / "spec" / "sentences"

_END: Final = re.compile(r"(?<=[.!?])[\"')]?\s+(?=[\"'(-]?[A-Z])|\n(?=[A-Z])")
_OPEN: Final = re.compile(
    r"(?:[,;]|\b(?:an?|and|any|as|at|be|by|for|if|in|individual|is|its|of|on|or|over|same|see|the|this|to|unless|via|with))"
    r"\n"
)
"""A line that goes on in the next one, even before a capital letter."""
_SHORT: Final = re.compile(r"\b(e\.g|i\.e|E\.g|vs)\. ")


@dataclass(frozen=True, slots=True)
class Sentence:
    """``line`` is its first line in the document, ``digest`` that of its text without line breaks."""

    line: int
    place: str
    text: str

    @property
    def key(self) -> str:
        """The name of the sentence in the files of answers: line, digest and place."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:10]
        return f"{self.line} {digest} {self.place or 'document'}"


class Holds(BaseModel):
    """What holds a sentence; empty if nothing does yet.

    ``says``: own words for the claim. ``crd``: "Kind.path keyword" in the definitions. ``not``: a key of reasons.yaml.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: str = ""
    codes: tuple[str, ...] = ()
    crd: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    why_not: str = Field("", alias="not")

    @property
    def by(self) -> str:
        """The strongest part of the answer."""
        parts = {
            "codes": self.codes,
            "definition": self.crd,
            "facts and tests": (*self.facts, *self.tests),
            "reason": self.why_not,
        }
        return next((name for name, part in parts.items() if part), "unmapped")


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of one API: key of the sentence → answer, and "Type.field keyword" of a row that differs → answer."""

    sentences: dict[str, Holds]
    rows: dict[str, Holds]


def answered(api: str) -> Answered:
    """Read the answers of an API.

    Raises:
        ValueError: an answer has unknown parts, or two sentences have the same key.
    """
    path = SENTENCES / f"{api}.yaml"
    text = path.read_text()
    found = yaml.safe_load(text)
    keys = re.findall(r"^  ([^ #][^:]*): ", text, re.MULTILINE)
    if len(keys) != len(set(keys)):
        raise ValueError(f"{path.name}: answered twice: {sorted({key for key in keys if keys.count(key) > 1})}")
    parts = ({key: _holds(path, key, value) for key, value in found[name].items()} for name in ("sentences", "rows"))
    return Answered(*parts)


def _holds(path: Path, key: str, value: Any) -> Holds:
    try:
        return Holds.model_validate({"not": value} if isinstance(value, str) else value)
    except ValidationError as error:
        raise ValueError(f"{path.name}: {key}: {error}") from None


def reasons() -> dict[str, str]:
    """The reasons for which no rule can hold a sentence: key → text."""
    found: dict[str, str] = yaml.safe_load((SENTENCES / "reasons.yaml").read_text())
    return found


def sentences(texts: Iterable[Text]) -> Iterator[Sentence]:
    """Join the lines of each paragraph, and split it into sentences."""
    paragraph: list[Text] = []
    for text in texts:
        if paragraph and (text.fresh or text.place != paragraph[0].place):
            yield from _split(paragraph)
            paragraph = []
        paragraph.append(text)
    yield from _split(paragraph)


def _split(paragraph: list[Text]) -> Iterator[Sentence]:
    whole = _SHORT.sub("\\1.\0", "\n".join(text.text for text in paragraph))
    lines = [match.start() for match in re.finditer("\n", whole)]
    whole = _OPEN.sub(lambda match: match[0][:-1] + " ", whole)
    start = 0
    ends = [(match.start(), match.end()) for match in _END.finditer(whole)]
    for end, following in [*ends, (len(whole), len(whole))]:
        text = " ".join(whole[start:end].replace("\0", " ").split())
        first = paragraph[bisect_left(lines, start)]
        if text:
            yield Sentence(first.line, first.place, text)
        start = following
