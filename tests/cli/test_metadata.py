"""ObjectMeta in files: refused where the API server refuses it, else accepted, and printed as it is stored."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.kinds import KINDS, Row
from webhook.cli import main

MODEL: dict[str, Any] = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "Model",
    "metadata": {"name": "m"},
    "spec": {"source": "pvc://c/m.gguf", "format": "gguf"},
}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "m.json"


def check(
    file: Path, capsys: pytest.CaptureFixture[str], *objects: dict[str, Any], view: Any = None
) -> tuple[int, str]:
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    there = file.with_name("view.json")
    there.write_text(json.dumps(view))
    code = main(["check", *([f"--view={there}"] if view else []), str(file)])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)
def test_every_kind_has_its_metadata_validated(row: Row, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = check(file, capsys, row.object("Bad_Name", labels={"a": "b c"}, colour="red"))
    assert code == 1
    assert 'error: metadata.name: Invalid value: "Bad_Name": not an RFC 1123 subdomain; use lower-case' in out
    assert 'error: metadata.labels: Invalid value: "b c": not a valid label value; use' in out
    assert "error: metadata.colour: unknown field" in out


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({}, "metadata.name: Required value: name or generateName is required"),
        (None, "metadata.name: Required value: name or generateName is required"),
        ([], "metadata: Invalid value: json: cannot unmarshal array into Go value of type v1.ObjectMeta"),
        ({"name": 5}, "metadata.name: Invalid value: json: cannot unmarshal number"),
        ({"name": "x" * 254}, "metadata.name: Invalid value: "),
        ({"generateName": "Bad_"}, 'metadata.generateName: Invalid value: "Bad_": not an RFC 1123 subdomain'),
        (
            {"name": "m", "namespace": "Bad_NS"},
            'metadata.namespace: Invalid value: "Bad_NS": not an RFC 1123 label',
        ),
        ({"name": "m", "annotations": {"a b": ""}}, 'metadata.annotations: Invalid value: "a b": '),
        ({"name": "m", "annotations": {"a": "x" * 262144}}, "metadata.annotations: Too long"),
        ({"name": "m", "finalizers": ["no-slash ok?"]}, 'metadata.finalizers: Invalid value: "no-slash ok?"'),
        ({"name": "m", "ownerReferences": [{"name": "o"}]}, "metadata.ownerReferences[0].uid: Required value"),
        (
            {"name": "m", "creationTimestamp": "yesterday"},
            'metadata.creationTimestamp: Invalid value: parsing time "yes',
        ),
        ({"name": "m", "labels": []}, "metadata.labels: Invalid value: json: cannot unmarshal array"),
    ],
)
def test_metadata_that_the_api_server_refuses_is_refused_beside_the_other_causes(
    metadata: Any, said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = check(file, capsys, {**MODEL, "metadata": metadata, "spec": {"source": 5}})
    assert code == 1
    assert f"error: {said}" in out
    assert 'error: spec.source: Invalid value: "integer": spec.source in body must be of type string' in out


def test_a_rule_about_the_name_is_asked_about_the_name_that_is_generated(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = {"familyName": "llama3", "source": {"modelHub": {"modelID": "a/b"}}}
    model = {"apiVersion": "llmaz.io/v1alpha1", "kind": "OpenModel", "spec": spec}
    said = 'LZ210 error: metadata.name: Invalid value: "a.bxxxxx": must not contain dots'
    assert said in check(file, capsys, {**model, "metadata": {"generateName": "a.b"}})[1]
    assert check(file, capsys, {**model, "metadata": {"generateName": "a-b-"}})[0] == 0
    assert main(["normalise", str(file)]) == 0
    assert "name" not in yaml.safe_load(capsys.readouterr().out)["metadata"]


def test_what_helm_leaves_empty_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(
        "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\n"
        "metadata:\n  name: m\n  namespace:\n  labels: {app: }\n"
        "  annotations: {a: }\n  finalizers:\n  ownerReferences: []\nspec: {source: pvc://c/m.gguf, quantization: }\n"
    )
    assert main(["check", str(file)]) == 0
    assert "accepted" in capsys.readouterr().out
    assert main(["normalise", str(file)]) == 0
    (obj,) = yaml.safe_load_all(capsys.readouterr().out)
    assert obj["metadata"].keys() == {"name", "labels", "annotations"}
    assert obj["metadata"]["labels"] == {"app": ""}
    assert obj["metadata"]["annotations"]["a"] == ""
    assert "quantization" not in obj["spec"]


def test_metadata_is_printed_as_it_is_stored(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = {
        "name": "m",
        "uid": "u",
        "resourceVersion": "5",
        "generation": 7,
        "creationTimestamp": "2024-01-01T00:00:00Z",
        "deletionTimestamp": "2024-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "managedFields": [],
        "ownerReferences": [OWNER, OWNER],
        "finalizers": [],
    }
    code, out = check(file, capsys, {**MODEL, "metadata": written})
    assert code == 0
    assert "warning: metadata.ownerReferences: contains duplicate entries, which are dropped" in out
    assert main(["normalise", str(file)]) == 0
    (obj,) = yaml.safe_load_all(capsys.readouterr().out)
    assert obj["metadata"].keys() == {"name", "ownerReferences", "annotations"}
    assert obj["metadata"]["ownerReferences"] == [OWNER]


IMMUTABLE = {
    "apiVersion": "aim.silogen.ai/v1alpha1",
    "kind": "AIMServiceTemplate",
    "metadata": {"name": "t", "namespace": "team"},
    "spec": {"aimImageName": "img"},
}


def test_an_object_of_the_view_is_updated(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = {**IMMUTABLE, "spec": {"aimImageName": "other"}}
    assert check(file, capsys, changed)[0] == 0
    code, out = check(file, capsys, changed, view=IMMUTABLE)
    assert code == 1
    assert "image name is immutable" in out
    elsewhere = {**IMMUTABLE, "metadata": {"name": "t", "namespace": "other"}}
    assert check(file, capsys, changed, view=elsewhere)[0] == 0


def test_an_update_is_not_refused_for_what_it_does_not_change(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = {**MODEL, "spec": {**MODEL["spec"], "hardware": {"gpu": {"count": 9}}}}
    assert check(file, capsys, bad)[0] == 1
    labelled = {**bad, "metadata": {"name": "m", "labels": {"team": "blue"}}}
    stored = {**bad, "metadata": {"name": "m", "namespace": "default", "uid": "u"}}
    code, out = check(file, capsys, labelled, view=stored)
    assert (code, "accepted" in out) == (0, True), out


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"uid": "other"}, 'metadata.uid: Invalid value: "other": field is immutable'),
        (
            {"finalizers": ["a/b"]},
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being",
        ),
        ({"labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "b c"'),
    ],
)
def test_metadata_of_an_update_is_validated_as_such(
    metadata: Any, said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = {"name": "m", "namespace": "default", "uid": "u", "deletionTimestamp": "2024-01-01T00:00:00Z"}
    code, out = check(
        file, capsys, {**MODEL, "metadata": {"name": "m", **metadata}}, view={**MODEL, "metadata": stored}
    )
    assert (code, f"error: {said}" in out) == (1, True), out


def test_the_schema_refuses_under_every_profile(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(json.dumps({**MODEL, "spec": {"source": 5, "colour": "red"}}))
    for profile in ("standard", "strict", "audit"):
        assert main(["check", f"--profile={profile}", str(file)]) == 1
        out = capsys.readouterr().out
        assert "error: spec.source: Invalid value" in out
        assert "error: spec.colour: unknown field" in out
        assert "would be refused" not in out
