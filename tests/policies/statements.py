"""What a definition states, so that two of them can be compared: keywords in any order, descriptions left out."""

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]


def schema_of(crd: dict[str, Any]) -> Schema:
    """The schema of a definition with one version."""
    (version,) = crd["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def children_of(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The nodes one step below: (step, schema), a step being ``.field`` or ``[*]``."""
    for name, child in schema.get("properties", {}).items():
        yield f".{name}", child
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield "[*]", schema[keyword]


def fields_of(schema: Schema, path: str = "") -> dict[str, Schema]:
    """Path → schema of every field; items and values of maps are written ``[*]``."""
    found = {}
    for step, child in children_of(schema):
        if step != "[*]":
            found[path + step] = child
        found |= fields_of(child, path + step)
    return found


def node_at(schema: Schema, path: str) -> Schema | None:
    """The node at such a path, None if it does not exist."""
    node: Schema | None = schema
    for step in re.findall(r"\.[^.[]+|\[\*]", path):
        node = dict(children_of(node)).get(step) if node else None
    return node


def statements_of(schema: Schema, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every statement as (path and keyword, value); of several enums that all hold, what they have in common."""
    for keyword, value in schema.items():
        if keyword == "allOf" and all(set(part) == {"enum"} for part in value):
            yield f"{path} enum", frozenset.intersection(*(frozenset(part["enum"]) for part in value))
        elif keyword in {"required", "enum"}:
            yield f"{path} {keyword}", frozenset(value)
        elif keyword not in {"description", "properties", "items", "additionalProperties"}:
            yield f"{path} {keyword}", value
    for step, child in children_of(schema):
        yield from statements_of(child, path + step)


def descriptions_of(schema: Schema) -> Iterator[str]:
    """The descriptions of all nodes."""
    if "description" in schema:
        yield schema["description"]
    for _, child in children_of(schema):
        yield from descriptions_of(child)
