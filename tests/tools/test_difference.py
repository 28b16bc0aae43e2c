"""What one form of a definition changes against another, and which codes read it."""

from __future__ import annotations

from typing import Any

import pytest

from tools.follow.difference import changes
from tools.follow.touched import touched
from webhook import catalog
from webhook.catalog import Catalog


def definition(schema: dict[str, Any] | None, version: str = "v1") -> dict[str, Any]:
    wrapped = {} if schema is None else {"schema": {"openAPIV3Schema": schema}}
    return {"spec": {"versions": [{"name": version, **wrapped}]}}


def spec(**fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


TEXT = {"type": "string"}
LIST = {"type": "array", "items": spec(name=TEXT)}


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (spec(a=TEXT), spec(a=TEXT), []),
        (spec(), spec(a=TEXT), ["+ a (string)"]),
        (spec(a=TEXT), spec(), ["- a (string)"]),
        (spec(), spec(a=LIST), ["+ a (array)", "+ a[*] (object)", "+ a[*].name (string)"]),
        (
            spec(a=LIST),
            spec(a={"type": "object", "additionalProperties": TEXT}),
            [
                '~ a type: "array" → "object"',
                '~ a[*] type: "object" → "string"',
                "- a[*].name (string)",
            ],
        ),
        (spec(a=TEXT), spec(a={**TEXT, "enum": ["x", "y"]}), ['~ a enum: not stated → ["x", "y"]']),
        (spec(description=TEXT), spec(description={}), ['~ description type: "string" → not stated']),
        (
            spec(a={"description": "one\n two"}),
            spec(a={"description": "one two"}),
            ['~ a description: "one two" → "one two"'],
        ),
        (
            spec(a={"description": "a b c d e f g h old i j k l m n o p"}),
            spec(a={"description": "a b c d e f g h new i j k l m n o p"}),
            ["~ a description: … c d e f g h old i j k l m n … → … c d e f g h new i j k l m n …"],
        ),
        (None, spec(), ['~ the object type: not stated → "object"']),
        (spec(), None, ['~ the object type: "object" → not stated']),
    ],
)
def test_each_node_and_keyword_that_differs_is_a_change(before: Any, after: Any, lines: list[str]) -> None:
    assert [str(each) for each in changes(definition(before), definition(after))] == lines


def test_a_version_that_only_one_has_is_added_or_removed() -> None:
    found = list(changes(definition(spec(a=TEXT)), definition(spec(a=TEXT), "v2")))
    assert [(each.version, str(each)) for each in found] == [
        ("v1", "- the object (object)"),
        ("v1", "- a (string)"),
        ("v2", "+ the object (object)"),
        ("v2", "+ a (string)"),
    ]


@pytest.fixture(scope="module")
def loaded() -> Catalog:
    return catalog.load()


@pytest.mark.parametrize(
    ("api", "kind", "field", "some", "others"),
    [
        ("llmkube", "Model", "spec.hardware.gpu.runtime", {"LK101", "LK102", "LK306"}, {"LK201", "LK311"}),
        ("llmkube", "Model", "spec.source", {"LK201", "LK321"}, {"LK102"}),
        ("llmkube", "Model", "spec.somethingElse", set(), {"LK102", "LK201"}),
        ("llmkube", "InferenceService", "spec.runtime", {"LK301"}, {"LK102"}),
        ("ome", "InferenceService", "spec.runtime", {"OM405"}, {"LK301"}),
        ("ome", "InferenceService", "spec.engine.minReplicas", {"OM413"}, {"LK301"}),
    ],
)
def test_the_codes_that_read_a_field_are_found(
    loaded: Catalog, api: str, kind: str, field: str, some: set[str], others: set[str]
) -> None:
    found = touched(loaded, api, kind, {tuple(field.split("."))})
    assert some <= found
    assert not found & others
