"""Definitions that embed types of Kubernetes: the short source, and the plain one that is made of it."""

import pytest

from tests.definitions import definition_files
from tools.crds.builtin import builtin
from tools.crds.expand import UnknownType, embedded_names, expand
from tools.crds.files import made_files
from tools.crds.openapi import EMBED, types_of

TYPES = {
    "Base": {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {EMBED: "Leaf"}}},
    "Leaf": {"type": "integer", "format": "int32"},
}


@pytest.mark.parametrize(("path", "text"), list(made_files()), ids=lambda value: getattr(value, "stem", ""))
def test_definitions_are_up_to_date(path, text):
    assert path.read_text() == text, "run `make crds`"


def test_every_made_definition_has_a_source():
    drafted = {path for path in definition_files() if path.parent.parent.name == "llmkube"}  # by tools.follow
    assert {path for path in definition_files() if path.suffix == ".json"} - drafted == {
        path for path, _ in made_files()
    }


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param({EMBED: "Leaf", "minimum": 1}, {**TYPES["Leaf"], "minimum": 1}, id="keywords are added"),
        pytest.param({EMBED: "Leaf", "format": "int64"}, {"type": "integer", "format": "int64"}, id="keywords win"),
        pytest.param(
            {EMBED: "Base", "required": ["c"], "properties": {"c": {"type": "string"}}},
            {
                "type": "object",
                "required": ["a", "b", "c"],
                "properties": {"a": {"type": "string"}, "b": TYPES["Leaf"], "c": {"type": "string"}},
            },
            id="properties and required fields are joined",
        ),
        pytest.param(
            {EMBED: "Base", "x-modelgate-without": ["b"], "required": []},
            {"type": "object", "properties": {"a": {"type": "string"}}},
            id="properties and required fields are left out",
        ),
        pytest.param(
            {"items": [{EMBED: ["Leaf", "Base"]}]},
            {"items": [{**TYPES["Leaf"], **expand(TYPES["Base"], TYPES)}]},
            id="several types, anywhere",
        ),
    ],
)
def test_types_take_the_place_of_their_names(node, expected):
    assert expand(node, TYPES) == expected


def test_a_type_that_there_is_not_is_named():
    with pytest.raises(UnknownType, match="no type 'Nothing'"):
        expand({"properties": {"a": {EMBED: "Nothing"}}}, TYPES)


def test_the_names_in_a_source_are_found():
    assert list(embedded_names({"a": [{EMBED: ["X", "a.Y"]}], "b": {EMBED: "Z"}})) == ["X", "a.Y", "Z"]


def test_types_of_the_document_become_structural():
    reference = {"$ref": "#/components/schemas/a.Part"}
    document = {
        "a.Whole": {
            "description": "text",
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "default": "", "description": "text"},
                "protocol": {"type": "string", "default": "TCP", "enum": ["TCP", "UDP"]},
                "part": {"allOf": [reference], "default": {}, "x-kubernetes-map-type": "atomic"},
                "parts": {"type": "array", "items": reference, "x-kubernetes-patch-strategy": "merge"},
                "byName": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
            },
            "x-kubernetes-group-version-kind": [],
        },
        "a.Part": {"type": "object"},
        "a.Other": {"type": "object"},
    }
    assert types_of(document, ["a.Whole"]) == {
        "a.Part": {"type": "object"},
        "a.Whole": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "protocol": {"type": "string", "default": "TCP"},
                "part": {EMBED: "a.Part", "x-kubernetes-map-type": "atomic"},
                "parts": {"type": "array", "items": {EMBED: "a.Part"}},
                "byName": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
    }


def test_kinds_of_the_document_keep_what_decides_how_they_merge():
    def kind(name, group="apps"):
        return {"x-kubernetes-group-version-kind": [{"group": group, "version": "v1", "kind": name}]}

    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["protocol"]}
    port = {"type": "object", "properties": {"protocol": {"type": "string", "default": "TCP", "enum": ["TCP"]}}}
    reference = {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.Port"}], "default": {}}
    ports = {"type": "array", "items": {**reference, "x-kubernetes-map-type": "granular"}, **keyed}
    whole = {"type": "object", "required": ["ports"], "properties": {"metadata": {"type": "object"}, "ports": ports}}
    document = {
        "io.k8s.api.Whole": {"description": "text", **whole, **kind("Whole")},
        "io.k8s.api.Core": {"type": "object", "properties": {"metadata": {}}, **kind("Core", "")},
        "io.k8s.api.Port": port,
        "io.k8s.api.WholeList": {**whole, **kind("WholeList")},
        "io.k8s.api.Options": {"type": "object", **kind("Options")},
        "io.k8s.networking.inference.v1.Whole": {**whole, **kind("Whole", "inference.networking.k8s.io")},
        "com.example.Whole": {**whole, **kind("Whole", "example.com")},
    }
    assert builtin(document) == {
        "kinds": {"apps/v1/Whole": "api.Whole", "v1/Core": "api.Core"},
        "types": {
            "api.Core": {"type": "object", "properties": {"metadata": {}}},
            "api.Port": {"type": "object", "properties": {"protocol": {"type": "string", "default": "TCP"}}},
            "api.Whole": {
                "type": "object",
                "properties": {
                    "metadata": {"type": "object"},
                    "ports": {
                        "type": "array",
                        "items": {"$ref": "api.Port", "x-kubernetes-map-type": "granular"},
                        **keyed,
                    },
                },
            },
        },
    }
