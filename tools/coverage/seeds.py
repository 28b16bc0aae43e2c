"""The fields of the five API documents: tables of types and fields, each in another format."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["Field", "seed_fields"]


@dataclass(frozen=True, slots=True)
class Field:
    """``type`` as the document names it: the item's type if ``many`` is "list" or "map".

    ``beside`` is the text of the other columns: default and markers.
    """

    type: str
    many: str = ""
    beside: str = ""


Types = Mapping[str, Mapping[str, Field]]
"""Type → name → field. External types, such as Kubernetes', have no fields here."""

_PASTED_TABLE: Final = re.compile(
    r"^(\w+)\n(?:(?!^Field|^\| Field).*\n){0,12}?\| Field \| Description \| Default \| Validation \|\n\|---.*\n",
    re.MULTILINE,
)


def seed_fields(folder: Path, api: str, kind: str) -> dict[str, Field]:
    """Path → field, for all fields of a kind in an API's document; items and values of maps are ``[*]``."""
    number, read = _DOCUMENTS[api]
    (path,) = folder.glob(f"{number}_*.txt")
    return dict(_fields(read(path.read_text()), kind))


def _fields(types: Types, name: str, path: str = "") -> Iterator[tuple[str, Field]]:
    """A field with its type's name (``PodSpec``) is an embedded Go structure: its fields replace it."""
    for key, field in types[name].items():
        here = f"{path}.{key}"
        below = types.get(field.type)
        if key != field.type.rpartition(".")[2]:
            yield here, field
        elif below:
            here = path
        if below:
            yield from _fields(types, field.type, here + "[*]" * bool(field.many))


def _html(text: str) -> Types:
    """Tables in HTML: llmaz and OME."""
    types: dict[str, dict[str, Field]] = {}
    for name, body in re.findall(r"^## `([^`]+)`.*?\n(.*?)(?=^## `|\Z)", text, re.DOTALL | re.MULTILINE):
        rows = re.findall(r"<tr><td><code>(\w+)</code>(.*?)</td>\s*<td>", body, re.DOTALL)
        types[name] = {key: _go(html.unescape(re.sub(r"<B>.*?</B>|<[^>]+>", "", rest)).strip()) for key, rest in rows}
    return types


def _go(kind: str) -> Field:
    many = re.match(r"\[\]|map\[\w+\]", kind)
    return Field(kind[many.end() :], "list" if many[0] == "[]" else "map") if many else Field(kind)


def _markdown(text: str) -> Types:
    """Tables in Markdown: llm-d."""
    types: dict[str, dict[str, Field]] = {}
    for name, body in re.findall(r"^#### (\w+)\n(.*?)(?=^#### |\Z)", text, re.DOTALL | re.MULTILINE):
        rows = re.findall(r"^\| `(\w+)` _(.+?)_ \|.*?\|[^|]*\| (.*?) \|$", body, re.MULTILINE)
        types[name] = {key: _listed(re.sub(r"\[(.*?)\]\(.*?\)", r"\1", kind), beside) for key, kind, beside in rows}
    return types


def _listed(kind: str, beside: str) -> Field:
    if kind.startswith("object (keys:"):
        return Field("string", "map", beside)
    return Field(kind.removesuffix(" array"), "list" if kind.endswith(" array") else "", beside)


def _pasted(text: str) -> Types:
    """Tables in Markdown whose cells have become lines: AIM."""
    starts = [*_PASTED_TABLE.finditer(text)]
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return {start[1]: dict(_pasted_rows(text[start.end() : end])) for start, end in zip(starts, ends, strict=True)}


def _pasted_rows(body: str) -> Iterator[tuple[str, Field]]:
    found = [*re.finditer(r"^(\w+) (\w+)( array)?(?: \(.*\))? \|$", body, re.MULTILINE)]
    ends = [*(each.start() for each in found[1:]), len(body)]
    for match, end in zip(found, ends, strict=True):
        beside = re.split(r"\n(?=[A-Z]\w+\n)", body[match.end() : end])[0]
        yield match[1], Field(match[2], "list" if match[3] else "", beside)


def _json(text: str) -> Types:
    """A JSON schema, in which every object is a separate type: LLMKube."""
    types: dict[str, dict[str, Field]] = {}
    _objects(types, "Model", json.loads(text))
    return types


def _objects(types: dict[str, dict[str, Field]], name: str, schema: dict[str, Any]) -> None:
    types[name] = {}
    for key, child in schema.get("properties", {}).items():
        inner = child.get("items", child)
        many = "list" if "items" in child else ""
        if "properties" in inner:
            _objects(types, f"{name}.{key} of", inner)
            types[name][key] = Field(f"{name}.{key} of", many)
        else:
            types[name][key] = Field("".join({*_several(inner.get("type", ""))} - {"null"}), many)


def _several(kind: str | list[str]) -> list[str]:
    return [kind] if isinstance(kind, str) else kind


_DOCUMENTS: Final[Mapping[str, tuple[str, Callable[[str], Types]]]] = {
    "llmaz": ("000", _html),
    "llmd": ("001", _markdown),
    "llmkube": ("002", _json),
    "ome": ("003", _html),
    "aim": ("004", _pasted),
}
