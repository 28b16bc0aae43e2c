"""Places in a text: its pieces, as kubectl cuts them, and where the key or the value of a field begins and ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.golang.strconv import SPACE

BREAK: Final = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
"""The line breaks that libyaml counts."""
_SEPARATOR: Final = re.compile(r"^---([^\n]*)\n?", re.MULTILINE)
_BAD_SEPARATOR: Final = "kubectl refuses the separator: only a comment may be behind ---, not {!r}"
_HALF_PAIR: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_NO_YAML: Final = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Half of a surrogate pair, and characters: JSON can have them, YAML refuses them or breaks the line."""


class Piece(NamedTuple):
    """A part of a text that is read by itself; ``line`` counts from 0. With a ``fault`` it cannot be read."""

    text: str
    start: int
    end: int
    line: int
    fault: str = ""

    @property
    def body(self) -> str:
        """The text as kubectl gives it to its parser: with the line breaks of Unix, and one at its end."""
        body = self.text[self.start : self.end]
        if "\r" in body:
            body = body.replace("\r\n", "\n")
        return body if body.endswith("\n") else f"{body}\n"

    @property
    def yaml(self) -> str:
        """As :attr:`body`; of JSON, what YAML reads with the same places."""
        if not self.text.startswith("{", self.start):
            return self.body
        column = self.start - self.text.rfind("\n", 0, self.start) - 1
        return " " * column + _NO_YAML.sub("?", _HALF_PAIR.sub(r"\\ufffd", self.text[self.start : self.end]))


class Text:
    """A text and its pieces. It is read from its begin to its end, so that lines are counted once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_plain = text.isascii() and "\r" not in text
        self._counted = self._line = 0

    def line_at(self, position: int) -> int:
        """The number of line breaks before a position, which never decreases."""
        if self._is_plain:
            self._line += self._text.count("\n", self._counted, position)
        else:
            self._line += len(BREAK.findall(self._text, self._counted, position))
        self._counted = position
        return self._line

    def piece(self, start: int, end: int, fault: str = "") -> Piece:
        return Piece(self._text, start, end, self.line_at(start), fault)

    def pieces(self, start: int) -> Iterator[Piece]:
        """The parts between the lines ``---``. What stands behind a line with content is left out, as by kubectl."""
        is_refused = False
        for found in _SEPARATOR.finditer(self._text, start):
            content = found[1].strip(SPACE)
            was_refused, is_refused = is_refused, bool(content) and content[0] != "#"
            if found.start() > start and not was_refused:
                yield self.piece(start, found.start())
            elif not was_refused and not is_refused:  # nothing is before it: it belongs to the piece
                continue
            if is_refused:
                yield self.piece(found.start(), found.end(), _BAD_SEPARATOR.format(content[:40]))
            start = found.end()
        if start < len(self._text) and not is_refused:
            yield self.piece(start, len(self._text))


_COLUMN: Final = 32
_COLUMNS: Final = (1 << _COLUMN) - 1


def _packed(mark: Any) -> int:
    """A mark of libyaml as one number, a fifth of its size: there are two for each key and value of a text."""
    return int(mark.line << _COLUMN | mark.column)


class Spot:
    """Where a value is in a text. Lines and columns count from 0, columns in characters; the end is behind it.

    ``value`` is of a list the spots of its items; of an object, for each key, the spots of the key and of the value; of
    a scalar what it is read as, and ``text`` what is written. ``first`` is the first key or item of a block.
    """

    __slots__ = ("_begin", "_end", "_offset", "first", "plain", "text", "value")

    def __init__(self, event: Any, offset: int, value: Any, text: str = "", *, plain: bool = False) -> None:
        """The spot of an event of libyaml in a text that begins at a line."""
        self._offset = offset
        self._begin, self._end = _packed(event.start_mark), _packed(event.end_mark)
        self.value = value
        self.text = text
        self.plain = plain
        self.first: Spot | None = None

    def end_with(self, event: Any) -> None:
        """Let a collection end behind this event."""
        self._end = _packed(event.end_mark)

    @property
    def line(self) -> int:
        return self._offset + (self._begin >> _COLUMN)

    @property
    def column(self) -> int:
        return self._begin & _COLUMNS

    @property
    def end_line(self) -> int:
        return self._offset + (self._end >> _COLUMN)

    @property
    def end_column(self) -> int:
        return self._end & _COLUMNS

    @property
    def is_scalar(self) -> bool:
        return not isinstance(self.value, dict | list)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A range on one line. Lines and columns count from 1, columns in characters; ``end`` is the column behind it."""

    line: int
    column: int
    end: int

    @classmethod
    def of(cls, spot: Spot) -> Place:
        """The range of a scalar; of a mapping or a list, its first key, item or bracket."""
        while spot.first is not None and (spot.first.line, spot.first.column) == (spot.line, spot.column):
            spot = spot.first
        last = spot.end_column if spot.end_line == spot.line else spot.column + 1
        return cls(spot.line + 1, spot.column + 1, max(last, spot.column + 1) + 1)


class Remark(NamedTuple):
    """A remark of the reader on what is at a path of a document."""

    path: tuple[str | int, ...]
    place: Place
    message: str


def find(root: Spot | None, path: Sequence[str | int]) -> tuple[Spot | None, Spot | None, bool]:
    """The key and the value at a path, and whether all of it is there: otherwise those of its nearest parent.

    An item of a list has no key, nor has the document itself: the value stands for it.
    """
    spot, named = root, root
    for step in path:
        found = _entry(spot, step)
        if found is None:
            return named, spot, False
        named, spot = found
    return named, spot, True


def _entry(spot: Spot | None, step: str | int) -> tuple[Spot, Spot] | None:
    value = None if spot is None else spot.value
    if isinstance(value, dict):
        return value.get(str(step))
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step], value[step]
    return None
