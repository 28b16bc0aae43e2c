"""Loading CustomResourceDefinitions: valid ones load, invalid ones are refused with the API server's errors."""

from __future__ import annotations

import copy

import pytest
import yaml

from tests.shared import ROOT, shared
from webhook.schema import SchemaError, load_crd
from webhook.schema.crd.document import validate_crd

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "foos", "kind": "Foo"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
            }
        ],
    },
}
ROOT_PATH = "spec.validation.openAPIV3Schema"


def crd_with(**spec):
    """The CRD with another schema for ``spec``."""
    document = copy.deepcopy(CRD)
    document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec
    return document


def refusal(document):
    with pytest.raises(SchemaError) as caught:
        load_crd(document)
    return [*map(str, caught.value.errors)]


def test_a_crd_is_loaded_with_its_defaults():
    crd = load_crd(CRD)
    assert (crd.group, crd.kind, crd.plural, crd.scope) == ("example.com", "Foo", "foos", "Namespaced")
    version = crd.versions["v1"]
    assert (version.served, version.storage, version.status) == (True, True, True)
    assert version.schema.raw == CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


SPEC = f"{ROOT_PATH}.properties[spec]"
REFUSED = {
    "no type": ({}, f"{SPEC}.type: Required value: must not be empty for specified object fields"),
    "no items": ({"type": "array"}, f"{SPEC}.items: Required value: must be specified"),
    "structure under anyOf": (
        {"type": "object", "anyOf": [{"type": "object"}]},
        f"{SPEC}.anyOf[0].type: Forbidden: must be empty to be structural",
    ),
    "a default of the wrong type": (
        {"type": "integer", "default": "x"},
        f'{SPEC}.default: Invalid value: "string":  in body must be of type integer: "string"',
    ),
    "a default with unknown fields": (
        {"type": "object", "default": {"x": 1}},
        f'{SPEC}.default: Invalid value: {{"x":1}}: must not have unknown fields',
    ),
    "a pattern with lookahead": (
        {"type": "string", "pattern": "(?!x)"},
        (
            f'{SPEC}.pattern: Invalid value: "(?!x)": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: invalid or unsupported Perl syntax: `(?!`"
        ),
    ),
    "map keys without a default": (
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
        (
            f"{SPEC}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, "
            "so it must have a default or be a required property"
        ),
    ),
    "properties beside additionalProperties": (
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
        f"{SPEC}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
    ),
    "oldSelf where nothing correlates": (
        {
            "type": "array",
            "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]},
        },
        (
            f'{SPEC}.items.x-kubernetes-validations[0].rule: Invalid value: "self >= oldSelf": oldSelf cannot be used '
            f"on the uncorrelatable portion of the schema within {SPEC}"
        ),
    ),
    "a number as a type": (
        {"type": 5},
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Invalid value: 5: must be a string",
    ),
    "a fraction as a length": (
        {"type": "string", "maxLength": 4.0},
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].maxLength: Invalid value: 4: must be an integer",
    ),
}


@pytest.mark.parametrize(("spec", "wanted"), REFUSED.values(), ids=REFUSED)
def test_a_schema_the_api_server_refuses_is_refused_in_its_words(spec, wanted):
    assert refusal(crd_with(**spec)) == [wanted]


def test_a_rule_that_does_not_compile_is_refused():
    (error,) = refusal(crd_with(type="object", **{"x-kubernetes-validations": [{"rule": "self.unknown > 1"}]}))
    assert "compilation failed: ERROR: <input>:1:5: undefined field 'unknown'" in error


def test_a_rule_that_could_cost_too_much_is_refused():
    strings = {"type": "array", "items": {"type": "string"}}
    errors = refusal(
        crd_with(**strings, **{"x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}]})
    )
    assert "estimated rule cost exceeds budget by factor of more than 100x" in errors[0]


def test_all_errors_are_reported_at_once():
    document = crd_with(type="array")
    document["spec"]["group"] = "nodot"
    document["spec"]["scope"] = "World"
    fields = [error.partition(":")[0] for error in refusal(document)]
    assert fields == ["metadata.name", "spec.group", "spec.scope", f"{SPEC}.items"]


@pytest.mark.parametrize("document", [None, [], {}, {"spec": 5}, {"spec": {"versions": [5]}}, {"spec": {"names": []}}])
def test_a_document_without_the_shape_of_a_crd_is_refused(document):
    assert refusal(document)


def test_a_schema_that_never_ends_is_refused():
    schema = {"type": "object"}
    for _ in range(2000):
        schema = {"type": "object", "properties": {"a": schema}}
    assert "must not be nested deeper than 100 levels" in refusal(crd_with(**schema))[0]


def test_the_shipped_crds_load():
    paths = [path for path in ROOT.glob("policies/*/crds/*") if path.suffix in (".json", ".yaml")]
    for path in paths:
        load_crd(yaml.load(path.read_text(), Loader=yaml.CSafeLoader))
    assert paths


def test_all_upstream_crds_load():
    for path in sorted(shared("upstream-crds").glob("*/*.yaml")):
        load_crd(yaml.load(path.read_text(), Loader=yaml.CSafeLoader))


def test_a_trusted_crd_is_compiled_without_being_checked():
    wrong = crd_with(type="array")
    assert load_crd(wrong, trusted=True).kind == "Foo"


def updated(old, new):
    for document in (old, new):
        document["metadata"]["resourceVersion"] = "1"
        document["status"] = {"storedVersions": ["v1"]}
    return [*map(str, validate_crd(new, old))]


def test_an_update_may_keep_faults_that_an_older_api_server_accepted():
    granular = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}
    atomic = {**granular, "items": {"type": "object", "x-kubernetes-map-type": "atomic"}}
    assert updated(crd_with(**granular), crd_with(**granular)) == []
    assert len(updated(crd_with(**atomic), crd_with(**granular))) == 1


def test_an_update_may_not_change_the_names_of_the_resource():
    renamed = crd_with(type="object")
    renamed["spec"]["group"] = "other.com"
    assert 'spec.group: Invalid value: "other.com": field is immutable' in updated(crd_with(type="object"), renamed)
