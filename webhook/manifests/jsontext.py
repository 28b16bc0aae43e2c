"""JSON as text: the tree of a value with the place of every part, and the values of a stream of JSON."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import yaml

__all__ = ["stream", "tree"]

_TOKEN: Final = re.compile(r'[{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+|"')
_TAG: Final = "tag:yaml.org,2002:"


@lru_cache(maxsize=4)
def tree(text: str, start: int = 0) -> yaml.Node | None:
    """The JSON value at ``start`` as a YAML tree, whose marks count from the start of the text; None if it is broken.

    Composing it as YAML would fail for escaped characters beyond the basic plane.
    """
    builder = _Builder(text)
    for found in _TOKEN.finditer(text, start):
        if builder.add(found):
            break
    return builder.root


@lru_cache(maxsize=4)
def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


class _Builder:
    """Builds the tree without recursion: JSON may be nested 1,024 levels deep."""

    def __init__(self, text: str) -> None:
        self._lines = _line_starts(text)
        self._open: list[yaml.CollectionNode] = []
        self._key: list[yaml.Node | None] = []
        self.root: yaml.Node | None = None

    def add(self, found: re.Match[str]) -> bool:
        """Add a token; return whether the value is complete."""
        part = found[0]
        if part == "{":
            self._push(yaml.MappingNode(f"{_TAG}map", [], self._mark(found.start()), self._mark(found.end())))
        elif part == "[":
            self._push(yaml.SequenceNode(f"{_TAG}seq", [], self._mark(found.start()), self._mark(found.end())))
        elif part in "}]":
            if not self._open:
                return True
            self._open.pop().end_mark = self._mark(found.end())
            self._key.pop()
        elif part not in ",:":
            self._attach(self._scalar(found))
        return not self._open

    def _push(self, node: yaml.CollectionNode) -> None:
        self._attach(node)
        self._open.append(node)
        self._key.append(None)

    def _attach(self, node: yaml.Node) -> None:
        if not self._open:
            self.root = self.root or node
            return
        parent = self._open[-1]
        if isinstance(parent, yaml.SequenceNode):
            parent.value.append(node)
        elif self._key[-1] is None:
            self._key[-1] = node
        else:
            parent.value.append((self._key[-1], node))
            self._key[-1] = None

    def _scalar(self, found: re.Match[str]) -> yaml.ScalarNode:
        start, end = self._mark(found.start()), self._mark(found.end())
        if not found[0].startswith('"'):
            return yaml.ScalarNode(f"{_TAG}json", found[0], start, end)
        try:
            value = json.loads(found[0], strict=False)
        except ValueError:
            value = found[0]
        return yaml.ScalarNode(f"{_TAG}str", value, start, end, style='"')

    def _mark(self, index: int) -> yaml.Mark:
        line = bisect_right(self._lines, index) - 1
        return yaml.Mark("", index, line, index - self._lines[line], None, 0)


def stream(text: str) -> list[tuple[int, int]]:
    """The start and end of each object in a stream of JSON: one on each line, or one after the other; [] if it is none.

    kubectl reads both; `jq` and log processors write them.
    """
    lines = [found.span() for found in re.finditer(r"[^\n]*\S[^\n]*", text)]
    if len(lines) > 1 and all(text[start:end].lstrip().startswith("{") for start, end in lines):
        pieces = lines
    else:
        pieces = list(_values(text))
    if len(pieces) < 2 or not any(map(_is_json, (text[start:end] for start, end in pieces))):
        return []
    return pieces


def _values(text: str) -> Iterator[tuple[int, int]]:
    """The values of a text, by their brackets."""
    depth = start = end = 0
    for found in _TOKEN.finditer(text):
        if not depth:
            if found[0] != "{":  # YAML, or broken
                return
            start = found.start()
        depth += (found[0] in ("{", "[")) - (found[0] in ("}", "]"))
        if not depth:
            end = found.end()
            yield start, end
    if depth:
        yield start, len(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
