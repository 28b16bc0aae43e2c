"""Every keyword of a definition that an answer names refuses an object that breaks it, not one that keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

import pytest

from tests.e2e.kinds import row_of
from tests.tools.references import kind
from tools.coverage.seeds import DOCUMENTS
from tools.coverage.sentences import answered
from webhook.cel import Budget

Schema = dict[str, Any]

UNBREAKABLE: Final = {
    "optional": "an object without the field is accepted",
    "default": "an absent field gets it",
    "x-kubernetes-preserve-unknown-fields": "every field is accepted",
    "x-kubernetes-int-or-string": "two types are accepted",
}
"""Keywords that allow: only an object that keeps them exists."""
RULES: Final = "x-kubernetes-validations"
"""Rules in CEL have objects of their own: tests/policies/test_*_crd*.py."""
TEXTS: Final = (
    "a",
    "A",
    "a/b",
    "hf://a/b",
    "https://a.b/c",
    "a/b-A100-1",
    "0123456789abcdef" * 4,
    "a.b/c",
    "True",
    "1",
    "1.0",
)
WRONG: Final = {"string": [], "integer": "x", "number": "x", "boolean": "x", "array": "x", "object": "x"}
GONE: Final = object()


def references() -> list[str]:
    known = [answered(api) for api in DOCUMENTS]
    found = {
        text for each in known for part in (each.sentences, each.rows) for holds in part.values() for text in holds.crd
    }
    return sorted(text for text in found if not text.endswith(RULES))


@pytest.mark.parametrize("reference", references())
def test_a_keyword_tells_a_broken_object_from_a_good_one(reference: str) -> None:
    where, keyword = reference.split(" ")
    name, _, path = where.partition(".")
    schema, steps = kind(name).schema.raw, re.findall(r"\[\*]|[^.\[\]]+", path)
    field = node(schema, steps)
    assert keyword != "default" or "default" in field
    good = GONE if keyword == "optional" else existing(base(name), steps) or good_value(field)
    assert errors(name, placed(base(name), schema, steps, good), steps) == []
    if keyword in UNBREAKABLE:
        return
    assert errors(name, placed(base(name), schema, steps, broken_value(field, keyword)), steps) != []


def base(name: str) -> Schema:
    row = row_of(name)
    return deepcopy({**row.object("a", namespace="default"), "status": deepcopy(row.status)})


def errors(name: str, obj: Schema, steps: list[str]) -> list[str]:
    """What the definition says of the field, or of an item of it."""
    path = ".".join(steps).replace(".[*]", "[0]")
    found, _, _ = kind(name).schema.check(obj, None, Budget())
    return [str(each) for each in found if re.match(rf"{re.escape(path)}($|[.\[])", each.field)]


def node(schema: Schema, steps: list[str]) -> Schema:
    for step in steps:
        schema = (
            (schema.get("items") or schema["additionalProperties"]) if step == "[*]" else schema["properties"][step]
        )
    return schema


def existing(obj: Any, steps: list[str]) -> Any:
    """The value at a path, None if it is absent."""
    for step in steps:
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def placed(obj: Schema, schema: Schema, steps: list[str], value: Any) -> Schema:
    """The object with a value at a path; what is missing above it is made as small as the schema allows."""
    at: Any = obj
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        made = value if last else good_value(node(schema, steps[: number + 1]))
        if step == "[*]" and isinstance(at, dict):
            at["a"] = made
            at = made
        elif step == "[*]":
            at[:] = at or [made]
            at = at[0]
        elif last and value is GONE:
            at.pop(step, None)
        elif last:
            at[step] = value
        else:
            at = at.setdefault(step, made)
    return obj


def good_value(schema: Schema) -> Any:
    """The smallest value, with all that it requires."""
    if "default" in schema:
        return deepcopy(schema["default"])
    match schema.get("type"):
        case "string":
            return next(good_texts(schema))
        case "integer" | "number":
            return max(schema.get("minimum", 1), 1)
        case "boolean":
            return True
        case "array":
            return [good_value(schema["items"])] if schema.get("minItems") else []
        case "object":
            return {key: good_value(schema["properties"][key]) for key in schema.get("required", ())}
    return "1Gi"


def good_texts(schema: Schema) -> Iterator[str]:
    if schema.get("format") == "date-time":
        yield "2024-05-21T10:00:00Z"
    yield from schema.get("enum", ())
    texts = (text for text in TEXTS if len(text) >= schema.get("minLength", 0))
    yield from (text for text in texts if re.search(schema.get("pattern", ""), text))


def broken_value(schema: Schema, keyword: str) -> Any:
    match keyword:
        case "required":
            return GONE
        case "enum":
            return "no-such-value"
        case "minimum":
            return schema["minimum"] - 1
        case "maximum":
            return schema["maximum"] + 1
        case "minLength":
            return ""
        case "pattern":
            return next(text for text in ("", " ", "\t") if not re.search(schema["pattern"], text))
        case "format":
            return "x"
        case "x-kubernetes-list-map-keys":
            item = good_value(schema["items"])
            return [item, item]
        case "type":
            return WRONG[schema["type"]]
    raise ValueError(keyword)
