"""AIM's definitions say what its API document says, field by field, with upstream's real constraints."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.definitions import POLICIES, definition
from tests.shared import shared

KINDS = (
    "AIMClusterImage",
    "AIMClusterRuntimeConfig",
    "AIMClusterServiceTemplate",
    "AIMImage",
    "AIMModelCache",
    "AIMRuntimeConfig",
    "AIMService",
    "AIMServiceTemplate",
    "AIMTemplateCache",
)

JSON_TYPES = {"string": "string", "boolean": "boolean", "integer": "integer", "UID": "string", "Time": "string"}

Field = tuple[str, str, str]
"""Name, type, and what stands beside it: default and validation."""


def ours(kind: str) -> dict[str, Any]:
    return definition(POLICIES / "aim" / "crds" / f"{kind.lower()}s.json")


def upstream(kind: str) -> dict[str, Any]:
    path = shared("upstream-crds", "aim") / f"aim.silogen.ai_{kind.lower()}s.yaml"
    return yaml.load(path.read_text(), Loader=yaml.CSafeLoader)


def schema_of(crd: dict[str, Any]) -> dict[str, Any]:
    (version,) = crd["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def types_of_the_document() -> dict[str, list[Field]]:
    """Type → its fields, as the document's tables have them."""
    (path,) = shared("seeds").glob("004_*.txt")
    heading = (
        r"^(\w+)\n(?:(?!^Field|^\| Field).*\n){0,12}?\| Field \| Description \| Default \| Validation \|\n\|---.*\n"
    )
    text = path.read_text()
    starts = [*re.finditer(heading, text, re.MULTILINE)]
    types: dict[str, list[Field]] = {}
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        name = re.match(r"\w+", start.group())
        assert name
        body = text[start.end() : following.start() if following else len(text)]
        types[name.group()] = list(fields_of(body))
    return types


def fields_of(body: str) -> Iterator[Field]:
    found = [*re.finditer(r"^(\w+) (\w+)( array)?(?: \(.*\))? \|$", body, re.MULTILINE)]
    for match, following in zip(found, [*found[1:], None], strict=True):
        rest = body[match.end() : following.start() if following else len(body)]
        yield match[1], match[2] + ("[]" if match[3] else ""), re.split(r"\n(?=[A-Z]\w+\n)", rest)[0]


def paths_of(types: dict[str, list[Field]], name: str, path: str = "") -> Iterator[Field]:
    """Every field below a type of the document: path, type, what stands beside it."""
    for field, kind, beside in types[name]:
        inner = kind.removesuffix("[]")
        yield f"{path}.{field}", kind, beside
        if inner in types:
            yield from paths_of(types, inner, f"{path}.{field}" + "[*]" * (inner != kind))


def node_at(schema: dict[str, Any], path: str) -> dict[str, Any] | None:
    for key in path.removeprefix(".").replace("[*]", ".*").split("."):
        child = schema.get("items") if key == "*" else schema.get("properties", {}).get(key)
        if not child:
            return None
        schema = child
    return schema


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_the_document_is_there_with_its_type_and_default(kind):
    schema, fields = schema_of(ours(kind)), [*paths_of(types_of_the_document(), kind)]
    assert [path for path, _, _ in fields if node_at(schema, path) is None] == []
    assert len(fields) > 10
    for path, text, beside in fields[2:]:  # after apiVersion and kind
        node = node_at(schema, path)
        if text in JSON_TYPES:
            assert node["type"] == JSON_TYPES[text], path
        elif text.endswith("[]"):
            assert node["type"] == "array", path
        if enum := re.search(r"Enum: \[([^]]+)\]", beside):
            assert node["enum"] == enum[1].split(), path
        default = re.search(r"(?:^|\| )([^\s|]+) \|", beside, re.MULTILINE)
        assert str(node.get("default")).lower() == (default[1].lower() if default else "none"), path


def facts_of(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every statement of a schema as (path, value), descriptions left out; two equal enums are one."""
    for keyword, value in schema.items():
        match keyword:
            case "properties":
                for name, child in value.items():
                    yield from facts_of(child, f"{path}.{name}")
            case "items" | "additionalProperties":
                yield from facts_of(value, f"{path}[*]")
            case "description":
                pass
            case "required":
                yield f"{path} {keyword}", frozenset(value)
            case "allOf" if all(set(part) == {"enum"} for part in value):
                yield f"{path} enum", frozenset.intersection(*(frozenset(part["enum"]) for part in value))
            case "enum":
                yield f"{path} enum", frozenset(value)
            case _:
                yield f"{path} {keyword}", value


PRECISION = {
    "AIMService": {".spec.overrides.precision enum"},
    "AIMServiceTemplate": {".spec.precision enum"},
    "AIMClusterServiceTemplate": {".spec.precision enum"},
}
"""Upstream's definitions ask for two enums at once, ours leave the narrower one to the rules (docs/rules/aim.md)."""


@pytest.mark.parametrize("kind", KINDS)
def test_upstream_s_schema_differs_only_in_precision(kind):
    mine, theirs = dict(facts_of(schema_of(ours(kind)))), dict(facts_of(schema_of(upstream(kind))))
    assert mine.keys() == theirs.keys()
    assert {path for path in mine if mine[path] != theirs[path]} == PRECISION.get(kind, set())
    for path in PRECISION.get(kind, ()):
        assert theirs[path] < mine[path]


def test_upstream_s_rules_are_ours_to_the_letter():
    rules = [
        (path, rule["rule"], rule["message"])
        for kind in KINDS
        for path, value in facts_of(schema_of(ours(kind)))
        if path.endswith("x-kubernetes-validations")
        for rule in value
    ]
    assert len(rules) == 16


@pytest.mark.parametrize("kind", KINDS)
def test_upstream_s_names_and_subresources_are_ours(kind):
    heads = []
    for crd in (ours(kind), upstream(kind)):
        (version,) = crd["spec"]["versions"]
        kept = {key: version.get(key) or None for key in ("name", "served", "storage", "subresources")}
        heads.append({**crd["spec"], "versions": kept})
    assert heads[0] == heads[1]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_show_fields_that_there_are(kind):
    """Five of upstream's columns name fields that no object has."""
    (version,) = ours(kind)["spec"]["versions"]
    for column in version["additionalPrinterColumns"]:
        if column["jsonPath"] != ".metadata.creationTimestamp":
            node = node_at(schema_of(ours(kind)), column["jsonPath"])
            assert node is not None, column
            assert node.get("type", "string") == column["type"]


def descriptions_of(schema: dict[str, Any]) -> Iterator[str]:
    if isinstance(text := schema.get("description"), str):
        yield text
    for child in schema.get("properties", {}).values():
        yield from descriptions_of(child)
    if isinstance(items := schema.get("items"), dict):
        yield from descriptions_of(items)


@pytest.mark.parametrize("kind", KINDS)
def test_descriptions_are_ours(kind):
    assert not set(descriptions_of(schema_of(ours(kind)))) & set(descriptions_of(schema_of(upstream(kind))))
