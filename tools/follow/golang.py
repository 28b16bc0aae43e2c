"""Functions, constants and variables of Go source, found by their brackets; those in strings, runes and comments do
not count.

It parses no Go. It relies on what the compiler and gofmt guarantee: a declaration starts a line, and its body starts on
the line where its signature ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_SILENT: Final = re.compile(
    r"""
      //[^\n]*
    | /\*.*?(?:\*/|\Z)
    | `[^`]*(?:`|\Z)
    | "(?:[^"\\\n]|\\[^\n])*"?
    | '(?:[^'\\\n]|\\[^\n])*'?
    """,
    re.DOTALL | re.VERBOSE,
)
"""Comments, raw strings, strings and runes; one that does not end reaches to the end of the line, or of the file."""
_DECLARED: Final = re.compile(r"^[ \t]*(func[ \t]+(?:\(([^()]{0,200})\)[ \t]*)?(\w+)[ \t]*(?=[\[(]))", re.MULTILINE)
_RECEIVER: Final = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*,?\s*$")
_VALUES: Final = re.compile(r"^(?:const|var)\b[ \t]*(\w+|\()", re.MULTILINE)
_NAME: Final = re.compile(r"[ \t]*(\w+)")
_MARK: Final = re.compile(r"[(){}\[\]\n]")
_TYPE: Final = re.compile(r"\b(?:struct|interface)\s*$")
_OPENING: Final = "([{"
_NEAR: Final = 20
"""Characters before a brace in which the word of a type is."""


class Function(NamedTuple):
    """``name`` is ``Name``, or ``Type.Name`` of a method; ``text`` is from ``func`` to the closing brace.

    Of a constant or a variable, ``text`` is its line, or its lines up to the closing bracket.
    """

    name: str
    text: str


def functions(source: str) -> Iterator[Function]:
    """The functions and methods of a file that have a body, in their order; none after one that does not end."""
    code = _SILENT.sub(_blank, source)
    end = 0
    for declared in _DECLARED.finditer(code):
        start = declared.start(1)
        if start < end:
            continue
        signature = _end(code, declared.end(1), signature=True)
        end = _end(code, signature) if code[signature : signature + 1] == "{" else signature
        if end > len(code):
            return
        if code[signature : signature + 1] == "{":
            yield Function(_name(declared[2], declared[3]), source[start:end])


def values(source: str) -> Iterator[Function]:
    """The constants and variables of a file, in their order, each of a group by itself; none after one that does not
    end.
    """
    code = _SILENT.sub(_blank, source)
    end = 0
    for declared in _VALUES.finditer(code):
        if declared.start() < end:
            continue
        grouped = declared[1] == "("
        end = _end(code, declared.end() - 1) if grouped else _end_of_line(code, declared.end())
        if end > len(code):
            return
        if grouped:
            yield from _of_group(source, code, declared.end(), end - 1)
        else:
            yield Function(declared[1], source[declared.start() : end])


def _of_group(source: str, code: str, start: int, end: int) -> Iterator[Function]:
    """The constants or variables between two brackets."""
    while start < end:
        until = min(_end_of_line(code, start), end)
        if named := _NAME.match(code, start, until):
            yield Function(named[1], source[named.start(1) : until])
        start = until + 1


def _end_of_line(code: str, start: int) -> int:
    """Where the line ends, or the one on which its brackets are closed; beyond the code if they are not."""
    depth = 0
    for mark in _MARK.finditer(code, start):
        if mark[0] == "\n" and depth <= 0:
            return mark.start()
        depth += (mark[0] in _OPENING) - (mark[0] in ")]}")
    return len(code) + (depth > 0)


def _blank(found: re.Match[str]) -> str:
    """Spaces instead of a text; the lines stay."""
    return re.sub(r"[^\n]", " ", found[0])


def _name(receiver: str | None, name: str) -> str:
    found = _RECEIVER.search(receiver) if receiver else None
    return f"{found[1]}.{name}" if found else name


def _end(code: str, start: int, *, signature: bool = False) -> int:
    """Where the brackets that open from ``start`` on are closed again; beyond the code if they are not.

    A signature ends before the brace of its body, or at the end of its line.
    """
    depth = 0
    for mark in _MARK.finditer(code, start):
        at = mark.start()
        if signature and not depth and (mark[0] == "\n" or (mark[0] == "{" and not _is_type(code, at))):
            return at
        depth += (mark[0] in _OPENING) - (mark[0] in ")]}")
        if not signature and depth <= 0 and mark[0] != "\n":
            return at + 1
    return len(code) + 1


def _is_type(code: str, brace: int) -> bool:
    return _TYPE.search(code[max(0, brace - _NEAR) : brace]) is not None
