"""The five API documents: their types, fields and texts, with line numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

DOCUMENTS: Final[Mapping[str, Mapping[str, str]]] = yaml.safe_load(
    Path(__file__).with_name("documents.yaml").read_text()
)
"""API → the number of its document, and the format."""


@dataclass(slots=True)
class Field:
    """A row of a table. ``type`` is the document's name of it: the item's type if ``many`` is "list" or "map".

    ``stated`` is what the row says beside type and text: keyword of a definition → value.
    """

    type: str
    many: str = ""
    line: int = 0
    stated: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Type:
    """A table: the fields by name, and what is stated of a type without fields, as of ``Field``."""

    line: int = 0
    fields: dict[str, Field] = field(default_factory=dict)
    stated: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """One line of prose about ``place``: "Type", "Type.field" or "Type=value".

    A fresh line starts a paragraph or an item of a list.
    """

    line: int
    place: str
    text: str
    fresh: bool


@dataclass(slots=True)
class Document:
    """What a reader finds: types in tables, and everything else as texts."""

    types: dict[str, Type] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)
    place: str = ""
    fresh: bool = True

    def start(self, line: int, name: str) -> None:
        """A type starts."""
        self.types[name] = Type(line)
        self.place, self.fresh = name, True

    def row(self, line: int, name: str, row: Field) -> None:
        """A field of the last type."""
        owner = [*self.types][-1]
        row.line = line
        if name in self.types[owner].fields:
            row.stated |= self.types[owner].fields[name].stated
        self.types[owner].fields[name] = row
        self.place, self.fresh = f"{owner}.{name}", True

    def value(self, name: str) -> None:
        """A value of the last type's enumeration."""
        owner = [*self.types][-1]
        self.types[owner].stated.setdefault("values", []).append(name)
        self.place, self.fresh = f"{owner}={name}", True

    @property
    def last(self) -> Field | Type:
        """The last field, or the last type if it has no field."""
        owner = self.types[[*self.types][-1]]
        return [*owner.fields.values()][-1] if owner.fields else owner

    def say(self, line: int, text: str) -> None:
        """A line of prose."""
        self.texts.append(Text(line, self.place, text, self.fresh))
        self.fresh = False


def document_file(folder: Path, api: str) -> Path:
    """The document of an API in a folder of documents."""
    (path,) = folder.glob(f"{DOCUMENTS[api]['number']}_*.txt")
    return path


def fields_below(document: Document, name: str, path: str = "") -> Iterator[tuple[str, str, Field]]:
    """(path, "Type.field", field) of all fields of a type; items and values of maps are ``[*]``.

    The fields of an embedded Go structure replace it.
    """
    for key, row in document.types[name].fields.items():
        here = f"{path}.{key}"
        below = row.type in document.types
        if "embedded" in row.stated:
            here = path
        else:
            yield here, f"{name}.{key}", row
        if below:
            yield from fields_below(document, row.type, here + "[*]" * bool(row.many))
