"""A document of a file, and what a text holds: objects, what cannot be read, and what is not an object."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

import yaml

from webhook.admission.errors import Problem
from webhook.manifests import jsontext
from webhook.manifests.places import Place, find, keys

__all__ = ["Document", "Scan"]

_BREAK: Final = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
"""The line breaks that libyaml counts."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file. ``line`` counts from 1.

    ``node`` is the YAML tree; for JSON it is None, and ``tree`` reads it from ``text``, the whole file, at ``start``.
    """

    source: str
    line: int
    value: dict[str, Any]
    node: yaml.Node | None = None
    text: str = field(default="", repr=False, compare=False)
    start: int = 0

    @property
    def tree(self) -> yaml.Node | None:
        """The tree of the text, if there is a text."""
        return self.node if self.node is not None or not self.text else jsontext.tree(self.text, self.start)

    def place(self, path: str) -> Place:
        """The place of the key of a field, or of its nearest parent in the text."""
        named, _, _ = find(self.tree, keys(path))
        return Place(self.line, 1, 2) if named is None else Place.of(named)

    def written(self, path: str) -> yaml.Node | None:
        """The value that the text has at a field."""
        _, value, complete = find(self.tree, keys(path))
        return value if complete else None

    def text_of(self, line: int) -> str:
        """A line of the file; "" if there is no text."""
        lines = _lines(self.text)
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def line_of(self, *path: str | int) -> int:
        """The line of the key at the path, or of its nearest parent in the text."""
        named, _, _ = find(self.tree, path)
        return self.line if named is None else named.start_mark.line + 1

    def line_at(self, field: str) -> int:
        """As :meth:`line_of`, for a path in an error: ``spec.files[0]``, ``metadata.labels[a.b/c]``."""
        return self.line_of(*keys(field))


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    return _BREAK.split(text)


class Scan(NamedTuple):
    """What a text holds: objects, what cannot be read, and ``others``: YAML or JSON that is not an object."""

    documents: list[Document]
    problems: list[Problem]
    others: list[Problem]

    @property
    def faults(self) -> list[Problem]:
        """Why the text is not a text of objects."""
        return [*self.problems, *self.others]
