"""Readers of the API documents, one for each format: HTML, Markdown, pasted Markdown, and a JSON schema."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from tools.coverage.seeds import DOCUMENTS, Document, Field, document_file, fields_below

_TAG: Final = re.compile(r"</?(?:a|p|td|tr|ol|ul|li|br/?|code|span|table|tbody|thead|th|B)\b[^>]*>")
_VALIDATIONS: Final = {
    "Enum": "enum",
    "MinLength": "minLength",
    "MinProperties": "minProperties",
    "Minimum": "minimum",
    "Pattern": "pattern",
    "Required": "required",
    "Schemaless": "x-kubernetes-preserve-unknown-fields",
}
_VALIDATION: Final = re.compile(r"(Enum|MinLength|MinProperties|Minimum|Pattern|Required|Schemaless): (.*)")


def read_document(folder: Path, api: str) -> Document:
    """Read the document of an API."""
    document = Document()
    _READERS[DOCUMENTS[api]["format"]](document, document_file(folder, api).read_text())
    return document


def seed_fields(folder: Path, api: str, kind: str) -> dict[str, Field]:
    """Path → field, for all fields of a kind in an API's document; items and values of maps are ``[*]``."""
    return {path: field for path, _, field in fields_below(read_document(folder, api), kind)}


def _html(document: Document, text: str) -> None:
    """Tables in HTML: llmaz and OME."""
    body = text.split("\n---\n", 1)[1]
    first = text.count("\n") - body.count("\n") + 1
    cell = 0
    for number, line in enumerate(body.split("\n"), first):
        if match := re.fullmatch(r"## `(.+?)` .*", line):
            document.start(number, match[1])
        elif match := re.fullmatch(r"\(Alias of <?`(\w+)`\)", line):
            document.last.stated["type"] = match[1]
        elif match := re.search(r"<code>(apiVersion|kind)</code><br/>string</td><td><code>(\S+)</code>", line):
            document.row(number, match[1], Field("string", stated={"value": match[2]}))
        elif line.startswith(("## ", "- [", "**Appears", "<table", "<thead")):
            cell = 0
        else:
            row = re.search(r"<tr><td><code>(\w+)</code>(.*)", line)
            if row:
                cell = 1
                document.row(number, row[1], Field("", stated={"required": True} if "[Required]" in line else {}))
            _html_line(document, number, row[2] if row else line, cell)
            cell = 2 if cell == 1 and "</td>" in line else cell


def _html_line(document: Document, number: int, line: str, cell: int) -> None:
    """A line of prose, or of the cell with the type (``cell`` is 1)."""
    plain = " ".join(
        html.unescape(_TAG.sub("", re.sub("<!--.*?-->", "…", line.replace("<B>[Required]</B>", "")))).split()
    )
    if cell == 1 and isinstance(document.last, Field):
        many = re.match(r"\[\]|map\[\w+\]", plain)
        document.last.type += plain[many.end() :] if many else plain
        document.last.many += ("list" if many[0] == "[]" else "map") if many else ""
    elif re.search(r"<(p|li|ol|ul)>|\A\s*$", line):
        document.fresh = True
    if match := re.fullmatch(r"\(Members of (\w+) are embedded into this type.\)", plain):
        document.last.stated["embedded"] = match[1]
    elif plain and cell != 1 and plain != "No description provided.":
        document.say(number, plain)
    if re.search(r"</(p|li|ol|ul)>", line):
        document.fresh = True


def _markdown(document: Document, text: str) -> None:
    """Tables in Markdown: llm-d."""
    for number, line in enumerate(text.split("\n"), 1):
        if match := re.fullmatch(r"#### (\w+)", line):
            document.start(number, match[1])
        elif match := re.fullmatch(r"\| `(\w+)` _(.+?)_ \| (.*?) \|([^|]*)\| ?(.*?) ?\|", line):
            name, kind, said, default, validation = match.groups()
            _markdown_row(document, number, name, kind)
            _state(document, default.strip(), validation.replace("\\{", "{").replace("\\}", "}").split("<br />"))
            if value := re.fullmatch(r"`(\S+)`", said):
                document.last.stated["value"] = value[1]
            else:
                for part in said.split("<br />"):
                    document.fresh |= part.startswith(" ")
                    document.say(number, " ".join(part.replace("\\", "").split()))
        elif line and not line.startswith(("#", "- [", "_Appears in", "| ---", "| Field |")):
            document.say(number, line)
        else:
            document.fresh = True


def _markdown_row(document: Document, number: int, name: str, kind: str) -> None:
    kind = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", kind)
    if kind.startswith("object (keys:"):
        document.row(number, name, Field("string", "map"))
    else:
        document.row(number, name, Field(kind.removesuffix(" array"), "list" if kind.endswith(" array") else ""))


def _state(document: Document, default: str, validations: list[str]) -> None:
    """Put the columns Default and Validation into the last row."""
    stated = document.last.stated
    if default:
        stated["default"] = default
    for marker in filter(None, map(str.strip, validations)):
        match = _VALIDATION.fullmatch(marker)
        assert match, marker
        stated[_VALIDATIONS[match[1]]] = _value(match[1], match[2].strip("` "))


def _value(name: str, text: str) -> Any:
    if name == "Enum":
        return text.strip("[]").split()
    return int(text) if text.isdigit() else True if text == "{}" else text


_PASTED_ROW: Final = re.compile(r"(\w+) (\w+)( array)?( \(keys:\w+, values:\w+\))? \|(.*)")
_PASTED_MARKUP: Final = re.compile(
    r"\| ?(Field|---)|- |Appears in: |((API Reference|Packages|Resource Types|aim[.]silogen[.]ai/v1alpha1|[|]+)?$)"
)


def _pasted(document: Document, text: str) -> None:
    """Tables in Markdown whose cells have become lines: AIM."""
    for number, line in enumerate(text.split("\n"), 1):
        if re.fullmatch(r"(?!Packages$)[A-Z]\w+", line):
            document.start(number, line)
        elif match := re.fullmatch(r"Underlying type: (\w+)", line):
            document.last.stated["type"] = match[1]
        elif match := re.fullmatch(r"Validation: - Enum: \[(.*)\]", line):
            document.last.stated["enum"] = match[1].split()
        elif match := _PASTED_ROW.fullmatch(line):
            kind, many = match[2], "list" if match[3] else "map" if match[4] else ""
            document.row(number, match[1], Field("string" if match[4] else kind, many))
        elif (match := re.fullmatch(r"(\S+) \|", line)) and document.place.endswith((".apiVersion", ".kind")):
            document.last.stated["value"] = match[1]
        elif match := re.fullmatch(r"(\w+) \|", line):
            document.value(match[1])
        elif not _PASTED_MARKUP.match(line):
            _pasted_line(document, number, line)


def _pasted_line(document: Document, number: int, line: str) -> None:
    """A description, with or without the cells that follow it, or these cells alone."""
    said, *cells = (cell.strip().replace("\0", "|") for cell in line.replace("\\|", "\0").split("|"))
    described = bool(document.texts) and document.texts[-1].place == document.place
    if _VALIDATION.match(said) or (described and "|" in line):
        said, cells = "", [said, *cells]
    cells = [part for cell in cells for part in re.split(r" (?=Pattern: )", cell) if part]
    if cells:
        markers = [cell for cell in cells if _VALIDATION.match(cell)]
        _state(document, " ".join(cell for cell in cells if cell not in markers), markers)
    # Pasting lost line breaks within a cell.
    lost = re.sub(r"(?<=\w\.)(?=Example:)| (?=Must have)| ?(?=- (?:latency|throughput):)", "\n", said)
    for part in filter(None, lost.replace("\\", "").split("\n")):
        document.say(number, part)
        document.fresh = True


def _json(document: Document, text: str) -> None:
    """A JSON schema, in which every object is a separate type: LLMKube."""
    _object(document, "Model", json.loads(text), _description_lines(text))


def _description_lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of each description, by its keys; the document has one key a line."""
    found: dict[tuple[str, ...], int] = {}
    path: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        key = re.match(r'\s*"([^"]+)": ', line)
        if key and key[1] == "description":
            found[tuple(path)] = number
        if line.lstrip().startswith(("}", "]")):
            path.pop()
        elif line.endswith(("{", "[")):
            path.append(key[1] if key else "")
    return {keys[1:]: number for keys, number in found.items()}


def _object(
    document: Document, name: str, schema: dict[str, Any], lines: Mapping[tuple[str, ...], int], *path: str
) -> None:
    """A type, then those of its fields."""
    document.start(lines.get(path, 0), name)
    if not path or path[-1] == "items":
        _paragraphs(document, lines.get(path, 0), schema)
    inner: list[tuple[str, dict[str, Any], tuple[str, ...]]] = []
    for key, child in schema["properties"].items():
        below, here = child.get("items", child), (*path, "properties", key)
        kind, many = f"{name}.{key}" if "properties" in below else _one_type(below), "list" * ("items" in child)
        document.row(lines.get(here, 0), key, Field(kind, many))
        document.last.stated |= {word: value for word, value in child.items() if word not in _NO_STATEMENTS}
        if key in schema.get("required", ()):
            document.last.stated["required"] = True
        _paragraphs(document, lines.get(here, 0), child)
        if "properties" in below:
            inner.append((kind, below, (*here, "items") if many else here))
    for kind, below, here in inner:
        _object(document, kind, below, lines, *here)


_NO_STATEMENTS: Final = {"description", "type", "properties", "items", "required", "additionalProperties"}
"""Not read as they are: an export made optional fields nullable, and closed every object."""


def _one_type(schema: Mapping[str, Any]) -> str:
    kind = schema["type"]
    return kind if isinstance(kind, str) else next(each for each in kind if each != "null")


def _paragraphs(document: Document, number: int, schema: Mapping[str, Any]) -> None:
    for line in schema.get("description", "").split("\n"):
        document.fresh |= not line or line.startswith(("- ", "  - ", "  nvidia", "  amd", "  intel"))
        if line:
            document.say(number, " ".join(line.split()))


_READERS: Final[Mapping[str, Callable[[Document, str], None]]] = {
    "html": _html,
    "json": _json,
    "markdown": _markdown,
    "pasted": _pasted,
}
