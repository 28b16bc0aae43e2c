"""The rows of the API documents' tables, compared with the definitions: type, default, enum, pattern, required …"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tools.coverage.seeds import Document, Field, fields_below

_TYPES: Final = {
    "bool": "boolean",
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "DNSPolicy": "string",
    "InferenceServiceProtocol": "string",
    "PreemptionPolicy": "string",
    "RestartPolicy": "string",
    "JSON": None,
    "Quantity": None,
    "Time": "string",
    "UID": "string",
    "URL": "string",
    **{name: name for name in ("string", "boolean", "integer", "number", "object")},
}
"""The last part of a type's name in a document → the type in a definition. Other types are objects."""
_FORMATS: Final = {"int32": "int32", "int64": "int64", "Time": "date-time"}


@dataclass(frozen=True, slots=True)
class Row:
    """One statement of a row: ``keyword`` of the definition at ``path`` must be ``value``, and is ``found``."""

    name: str
    keyword: str
    path: str
    value: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.name} {self.keyword}"

    @property
    def holds(self) -> bool:
        """The definition states the same."""
        if self.keyword in {"enum", "values"}:
            return isinstance(self.found, list) and sorted(self.value) == sorted(self.found)
        if self.keyword == "default":
            return self.found is not None and str(self.value).lower() == str(self.found).lower()
        return bool(self.value == self.found)


def rows(document: Document, api_version: str, kind: str, schema: Mapping[str, Any]) -> Iterator[Row]:
    """What the document states of a kind, beside what its definition states."""
    for path, name, field in fields_below(document, kind):
        node, required = _node(schema, path)
        whole = _whole(document, field)
        for keyword, value in {**_typed(document, field), **field.stated}.items():
            if keyword == "value":
                yield Row(name, keyword, path, value, kind if path == ".kind" else api_version)
            else:
                found = required if keyword == "required" else node.get(keyword)
                yield Row(name, keyword, path, value, found)
        for keyword, value in whole.items():
            yield Row(field.type, keyword, path, value, node.get("enum" if keyword == "values" else keyword))


def unreached(document: Document, kinds: list[str]) -> set[str]:
    """The types with fields that no kind contains."""
    reached = {*kinds}
    for kind in kinds:
        reached |= {name.rpartition(".")[0] for _, name, _ in fields_below(document, kind)}
        reached |= {field.type for _, _, field in fields_below(document, kind)}
    return document.types.keys() - reached


def _typed(document: Document, field: Field) -> dict[str, Any]:
    """The type and the format that a field's definition must have."""
    if field.many:
        return {"type": "array" if field.many == "list" else "object"}
    last = re.sub(r".*\.", "", field.type)
    if field.type in document.types:
        return {} if not document.types[field.type].fields else {"type": "object"}
    kind = _TYPES.get(last, "object")
    return ({"type": kind} if kind else {}) | ({"format": _FORMATS[last]} if last in _FORMATS else {})


def _whole(document: Document, field: Field) -> dict[str, Any]:
    """What is stated of a type without fields: an alias or an enumeration."""
    named = document.types.get(field.type)
    return {} if named is None or named.fields or field.many else named.stated


def _node(schema: Mapping[str, Any], path: str) -> tuple[Mapping[str, Any], bool]:
    """The schema of a field, empty if it is not there, and whether it is required."""
    node, required = schema, False
    for step in re.findall(r"\[\*\]|[^.\[]+", path):
        if step == "[*]":
            node = node.get("items") or node.get("additionalProperties") or {}
        else:
            required = step in node.get("required", ())
            node = node.get("properties", {}).get(step, {})
    return node, required
