"""The field at a position: by the text that was read, or of half a text by its indentation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from webhook.lsp.flow import flow_at
from webhook.manifests.documents import Document
from webhook.manifests.places import Spot

Keys = tuple[str | int, ...]

_MOST: Final = 5_000
"""Lines above a position that are looked at: a document of a manifest has fewer."""
_KEY: Final = r"(?:[A-Za-z_$][\w./$-]*|\"[^\"]*\"|'[^']*')"
_LINE: Final = re.compile(rf"(?P<lead>\s*(?:-\s+)*)(?P<key>{_KEY})\s*:(?P<rest>\s.*|)$")
_DASHES: Final = re.compile(r"\s*(?:-(?:\s+|$))+")
_NEW_KEY: Final = re.compile(r"(?P<lead>\s*(?:-\s+)*)(?P<word>[\w./$-]*)$")
_NEW_VALUE: Final = re.compile(
    rf"(?P<lead>\s*(?:-\s+)*)(?P<key>{_KEY})\s*:\s+(?P<quote>[\"']?)(?P<word>[^\s#\"'{{\[]*)$"
)
_HEAD: Final = re.compile(r"^(?P<key>apiVersion|kind)\s*:\s*[\"']?(?P<value>[^\s\"'#]+)")


class Cursor(NamedTuple):
    """A field, and the spots of its key and its value. ``is_key`` tells whether the position is within the key."""

    path: Keys
    key: Spot
    value: Spot
    is_key: bool


def cursor_in(document: Document, line: int, column: int) -> Cursor | None:
    """The innermost field of a document at a place, as YAML counts from 0; None outside of the document."""
    path: Keys = ()
    spot, at = document.tree, (line, column)
    if spot is None or not _covers(spot, at):
        return None
    cursor = Cursor((), spot, spot, is_key=False)
    while True:
        below = _below(spot, at)
        if below is None:
            return cursor
        step, key, spot, is_key = below
        path = (*path, step)
        cursor = Cursor(path, key, spot, is_key)
        if is_key:
            return cursor


def _below(spot: Spot, at: tuple[int, int]) -> tuple[str | int, Spot, Spot, bool] | None:
    """The entry of a value that a place is in."""
    if isinstance(spot.value, dict):
        for name, (key, value) in spot.value.items():
            if _covers(key, at):
                return name, key, value, True
            if _covers(value, at):
                return name, key, value, False
    elif isinstance(spot.value, list):
        for index, item in enumerate(spot.value):
            if _covers(item, at):
                return index, item, item, False
    return None


def _covers(spot: Spot, at: tuple[int, int]) -> bool:
    return (spot.line, spot.column) <= at <= (spot.end_line, spot.end_column)


def schema_keys(path: Sequence[str | int]) -> list[str]:
    """A path as schemas have it: ``*`` for the items of a list."""
    return ["*" if isinstance(key, int) else key for key in path]


@dataclass(slots=True)
class Outline:
    """What is being written: the ``word`` before the position, as the value of the field at ``path``, or as a key of
    the object there. ``head`` is what the document has as apiVersion and kind; ``siblings`` are the keys that the
    object has. ``column`` is that of the key. ``is_flow``: the object is in braces.
    """

    path: list[str]
    word: str
    is_value: bool
    column: int
    head: dict[str, str] = field(default_factory=dict)
    siblings: set[str] = field(default_factory=set)
    is_quoted: bool = False
    is_flow: bool = False


class _Line(NamedTuple):
    """The columns of the dashes of a line, and its key."""

    dashes: tuple[int, ...]
    column: int
    key: str
    is_open: bool


def outline_at(lines: Sequence[str], row: int, column: int) -> Outline | None:
    """What is being written at a place of a text, whose other lines may be of any quality; None in a comment."""
    before = lines[row][:column]
    value, key = _NEW_VALUE.match(before), _NEW_KEY.match(before)
    match = value or key
    if match is None:
        return _in_brackets(lines, row, column)
    begin = len(match["lead"])
    outline = Outline([], match["word"], value is not None, begin)
    if value is not None:
        outline.path, outline.is_quoted = [value["key"].strip("\"'")], bool(value["quote"])
    first, end = _bounds(lines, row)
    outline.head = _head(lines[first:end])
    _climb(outline, lines, first, row, _dashes(match["lead"]))
    _look_down(outline, lines, row, end)
    return outline


def _in_brackets(lines: Sequence[str], row: int, column: int) -> Outline | None:
    """What is being written inside of a value in braces or brackets, which begins at a line above or at this one."""
    flow = flow_at(lines, row, column)
    outline = outline_at(lines, *flow.opening) if flow else None
    if flow is None or outline is None:
        return None
    path = [*outline.path, *flow.path]
    return Outline(path, flow.word, flow.is_value, 0, outline.head, flow.siblings, flow.is_quoted, is_flow=True)


def _bounds(lines: Sequence[str], row: int) -> tuple[int, int]:
    """The lines of the document around a line."""
    first, end = row, row + 1
    while first > 0 and row - first < _MOST and not lines[first - 1].startswith("---"):
        first -= 1
    while end < len(lines) and end - row < _MOST and not lines[end].startswith("---"):
        end += 1
    return first, end


def _head(lines: Sequence[str]) -> dict[str, str]:
    matches = filter(None, map(_HEAD.match, lines))
    return {match["key"]: match["value"] for match in matches}


def _dashes(lead: str) -> tuple[int, ...]:
    return tuple(number for number, letter in enumerate(lead) if letter == "-")


def _parsed(line: str) -> _Line | None:
    """The structure of a line; None of one that has none, such as a comment or a part of a text."""
    match = _LINE.match(line)
    if match is not None:
        rest = match["rest"].strip()
        is_open = not rest or rest.startswith(("#", "&", "!"))
        return _Line(_dashes(match["lead"]), len(match["lead"]), match["key"].strip("\"'"), is_open)
    dashes = _DASHES.match(line)
    return _Line(_dashes(dashes[0]), len(dashes[0]), "", is_open=False) if dashes else None


def _climb(outline: Outline, lines: Sequence[str], first: int, row: int, dashes: tuple[int, ...]) -> None:
    """Add the keys above a line to the path, and the siblings that stand above it."""
    column, in_list, is_near = outline.column, False, True
    if dashes:
        column, in_list, is_near = _leave(outline, dashes)
    for number in range(row - 1, first - 1, -1):
        line = _parsed(lines[number])
        if line is None:
            continue
        if not in_list and line.column == column and line.key:
            if is_near:
                outline.siblings.add(line.key)
            if line.dashes:
                column, in_list, is_near = _leave(outline, line.dashes)
        elif line.is_open and line.key and (line.column <= column if in_list else line.column < column):
            if in_list and line.dashes and line.dashes[0] >= column:
                continue
            outline.path.insert(0, line.key)
            column, in_list, is_near = line.column, False, False
            if line.dashes:
                column, in_list, is_near = _leave(outline, line.dashes)
        if column == 0 and not in_list and not is_near:
            return


def _leave(outline: Outline, dashes: tuple[int, ...]) -> tuple[int, bool, bool]:
    """Go from an item to its list, and on through lists that begin on the same line."""
    outline.path[:0] = ["*"] * len(dashes)
    return dashes[0], True, False


def _look_down(outline: Outline, lines: Sequence[str], row: int, end: int) -> None:
    """Add the siblings that stand below a line."""
    for number in range(row + 1, end):
        line = _parsed(lines[number])
        if line is None:
            continue
        if line.column < outline.column or (line.dashes and line.column == outline.column):
            return
        if line.column == outline.column and line.key:
            outline.siblings.add(line.key)
