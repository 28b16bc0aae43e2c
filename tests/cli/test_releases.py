"""The release of an operator on the command line: by flag, configuration and definitions, and what is said of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.catalog.test_installed import changed, with_prefetch
from tests.shared import ROOT
from webhook.cli import main

MODEL = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: m}
spec:
  source: pvc://claim/model.gguf
  hardware: {accelerator: rocm, gpu: {enabled: true, count: 1, vendor: amd, runtime: rocm}}
"""
UNKNOWN = "the release of LLMKube is not known (set releases.llmkube), so that rules are not applied: LK101, LK102, "
SHAPES = ROOT / "policies" / "llmkube" / "crds"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.yaml"
    path.write_text(MODEL)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([*map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(
    ("release", "resource"),
    [
        ("0.9.5", "amd.com/gpu"),
        ("0.9.7", "amd.com/gpu"),
        ("0.9.8", "devic.es/dri-render"),
        ("0.9.19", ""),
        ("head", ""),
        ("unknown", ""),
    ],
)
def test_the_same_object_gets_the_defaults_of_its_release(
    release: str, resource: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text(f'releases: {{llmkube: "{release}"}}\n')
    for given in (["--release", f"llmkube={release}"], ["--config", tmp_path / "c.yaml"]):
        code, out, _ = run(capsys, "normalise", file, *given)
        assert code == 0
        assert (f"resourceName: {resource}" in out) == bool(resource)
        assert ("resourceName" in out) == bool(resource)


def test_without_a_release_the_documented_one_counts_and_only_that_is_said(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "check", "--diff", file)
    counts, assumed = err.splitlines()
    assert assumed.startswith("judged as of LLMKube 0.9.5: ")
    assert "not known" not in out + err
    assert run(capsys, "check", "--diff", file, "--crds", SHAPES / "models.yaml") == (code, out, err)
    assert run(capsys, "check", "--diff", file, "--release", "llmkube=0.9.5") == (code, out, f"{counts}\n")


def test_the_release_that_nothing_names_is_in_reports(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given, assumed in ((["--release", "llmkube=0.9.5"], {}), ([], {"llmkube": "LLMKube 0.9.5"})):
        said = [f"judged as of {release}" for release in assumed.values()]
        _, out, err = run(capsys, "check", file, *given, "-o", "json")
        assert json.loads(out)["assumedReleases"] == assumed
        assert [line.partition(": ")[0] for line in err.splitlines() if "judged as of" in line] == said
        _, out, _ = run(capsys, "check", file, *given, "-o", "sarif")
        notes = json.loads(out)["runs"][0]["invocations"][0]["toolExecutionNotifications"]
        texts = {each["message"]["text"].partition(": ")[0]: each["level"] for each in notes}
        assert texts == dict.fromkeys(said, "note")


@pytest.mark.parametrize("output", ["text", "json", "sarif", "junit", "github"])
def test_an_unknown_release_is_said_once_with_all_codes_in_every_format(
    output: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "check", file, "--release", "llmkube=unknown", "-o", output)
    assert code == 0
    assert (out + err).count(UNKNOWN) == 1
    if output == "sarif":
        every = json.loads(out)["runs"][0]["invocations"][0]["toolExecutionNotifications"]
        (told,) = (each for each in every if "Model.v1alpha1" in each["message"]["text"])
        assert told["level"] == "warning"
        assert UNKNOWN in told["message"]["text"]


def test_an_unknown_release_refuses_no_field_and_no_value_of_a_known_one(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(
        MODEL.replace("pvc://claim/model.gguf", "s3://b/m.gguf") + "  prefetch: true\n  sourceSecretRef: {name: s}\n"
    )
    code, out, _ = run(capsys, "check", file, "--release", "llmkube=unknown")
    assert (code, "unknown field" in out) == (0, False)
    assert run(capsys, "check", file)[0] == 1
    file.write_text(f"{MODEL}  prefetching: true\n")
    assert run(capsys, "check", file, "--release", "llmkube=unknown")[0] == 1  # no release has it


def test_an_unknown_release_fails_a_check_that_fails_on_warnings(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "check", file, "--fail-on", "warning", "--release", "llmkube=0.9.19")[0] == 0
    assert run(capsys, "check", file, "--fail-on", "warning", "--release", "llmkube=unknown")[0] == 1


NEWER = "LLMKube 0.9.28 is newer than 0.9.19, the newest that is known"
OF_TOMORROW = MODEL.replace("accelerator: rocm", "accelerator: tpu") + "  brandNew: 1\n"


@pytest.mark.parametrize("output", ["text", "json", "sarif", "junit", "github"])
def test_a_release_newer_than_all_is_judged_as_the_newest_and_refuses_nothing_that_it_may_accept(
    output: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(OF_TOMORROW)
    code, out, err = run(capsys, "check", file, "--release", "llmkube=v0.9.28", "-o", output)
    assert code == 0
    assert (out + err).count(NEWER) == 1
    beyond = "0.9.28 is newer than what Modelgate knows"
    assert f"unknown field: {beyond}" in out
    assert "Unsupported value" in out
    assert "LK101" not in out + err
    assert run(capsys, "check", file, "--release", "llmkube=0.9.19")[0] == 1
    file.write_text(OF_TOMORROW.replace("count: 1", "count: [1]"))
    assert run(capsys, "check", file, "--release", "llmkube=0.9.28")[0] == 1  # a number does not become a list


def test_a_newer_release_is_not_what_a_check_that_fails_on_warnings_fails_for(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text('releases: {llmkube: "0.9.28"}\n')
    code, out, _ = run(capsys, "check", file, "--fail-on", "warning", "--config", tmp_path / "c.yaml")
    assert (code, NEWER in out) == (0, True)
    file.write_text(f"{MODEL}  brandNew: 1\n")
    assert run(capsys, "check", file, "--fail-on", "warning", "--config", tmp_path / "c.yaml")[0] == 1


def test_a_definition_that_is_given_decides_about_the_fields_of_a_newer_release(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crd = tmp_path / "crd.json"
    crd.write_text(json.dumps(changed("Model", with_prefetch)))
    file.write_text(f"{MODEL}  brandNew: 1\n")
    code, out, _ = run(capsys, "check", file, "--release", "llmkube=0.9.28", "--crds", crd)
    assert (code, "unknown-field error: spec.brandNew" in out) == (1, True)


def test_a_release_between_two_is_judged_as_the_one_before_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"{MODEL}  sourceSecretRef: {{name: s}}\n")
    said = {each: run(capsys, "check", file, "--release", f"llmkube={each}") for each in ("0.9.5", "0.9.6-rc1")}
    assert [code for code, _, _ in said.values()] == [1, 1]
    remark = "--release: warning: LLMKube 0.9.6-rc1 is not known: judged as 0.9.5, the known release before it\n"
    documented, named = "and later: set releases.llmkube, or give --crds", "and later, and not of LLMKube 0.9.6-rc1"
    assert said["0.9.6-rc1"][1] == remark + said["0.9.5"][1].replace(documented, named)


def test_a_release_older_than_all_refuses_nothing_for_its_shape(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(OF_TOMORROW.replace("count: 1", "count: [1]"))
    code, out, _ = run(capsys, "check", file, "--release", "llmkube=0.3.9")
    assert (code, "Unsupported" in out, "unknown field" in out) == (0, False, False)
    assert "LLMKube 0.3.9 is older than 0.4.0, the oldest that is known: schema not judged" in out
    file.write_text(OF_TOMORROW.replace("name: m", "name: M_"))
    assert run(capsys, "check", file, "--release", "llmkube=0.3.9")[0] == 1  # no release has such names


def test_a_definition_of_no_known_release_is_said_with_its_file(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crd = tmp_path / "crd.json"
    crd.write_text(json.dumps(changed("Model", with_prefetch)))
    code, out, _ = run(capsys, "check", file, "--crds", crd)
    assert code == 0
    assert f"{crd}:1: warning: Model.v1alpha1.inference.llmkube.dev: {UNKNOWN}" in out
    code, out, err = run(capsys, "check", file, "--crds", crd, "--release", "llmkube=0.9.5")
    assert "not known" not in out + err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("llmkube=0.9.77", '--release llmkube=0.9.77: "0.9.77" is not a known release; use 0.9.18 or 0.9.19'),
        ("llmkube=0.9.199", '"0.9.199" is not a known release; use 0.9.18 or 0.9.19'),
        ("llmkube=0.91.9", '"0.91.9" is not a known release; use 0.9.18 or 0.9.19'),
        ("llmkube=9.9.19", '"9.9.19" is not a known release; use 0.9.18 or 0.9.19'),
        ("llmkube=0.9", '"0.9" is not a known release; use 0.9.0 or 0.9.1'),
        ("llmkube=09.19", '"09.19" is not a known release; use 0.9.18 or 0.9.19'),
        ("llmkube=0.9.05", '"0.9.05" is not a known release; use 0.9.5 or 0.9.6'),
        ("llmkube=head-2031-01-01", '"head-2031-01-01" is not a known release; use 0.9.18 or 0.9.19'),
        ("llmkube=latest", '"latest" is not a known release; the known ones are 0.4.0 to head-'),
        ("llmkub=0.9.7", '"llmkub" is not an API with releases; use llmkube'),
        ("llmkube", '--release: "llmkube" names no release; write it as llmkube=0.9.19'),
        ("=0.9.7", '--release: "" names no release'),
    ],
)
@pytest.mark.parametrize("command", ["check", "normalise"])
def test_a_release_that_does_not_exist_is_an_error(
    command: str, given: str, message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, command, file, "--release", given)
    assert (code, out) == (64, "")
    assert message in err


def test_a_release_in_the_configuration_is_text(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text("releases: {llmkube: 0.9}\n")
    code, _, err = run(capsys, "check", file, "--config", tmp_path / "c.yaml")
    assert code == 64
    assert "releases.llmkube: Input should be a valid string" in err


def test_a_configuration_that_makes_the_release_unknown_is_said_to_be_weaker(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text("releases: {llmkube: unknown}\n")
    assert (
        "makes the check weaker: releases: llmkube unknown"
        in run(capsys, "check", file, "--config", tmp_path / "c.yaml")[2]
    )


@pytest.mark.parametrize(
    ("fields", "field", "since"),
    [
        ("prefetch: true", "prefetch", "0.9.11"),
        ("sourceSecretRef: {name: s}", "sourceSecretRef", "0.9.6"),
        ("prefetchTolerations: [{key: a}]", "prefetchTolerations", "head-2026-08-22"),
    ],
)
def test_a_field_of_a_later_release_is_named_with_it(
    fields: str, field: str, since: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(f"{MODEL}  {fields}\n")
    code, out, _ = run(capsys, "check", file)
    assert code == 1
    said = f"{field} is a field of LLMKube {since} and later: set releases.llmkube, or give --crds"
    assert f"unknown field; {said}" in out
    assert run(capsys, "check", file, "--release", "llmkube=head")[0] == 0


@pytest.mark.parametrize("field", ["files: [model.gguf]", "mmproj: b.gguf"])
def test_a_field_of_our_definition_that_the_installed_one_lacks_is_of_no_later_release(
    field: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (definition,) = yaml.safe_load_all((SHAPES / "models.yaml").read_text())
    (version,) = definition["spec"]["versions"]
    for each in ("files", "mmproj"):
        del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][each]
    (tmp_path / "crd.json").write_text(json.dumps(definition))
    file.write_text(f"{MODEL}  {field}\n")
    code, out, _ = run(capsys, "check", file, "--crds", tmp_path / "crd.json")
    assert code == 1
    assert "unknown field; the definition of LLMKube 0.8.18 and later has it, the installed one does not" in out


def test_the_exported_definition_of_a_release_is_that_release(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(f"{MODEL}  prefetchTolerations: [{{key: a}}]\n")
    (tmp_path / "crd.yaml").write_text(run(capsys, "export", "crd", "Model", "--release", "llmkube=head")[1])
    assert run(capsys, "check", file, "--crds", tmp_path / "crd.yaml")[0] == 0


@pytest.mark.parametrize("field", ["prefetching: true", '" ::x": 1', '"a.b[": 1'])
def test_a_field_of_no_release_is_only_unknown(field: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"{MODEL}  {field}\n")
    code, out, _ = run(capsys, "check", file)
    assert (code, "is a field of" in out) == (1, False)


def test_commands_about_rules_know_those_of_every_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Valid for LLMKube 0.9.11 and later" in run(capsys, "rule", "LK344")[1]
    assert "LK344  Model: spec.prefetch" in run(capsys, "rule")[1]
    assert "(LK102, LLMKube " in run(capsys, "fields", "Model")[1]
    code, out, _ = run(capsys, "export", "crd", "Model", "--release", "llmkube=0.9.11")
    assert (code, "prefetch:" in out, "prefetchTolerations:" in out) == (0, True, False)


def test_a_code_of_another_release_can_be_ignored(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", file, "--ignore", "LK344")[0] == 0
    assert run(capsys, "check", file, "--ignore", "LK399")[0] == 64


def test_cases_name_releases_that_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = tmp_path / "llmkube" / "cases"
    shutil.copytree(ROOT / "policies" / "llmkube", tmp_path / "llmkube", ignore=lambda *_: ["cases"])
    cases.mkdir()
    table: dict[str, Any] = {
        "apiVersion": "modelgate.dev/v1alpha1",
        "kind": "Cases",
        "target": {"group": "inference.llmkube.dev", "version": "v1alpha1", "kind": "Model"},
        "cases": [{"name": "a", "release": ["0.9.7", "0.9.80"], "spec": {"source": "pvc://c/m.gguf"}, "expect": {}}],
    }
    (cases / "model.yaml").write_text(json.dumps(table))
    code, _, err = run(capsys, "test", tmp_path)
    assert code == 2
    assert 'cases[0].release: "0.9.80" is not a known release; use 0.9.18 or 0.9.19' in err
    table["cases"][0]["release"] = ["0.9.7", "0.9.19", "unknown"]
    (cases / "model.yaml").write_text(json.dumps(table))
    assert run(capsys, "test", tmp_path)[:2] == (0, "1 passed, 0 failed\n")
    table["cases"][0]["spec"] = {"source": "hf://o/r@main", "format": "safetensors"}
    (cases / "model.yaml").write_text(json.dumps(table))
    code, out, _ = run(capsys, "test", tmp_path)
    assert code == 1
    assert "  under 0.9.7: warn: expected [], got ['LK350']" in out
