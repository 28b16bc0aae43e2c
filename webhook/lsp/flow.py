"""The field at a position inside of braces or brackets: ``gpu: {enabled: true, …``. The text may be half written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_LINES: Final = 20
"""Lines of one value in braces, above and below a position."""
_LONGEST: Final = 10_000
"""Characters of it, likewise."""
_OPENING: Final = re.compile(r"\s*(?:-\s+)*(?:(?:[A-Za-z_$][\w./$-]*|\"[^\"]*\"|'[^']*')\s*:\s+)?(?=[{\[])")
_MARK: Final = re.compile(
    r"(?<![^\s{\[,:])(?:\"(?:[^\"\\]|\\.)*\"|'[^']*')"  # a text in quotes
    r"|(?<!\S)\#[^\n]*"
    r"|[{}\[\],]|:(?=[\s{}\[\],]|$)",
    re.DOTALL,
)


class Opening(NamedTuple):
    """The first bracket of a value: in which line, and at which column."""

    row: int
    column: int


class Flow(NamedTuple):
    """Where the value begins, the path from there, the word so far, and the keys that the object has."""

    opening: Opening
    path: list[str]
    word: str
    is_value: bool
    siblings: set[str]
    is_quoted: bool


@dataclass(slots=True)
class _Frame:
    """An open bracket: the keys of a map, and the one whose value is written."""

    is_map: bool
    key: str | None = None
    keys: set[str] = field(default_factory=set)


def flow_at(lines: Sequence[str], row: int, column: int) -> Flow | None:
    """What is written at a position in the outermost value in brackets; None if it is in none, in a comment, or in a
    template.
    """
    flows = (_flow_of(opening, lines, row, column) for opening in _openings(lines, row, column))
    return next((flow for flow in reversed([*flows]) if flow is not None), None)


def _openings(lines: Sequence[str], row: int, column: int) -> Iterator[Opening]:
    """Where a value in brackets begins that may reach a position, the nearest first: what follows is indented more."""
    least, distance = len(lines[row]) + 1, column
    for number in range(row, max(row - _LINES, -1), -1):
        line = lines[number]
        distance += len(line) if number < row else 0
        if distance > _LONGEST:
            return
        indent = len(line) - len(line.lstrip())
        if indent < least and (match := _OPENING.match(line)) is not None:
            yield Opening(number, match.end())
        least = min(least, indent) if line.strip() else least


def _flow_of(opening: Opening, lines: Sequence[str], row: int, column: int) -> Flow | None:
    end = sum(len(line) + 1 for line in lines[opening.row : row]) + column - opening.column
    text = "\n".join(lines[opening.row : row + 1 + _LINES])[opening.column :][: max(end, 0) + _LONGEST]
    frames, last = list[_Frame](), 0
    for mark in _MARK.finditer(text):
        if mark.end() > end:
            if mark[0].startswith("#") and mark.start() < end:
                return None
            break
        if mark[0][0] in "\"'#":
            continue
        if not _read(mark[0], text[last : mark.start()], frames):
            return None
        last = mark.end()
    word = text[last:end].lstrip()
    if not frames or "\n" in word:
        return None
    frames[-1].keys.update(_keys_behind(text, end))
    return _flow(opening, frames, word)


def _read(mark: str, before: str, frames: list[_Frame]) -> bool:
    """Change the open brackets by a mark with the text ``before`` it; return whether more can follow."""
    if mark in "{[":
        if frames and frames[-1].is_map and frames[-1].key is None:  # ``{{``
            return False
        frames.append(_Frame(mark == "{"))
    elif mark in "}]":
        frames.pop()
    elif mark == ",":
        frames[-1].key = None
    elif frames[-1].is_map and frames[-1].key is None:
        frames[-1].key = _plain(before)
        frames[-1].keys.add(frames[-1].key)
    return bool(frames)


def _flow(opening: Opening, frames: Sequence[_Frame], word: str) -> Flow:
    path = [frame.key or "*" for frame in frames[:-1]]
    inner, is_quoted = frames[-1], word[:1] in {'"', "'"}
    is_value = not inner.is_map or inner.key is not None
    path += [inner.key or "*"] if is_value else []
    return Flow(opening, path, word[1:] if is_quoted else word, is_value, inner.keys, is_quoted)


def _keys_behind(text: str, start: int) -> Iterator[str]:
    """The keys of the same object that follow a position."""
    depth, last = 0, start
    for mark in _MARK.finditer(text, start):
        if mark[0] == ":" and depth == 0:
            yield _plain(text[last : mark.start()])
        depth += (mark[0] in "{[") - (mark[0] in "}]")
        if depth < 0:
            return
        if mark[0] == ",":
            last = mark.end()


def _plain(key: str) -> str:
    return key.strip().strip("\"'")
