"""`.modelgate.yaml`: what it sets, where it is found, and every mistake in it."""

import json
import subprocess
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.cli.trees import GOOD
from tests.shared import ROOT
from webhook.cli import main
from webhook.cli.input.configurationfile import Behaviours, Configuration, schema
from webhook.facts.settings import Settings

Capture = pytest.CaptureFixture[str]

WARNED = GOOD.replace("{source", "{hardware: {gpu: {count: 1}}, source")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "manifests" / "old").mkdir(parents=True)
    (tmp_path / "manifests" / "model.yaml").write_text(WARNED)
    (tmp_path / "manifests" / "old" / "model.yaml").write_text("apiVersion: ome.io/v1beta1\na: [")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(project: Path, text: str) -> None:
    (project / ".modelgate.yaml").write_text(text)


def test_a_configuration_sets_what_flags_set(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(project, "exclude: [manifests/old]\nfailOn: warning\n")
    assert main(["check", "manifests"]) == 1
    configure(project, "exclude: [manifests/old]\nfailOn: warning\nignore: [LK305]\n")
    assert main(["check", "manifests"]) == 0
    assert "1 warnings ignored" in capsys.readouterr().err
    monkeypatch.chdir(project / "manifests")
    assert main(["check", "."]) == 2  # the pattern is for paths as they are given
    assert main(["check", "--no-config", "model.yaml", "--fail-on=error"]) == 0
    assert main(["check", "--fail-on=never", "model.yaml"]) == 0


def test_a_profile_and_settings_are_taken_and_flags_count_more(project: Path) -> None:
    (project / "m.yaml").write_text(GOOD.replace("pvc://c/m.gguf", "pvc://c"))
    assert main(["check", "m.yaml"]) == 0
    configure(project, "profile: strict\nsettings: {omeNamespace: other, aimAutoSelection: true}\n")
    assert main(["check", "m.yaml"]) == 1
    assert main(["check", "--profile=standard", "m.yaml"]) == 0
    assert main(["normalise", "m.yaml"]) == 1


def test_settings_of_operators_are_taken_and_a_flag_replaces_one(project: Path, capsys: Capture) -> None:
    (project / "m.yaml").write_text(GOOD.replace("pvc://c/m.gguf", "/srv/m.gguf"))
    assert main(["check", "--fail-on=warning", "m.yaml"]) == 1
    configure(project, "operators: {llmkube: {hostPathRoots: [/srv], defaultFSGroup: 0}}\n")
    assert main(["check", "--fail-on=warning", "m.yaml"]) == 0
    assert main(["check", "--fail-on=warning", "--set", "llmkube.defaultFSGroup=5", "m.yaml"]) == 0
    capsys.readouterr()
    assert main(["check", "--fail-on=warning", "--set", "llmkube.hostPathRoots=/mnt", "m.yaml"]) == 1
    assert 'not below a folder that the operator allows, "/mnt"' in capsys.readouterr().out


def test_paths_are_those_beside_the_file(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    service = "apiVersion: ome.io/v1beta1\nkind: InferenceService\nmetadata: {name: s}\nspec: {model: {name: m}}\n"
    model = "apiVersion: ome.io/v1beta1\nkind: ClusterBaseModel\nmetadata: {name: m}\nspec: {}\n"
    (project / "service.yaml").write_text(service)
    (project / "cluster.yaml").write_text(model)
    configure(project, "view: [cluster.yaml]\n")
    monkeypatch.chdir(project / "manifests")
    main(["check", "../service.yaml"])
    assert "model m is not among the files" not in capsys.readouterr().out


def test_a_configuration_above_the_repository_is_not_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(project, "nonsense: 1\n")
    (project / "manifests" / ".git").mkdir()
    monkeypatch.chdir(project / "manifests")
    assert main(["check", "model.yaml"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("profle: strict", ":1: profle: unknown key; did you mean profile?"),
        ("a: 1\nprofile: strict", ":1: a: unknown key; known are profile, references, "),
        ("settings:\n  omeNamspace: x", ":2: settings.omeNamspace: unknown key; did you mean omeNamespace?"),
        ("fail_on: warning", ":1: fail_on: unknown key; did you mean failOn?"),
        ("profile: lenient", ":1: profile: Input should be "),
        ("exclude: vendor", ":1: exclude: Input should be a valid list"),
        ("ignore: [LK999]", "--ignore: there is no rule LK999; did you mean"),
        ("ignore: [{codes: [LK999]}]", "--ignore: there is no rule LK999; did you mean"),
        ("ignore: [{codes: [LK305], until: soon}]", "spec.until: must be a time in RFC 3339"),
        ("ignore: [{codes: ['*']}]", "spec.codes: an exception needs codes other than *"),
        ("ignore: [{codes: [LK305], name: [a]}]", "ignore[0]"),
        ("operators: {llmkube: [a]}", ":1: operators.llmkube: Input should be a valid dictionary"),
        ("operators: {a.b: {c: 1}, a: {b.c: 2}}", ":1: operators: a.b.c is set twice"),
        ("operators: {llmkube: {roots: a}}", '--set llmkube.roots: LLMKube has no setting "roots" here; use one of'),
        ("operators: {llmkube: {defaultFSGroup: [1]}}", "--set llmkube.defaultFSGroup: '(1,)' is not an integer"),
        ("settings: {omeNamespace: a/b}", "--ome-namespace: String should match pattern"),
        ("- a", ":1: expected an object, got list"),
        ("a: [", ":2: while parsing a flow node"),
        ("profile: strict\n---\nprofile: audit", ":3: expected one document, got more"),
        ("kustomize: true", ":1: kustomize: only the flag --kustomize starts a program"),
        ("docsUrl: javascript:alert(1)", ":1: docsUrl: String should match pattern"),
        ("crds: [nowhere]", "nowhere: cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_configuration_is_an_error_with_its_line(project: Path, capsys: Capture, text: str, said: str) -> None:
    configure(project, text)
    assert main(["check", "manifests/model.yaml"]) in ({2} if "crds" in text else {64})
    assert said in capsys.readouterr().err


def test_a_configuration_that_is_named_must_be_there(project: Path, capsys: Capture) -> None:
    assert main(["check", "--config=other.yaml", "manifests/model.yaml"]) == 64
    assert "other.yaml: cannot be read: No such file" in capsys.readouterr().err
    (project / "other.yaml").write_text("")
    assert main(["check", "--config=other.yaml", "manifests/model.yaml"]) == 0


@pytest.mark.parametrize(
    ("words", "ignored"),
    [
        ("codes: [LK305]", True),
        ("codes: [LK3*], kinds: [Model], names: [good], namespaces: [default]", True),
        ("codes: [LK305], names: [other]", False),
        ("codes: [LK305], kinds: [OpenModel]", False),
        ("codes: [LK305], namespaces: [other]", False),
        ("codes: [LK305], until: 2999-01-01T00:00:00Z, reason: later", True),
        ("codes: [LK305], until: 2020-01-01T00:00:00Z", False),
    ],
)
def test_warnings_about_some_objects_are_ignored_in_the_words_of_an_exception(
    project: Path, capsys: Capture, words: str, ignored: bool
) -> None:
    text = (project / "manifests/model.yaml").read_text()
    (project / "manifests/model.yaml").write_text(text.replace("metadata: {", "metadata: {namespace: default, "))
    configure(project, f"exclude: [manifests/old]\nfailOn: warning\nignore: [{{{words}}}]\n")
    main(["check", "manifests"])
    told = capsys.readouterr()
    assert ("LK305" not in told.out) == ignored, told


def test_the_schema_in_the_repository_is_that_of_the_code() -> None:
    kept = json.loads((ROOT / "docs/schemas/configuration.schema.json").read_text())
    assert kept == json.loads(json.dumps(schema())), "write configurationfile.schema() to docs/schemas"
    jsonschema.Draft202012Validator.check_schema(kept)
    jsonschema.validate(yaml.safe_load("{profile: strict, failOn: warning, settings: {ome: doc-era}}"), kept)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"failon": "warning"}, kept)


def test_every_setting_can_be_configured() -> None:
    assert {each.name for each in fields(Settings)} == {*Behaviours.model_fields, "releases", "operators"}
    assert "releases" in Configuration.model_fields
    assert Configuration.model_validate({}) == Configuration.model_validate({"settings": {}})
