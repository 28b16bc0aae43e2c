"""Positions in a text: as editors count them, as YAML does, and as offsets of characters.

An editor breaks lines at fewer characters than YAML, and counts columns in units of an encoding, by default UTF-16.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import takewhile
from typing import Final

from lsprotocol import types

from webhook.manifests.places import BREAK, Place, Spot

_EDITOR_BREAK: Final = re.compile(r"\r\n|\n|\r")
_COMPARED: Final = 1_000
"""Lines between the first and the last change that are compared: that may take the square of them."""
ENCODINGS: Final = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""The encodings in which an editor may count columns: their codec, and the bytes of a unit."""


class TextLines:
    """The lines of a text, for an editor that counts columns in units of an ``encoding``."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self._codec, self._unit = ENCODINGS.get(encoding, ENCODINGS["utf-16"])

    @cached_property
    def _editors(self) -> list[int]:
        """The offsets at which the lines of the editor begin."""
        return [0, *(match.end() for match in _EDITOR_BREAK.finditer(self.text))]

    @cached_property
    def _yamls(self) -> list[int]:
        return [0, *(match.end() for match in BREAK.finditer(self.text))]

    def position(self, offset: int) -> types.Position:
        """The place of an offset, as the editor counts."""
        line = bisect_right(self._editors, offset) - 1
        before = self.text[self._editors[line] : offset]
        units = len(before) if before.isascii() else len(before.encode(self._codec, "surrogatepass")) // self._unit
        return types.Position(line, units)

    def offset(self, position: types.Position) -> int:
        """The offset of a place; the end of its line, or of the text, if it is behind that."""
        if position.line >= len(self._editors):
            return len(self.text)
        start = self._editors[position.line]
        end = self._editors[position.line + 1] if position.line + 1 < len(self._editors) else len(self.text)
        line = self.text[start:end].rstrip("\r\n")
        if line.isascii():
            return start + min(position.character, len(line))
        encoded = line.encode(self._codec, "surrogatepass")[: position.character * self._unit]
        return start + len(encoded.decode(self._codec, "ignore"))

    def yaml_offset(self, line: int, column: int) -> int:
        """The offset of a place as YAML counts, from 0."""
        return min(self._yamls[line] + column, len(self.text)) if line < len(self._yamls) else len(self.text)

    def yaml_line(self, offset: int) -> int:
        return bisect_right(self._yamls, offset) - 1

    def span(self, start: int, end: int) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    def spot(self, spot: Spot) -> types.Range:
        """The range of a value."""
        start = self.yaml_offset(spot.line, spot.column)
        return self.span(start, self.yaml_offset(spot.end_line, spot.end_column))

    def place(self, place: Place) -> types.Range:
        """The range of a place, which ends with its line at the latest."""
        start, end = self.line(place.line - 1)
        return self.span(min(start + place.column - 1, end), min(start + place.end - 1, end))

    def line(self, number: int) -> tuple[int, int]:
        """The offsets at which a line of YAML begins and ends, from 0, without its break."""
        start = self.yaml_offset(number, 0)
        following = BREAK.search(self.text, start)
        return start, following.start() if following else len(self.text)


class Shift:
    """Which line of a text an earlier line has become."""

    def __init__(self, before: str, now: str) -> None:
        old, new = BREAK.split(before), BREAK.split(now)
        self._same = _alike(old, new)
        behind = min(_alike(old[::-1], new[::-1]), min(len(old), len(new)) - self._same)
        self._end, self._moved = len(old) - behind, len(new) - len(old)
        middle = old[self._same : self._end], new[self._same : len(new) - behind]
        is_short = max(map(len, middle)) <= _COMPARED
        self._blocks = SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks() if is_short else []

    def place(self, place: Place) -> Place:
        """The place now; the first line that has changed, if the line of the place is not there any more."""
        line = place.line - 1
        if line < self._same:
            return place
        if line >= self._end:
            return Place(place.line + self._moved, place.column, place.end)
        for start, new, size in self._blocks:
            if start <= line - self._same < start + size:
                return Place(place.line + new - start, place.column, place.end)
        return Place(self._same + 1, 1, 2)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of lines that are the same at the beginning of both."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
