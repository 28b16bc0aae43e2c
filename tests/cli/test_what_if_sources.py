"""`--what-if` with packs, Enforcements and definitions, each in the place of that which decides now."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.catalog.test_installed import changed, with_prefetch
from tests.cli.what_if import DEFINITION, HEAD, PLAIN, UP, Capture, codes, report, run
from tests.enforcement.policies import enforcement, exception
from tests.files import written
from webhook.admission import GroupVersionKind
from webhook.catalog import load
from webhook.facts.settings import Settings

PACK = {
    "pack.yaml": "apiVersion: modelgate.dev/v1alpha1\nkind: Pack\nmetadata: {name: toy}\n"
    "spec: {operator: Toy, codes: [TY], groups: [toy.example.com]}\n",
    "crds/toys.yaml": """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.toy.example.com}
spec:
  group: toy.example.com
  scope: Namespaced
  names: {kind: Toy, plural: toys, singular: toy, listKind: ToyList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
""",
    "toy.yaml": """apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: toy}
spec:
  target: {group: toy.example.com, versions: [v1], kind: Toy}
  validations:
  - code: TY201
    at: spec.size
    rule: self < 10
    message: is too large; use at most 9
    action: Deny
    docs: A toy fits into a hand.
""",
}


def pack(folder: Path, limit: int) -> Path:
    """A folder with an API whose rule allows sizes below a limit."""
    written(folder / "toy", {name: text.replace("self < 10", f"self < {limit}") for name, text in PACK.items()})
    return folder


def test_a_pack_is_added_or_takes_the_place_of_its_older_form(tmp_path: Path, capsys: Capture) -> None:
    toy = tmp_path / "toy.yaml"
    toy.write_text("apiVersion: toy.example.com/v1\nkind: Toy\nmetadata: {name: t}\nspec: {size: 12}\n")
    old, new = pack(tmp_path / "old", 20), pack(tmp_path / "new", 10)
    for given in ((), ("--policies", old)):
        found = report(capsys, "check", toy, *given, "--what-if", f"policies={new}")
        assert (found["changes"], codes(found, "refused")) == ([f"policies {new}"], {"TY201": 1})
    assert report(capsys, "check", toy, "--policies", old, "--what-if", f"policies={old / 'toy'}")["objects"] == []


def policies(folder: Path, *objects: Any) -> Path:
    folder.mkdir()
    (folder / "policies.yaml").write_text(yaml.safe_dump_all(objects))
    return folder


FRACTION = PLAIN.replace("m%s", "f, namespace: team").replace("}\n", ", hardware: {memoryFraction: 1.5}}\n")


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"team": "a"}}}


TEAM_A = {"namespaceSelector": {"matchLabels": {"team": "a"}}}


@pytest.mark.parametrize(
    ("now", "then", "effect", "by"),
    [
        ([], [enforcement(action="deny", codes=["LK223"])], "refused", "deny by Enforcement e"),
        ([], [NAMESPACE, enforcement(action="deny", codes=["LK2*"], **TEAM_A)], "refused", "deny by Enforcement e"),
        ([NAMESPACE], [enforcement(action="audit", **TEAM_A)], "relaxed", "audit by Enforcement e"),
        ([], [enforcement(action="off", codes=["LK22*"])], "relaxed", "off by Enforcement e"),
        (
            [],
            [exception(codes=["LK223"], namespaces=["team"], until="2999-01-01T00:00:00Z")],
            "relaxed",
            "excepted by P",
        ),
        ([enforcement(action="deny")], [enforcement(action="warn")], "relaxed", "warn by Enforcement e"),
        ([enforcement(action="audit")], [enforcement(action="warn")], "warned", "warn by Enforcement e"),
        ([enforcement(action="deny")], [enforcement("other", action="warn")], None, ""),
        ([], [enforcement(action="deny", namespaces=["others"])], None, ""),
    ],
)
@pytest.mark.parametrize("command", ["check", "scan"])
def test_enforcements_and_exceptions_are_judged_by_as_if_they_were_applied(
    command: str, now: list[Any], then: list[Any], effect: str | None, by: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "model.yaml").write_text(FRACTION)
    given, change = policies(tmp_path / "now", *now), policies(tmp_path / "then", *then)
    beside = (given,) if command == "scan" else ("--view", given, "--references", "open")
    arguments = (command, tmp_path / "model.yaml", *beside, "--what-if", f"enforcement={change}")
    found = report(capsys, *arguments)
    assert {each["effect"] for each in found["codes"]} == ({effect} if effect else set())
    if effect is not None:
        assert found["changes"] == [f"enforcement {change}"]
        (difference,) = found["objects"]
        messages = {each["code"]: each["message"] for each in difference["relaxed" if effect == "relaxed" else "new"]}
        assert by in messages["LK223"]
        code, out, _ = run(capsys, *arguments)
        assert (code, f"({by}" in out) == (1 if effect == "refused" else 0, True)


def never(file: Path) -> Path:
    """LLMKube's definition of 0.9.19, in which no source is right."""
    later = load(settings=Settings(releases=(("llmkube", "0.9.19"),)))
    schema = deepcopy(dict(later.kinds[GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")].schema.raw))
    schema["properties"]["spec"]["properties"]["source"]["pattern"] = "^never$"
    definition = yaml.safe_load(DEFINITION.read_text())
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    file.write_text(json.dumps(definition))
    return file


@pytest.mark.parametrize("command", ["check", "scan"])
def test_a_definition_of_the_next_release_takes_the_place_of_the_others(
    command: str, model_tree: Path, tmp_path: Path, capsys: Capture
) -> None:
    crd = never(tmp_path / "crd.json")
    (model_tree / "models.json").write_text(json.dumps(changed("Model", with_prefetch)))
    found = report(capsys, command, ".", "--what-if", f"crds={crd}", "--what-if", UP)
    assert found["changes"] == [
        "LLMKube of an unknown release (by its definitions) → LLMKube 0.9.19",
        f"crds {crd}",
    ]
    assert codes(found, "refused")["schema"] == 2  # the definition among the files has another pattern
    assert {each["name"] for each in found["objects"]} >= {"amd"}


def test_what_a_rule_without_a_known_release_would_say_is_not_resolved(model_tree: Path, capsys: Capture) -> None:
    (model_tree / "tgi.yaml").write_text(
        f"{HEAD}kind: InferenceService\nmetadata: {{name: tgi}}\n"
        'spec: {modelRef: m, runtime: tgi, endpoint: {port: 80}, extraArgs: ["--seed", "1"]}\n'
    )
    found = report(capsys, "check", "tgi.yaml", "--what-if", "release=llmkube=unknown")
    assert (codes(found, "unjudged"), codes(found, "resolved")) == ({"LS382": 1}, {})
    assert any("LS382" in each["message"] for each in found["remarks"])
    found = report(capsys, "check", "s3.yaml", "--what-if", "release=llmkube=0.3.9")  # older than all definitions
    assert (codes(found, "unjudged"), codes(found, "resolved")) == ({"schema": 1}, {})


@pytest.mark.parametrize("command", ["check", "scan"])
def test_a_version_that_is_served_no_more_is_refused_and_resolves_nothing(
    command: str, model_tree: Path, capsys: Capture
) -> None:
    crd = model_tree.parent / "crd.yaml"
    text = DEFINITION.read_text()
    crd.write_text(text.replace("served: true", "served: false"))
    found = report(capsys, command, ".", "--what-if", f"crds={crd}")
    assert codes(found, "refused") == {"unknown-kind": 2}
    assert (codes(found, "unjudged"), codes(found, "resolved")) == ({"schema": 1}, {})
