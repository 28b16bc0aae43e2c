"""The digest of a definition is that of the recorded releases, and does not depend on where the definition was read."""

from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from typing import Any

import pytest

from tests.crds import crd_text
from tests.shared import ROOT, shared
from webhook.manifests import documents
from webhook.schema.crd.digest import digest

SCHEMA = """
        type: object
        description: Ein Gerät mit “Namen”
        properties:
          spec: {type: object, properties: {size: {type: number, minimum: 1.0, maximum: 0.5e3, multipleOf: 0.1}}}
  - {name: v1alpha1, served: true, storage: false}
"""
"""The end of a definition: a schema whose numbers are written in several forms, and a version without a schema."""
(DEFINITION,) = (each.value for each in documents.parse(crd_text("example.com", "Widget", SCHEMA), "widgets.yaml"))
TEXT = (
    '[{"openAPIV3Schema":{"description":"Ein Gerät mit “Namen”","properties":{"spec":{"properties":{"size":'
    '{"maximum":500,"minimum":1,"multipleOf":0.1,"type":"number"}},"type":"object"}},"type":"object"}},{}]'
)


def answered(definition: dict[str, Any]) -> dict[str, Any]:
    """The definition as an API server returns it."""
    found = json.loads(json.dumps(definition))
    found["metadata"] |= {"uid": "0", "resourceVersion": "7", "generation": 1, "managedFields": [{"manager": "helm"}]}
    found["spec"]["conversion"] = {"strategy": "None"}
    found["status"] = {"acceptedNames": found["spec"]["names"], "storedVersions": ["v1"], "conditions": []}
    found["spec"]["versions"].reverse()
    return dict(reversed(found.items()))


def test_the_digest_is_of_the_schemas_as_json_in_the_order_of_the_versions() -> None:
    assert digest(DEFINITION) == hashlib.sha256(TEXT.encode()).hexdigest()


def test_what_an_api_server_adds_and_how_it_writes_numbers_do_not_count() -> None:
    found = answered(DEFINITION)
    schema = found["spec"]["versions"][-1]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["size"] |= {"minimum": 1, "maximum": 500}
    assert digest(found) == digest(DEFINITION)


@pytest.mark.parametrize("change", [{"description": "Another text"}, {"title": "A title"}, {"nullable": True}])
def test_texts_count_as_everything_else_in_a_schema(change: dict[str, Any]) -> None:
    other = deepcopy(DEFINITION)
    other["spec"]["versions"][0]["schema"]["openAPIV3Schema"] |= change
    assert digest(other) != digest(DEFINITION)


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"spec": None},
        {"spec": {"versions": {"name": "v1"}}},
        {"spec": {"versions": ["v1"]}},
        {"spec": {"versions": [{"name": 1}]}},
        {"spec": {"versions": [{"served": True}]}},
    ],
)
def test_a_definition_without_named_versions_has_no_digest(definition: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be a list of versions with names"):
        digest(definition)


def test_a_definition_that_is_nested_too_deeply_has_no_digest() -> None:
    schema: Any = {}
    for _ in range(100_000):
        schema = {"items": schema}
    with pytest.raises(ValueError, match="nested too deeply"):
        digest({"spec": {"versions": [{"name": "v1", "schema": schema}]}})
    while schema:  # freed level by level
        schema = schema.get("items")


def test_half_a_character_has_a_digest() -> None:
    broken = {"spec": {"versions": [{"name": "v1", "schema": {"description": "\ud800"}}]}}
    assert digest(broken) == digest(broken)


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shared("releases", "releases.json").read_text())
    return found


def test_the_table_of_llmkube_has_every_recorded_release() -> None:
    table = json.loads((ROOT / "policies" / "llmkube" / "releases.json").read_text())
    position = {release: index for index, release in enumerate(table["releases"])}
    for tag, release in recorded()["tags"].items():
        at = position[tag.lower().removeprefix("v")]
        for name, rows in table["digests"].items():
            found = [value for value, first, last in rows if position[first] <= at <= position[last]]
            expected = release["digests"].get(name)
            assert found == ([expected["digest"]] if expected else []), (tag, name)
    assert len(position) == len(recorded()["tags"])


def test_recorded_definitions_differ_in_their_digests() -> None:
    """The recorded files have no texts: their digests without texts are known."""
    index = json.loads(shared("releases", "crds", "index.json").read_text())
    assert len(index) > 20
    for entry in index:
        definition = json.loads(shared("releases", "crds", entry["file"]).read_text())
        assert digest(definition) == digest(answered(definition)) == entry["digestWithoutTexts"], entry["file"]
