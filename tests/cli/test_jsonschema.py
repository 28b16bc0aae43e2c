"""The JSON Schema of kinds refuses nothing that the gate accepts, and finds what a schema can find."""

import json
from collections import Counter
from functools import cache
from typing import Any

import jsonschema
import pytest

from tests.policies.test_cases import files, read, target
from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.cel.syntax import parse
from webhook.cli import main
from webhook.cli.cases import MISSING, run, written
from webhook.cli.jsonschema import SchemaSource, _stated, json_schema
from webhook.facts.settings import DEFAULT_SETTINGS
from webhook.policy import Profile


@cache
def validator(gvk: GroupVersionKind, profile: Profile) -> jsonschema.Draft7Validator:
    known = catalog.load().kinds[gvk]
    schema = json_schema([SchemaSource(gvk, known.schema.raw, known.policy, known.schema.raw, "")], profile)
    return jsonschema.Draft7Validator(schema)


def test_nothing_is_refused_that_the_gate_accepts(loaded):
    """For every case of every rule of the documented releases."""
    outcomes, found = Counter(), Counter()
    for file in files():
        for document in read(file):
            known = target(document, loaded)
            for case in document.cases:
                is_usual = case.settings == DEFAULT_SETTINGS and not case.release and case.oldObject is None
                if is_usual and case.oldSpec is MISSING and case.profile != "audit":
                    result = run(case, known, loaded)
                    errors = [*validator(known.gvk, Profile(case.profile)).iter_errors(written(case, known))]
                    allowed = result.validation.allowed
                    assert not (allowed and errors), (case.name, [each.message for each in errors])
                    outcomes[allowed, bool(errors)] += 1
                    found.update(each.code or "schema" for each in result.validation.causes if errors)
    assert outcomes[True, False] > 1_000
    assert outcomes[False, True] > 100
    assert {"LZ213", "OM203", "OM204", "OM210", "OM251", "OM252", "LD206", "schema"} <= found.keys()


@pytest.mark.parametrize(
    ("expression", "right", "wrong"),
    [
        ("self in ['a', 'b']", ["a", "b"], ["c", ""]),
        ("!(self in ['a', 'b'])", ["c"], ["a"]),
        ("self == 'a'", ["a"], ["b"]),
        ("self != ''", ["a"], [""]),
        ("self >= 1 && self < 5", [1, 4], [0, 5]),
        ("self > 0.5 || self == 0", [0.6, 0], [0.5]),
        ("self.matches('^a+$')", ["aa"], ["ab", ""]),
        ("!self.contains('a.b')", ["axb"], ["a.b"]),
        ("self.startsWith('a[')", ["a[x"], ["ba["]),
        ("self.endsWith('$')", ["a$"], ["$a"]),
        ("self.size() > 2", ["abc", [1, 2, 3]], ["ab", [1, 2], {"a": 1}]),
        ("self.size() == 1", ["a", [1], {"a": 1}], ["", [], {}, "ab"]),
        ("has(self.a)", [{"a": 1}], [{}, {"b": 1}]),
        ("!(has(self.a) && has(self.b))", [{}, {"a": 1}], [{"a": 1, "b": 1}]),
        ("has(self.a.b)", [{"a": {"b": 1}}], [{}, {"a": {}}]),
        ("self.?a.hasValue()", [{"a": 1}], [{}]),
        ("'k' in self", [{"k": 1}], [{}]),
        ("self.?kind.orValue('A') == 'A'", [{}, {"kind": "A"}], [{"kind": "B"}]),
        ("self.?kind.orValue('A') == 'B'", [{"kind": "B"}], [{}, {"kind": "A"}]),
        ("self.?kind.orValue('') != ''", [{"kind": "B"}], [{}, {"kind": ""}]),
        ("self.?kind.orValue('x') != ''", [{}, {"kind": "B"}], [{"kind": ""}]),
        ("self != 'a' && self.lowerAscii() != 'b'", ["b", "c"], ["a"]),
    ],
)
def test_a_schema_says_the_same_as_an_expression(expression: str, right: list[Any], wrong: list[Any]) -> None:
    stated = _stated(parse(expression))
    assert stated is not None
    is_right = jsonschema.Draft7Validator(stated.schema).is_valid
    assert [value for value in right if not is_right(value)] == []
    assert [value for value in wrong if is_right(value)] == []


@pytest.mark.parametrize(
    "expression",
    [
        "self.matches('(?i)a')",
        "self.matches('a\\\\z')",
        "self != 'a' || self.lowerAscii() == 'b'",
        "!(self != 'a' && self.lowerAscii() == 'b')",
        "self == object.metadata.name",
        "other in ['a']",
        "self in [other]",
        "self.a.size() > 1",
        "self.all(each, each > 1)",
        "true",
        "self == null",
        "self.?a.orValue(1) > 2",
    ],
)
def test_what_a_schema_cannot_say_is_left_out(expression: str) -> None:
    assert _stated(parse(expression)) is None


def exported(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["export", "jsonschema", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_kind_is_exported_as_of_a_release(capsys):
    name = "inference.llmkube.dev.v1alpha1.Model"
    documented = exported(capsys, "Model")
    jsonschema.Draft7Validator.check_schema(documented)
    newer = exported(capsys, "Model", "--release", "llmkube=0.9.19")
    assert [*documented["definitions"]] == [*newer["definitions"]] == [name]
    fields = [each["definitions"][name]["properties"]["spec"]["properties"] for each in (documented, newer)]
    assert fields[0].keys() < fields[1].keys()
    assert fields[0]["source"]["description"].split("\n")[0] == fields[1]["source"]["description"].split("\n")[0]
    assert (
        "LK101: where it is absent, Modelgate may set it"
        in fields[1]["hardware"]["properties"]["accelerator"]["description"]
    )


def test_descriptions_say_what_a_rule_finds_and_why_and_titles_name_the_release(capsys):
    schema = exported(capsys, "Model", "--release", "llmkube=0.9.19")
    (model,) = schema["definitions"].values()
    assert (schema["title"], model["title"]) == ("Modelgate: LLMKube 0.9.19", "Model of LLMKube 0.9.19")
    source = model["properties"]["spec"]["properties"]["source"]["description"]
    finds = "… is not a URL with a host; use https://host/path/to/model.gguf."
    assert f"LK203 (warning): {finds} The CRD's pattern accepts a scheme with nothing after it." in source


def test_null_is_right_where_a_field_may_be_absent_and_no_value_of_an_enumeration(capsys):
    (model,) = exported(capsys, "Model")["definitions"].values()
    format_of = model["properties"]["spec"]["properties"]["format"]
    assert format_of["anyOf"][0]["enum"] == ["gguf", "mlx", "safetensors", "pytorch", "custom"]
    is_right = jsonschema.Draft7Validator(format_of).is_valid
    assert [is_right(value) for value in ("mlx", None, "onnx", 5, [], {})] == [True, True, False, False, False, False]


def test_a_field_that_has_another_name_now_is_deprecated(capsys):
    (model,) = exported(capsys, "OpenModel")["definitions"].values()
    field = model["properties"]["spec"]["properties"]["inferenceFlavors"]
    assert field["deprecationMessage"].endswith("its name is now inferenceConfig.flavors")


def test_objects_of_other_kinds_are_right(capsys):
    schema = exported(capsys)
    for value in ({}, {"apiVersion": "v1", "kind": "Pod", "spec": 5}, {"kind": "Model"}, {"a": [1]}):
        assert jsonschema.Draft7Validator(schema).is_valid(value)
