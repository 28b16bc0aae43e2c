"""Own CustomResourceDefinitions, beside the objects or with --crds: schema, defaults and rules are the API server's."""

import json
from pathlib import Path

import pytest
import yaml

from tests.crds import crd_text
from tests.shared import ROOT
from webhook.cli import main

SCHEMA = """
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, maximum: 9}
              colour: {type: string, default: blue}
            x-kubernetes-validations:
            - {rule: "self.size < 5 || self.colour == 'red'", message: large ones must be red}
          status: {type: object, properties: {ready: {type: boolean}}}
"""
CRD = crd_text("example.com", "Widget", SCHEMA, scope="Cluster", subresources={"status": {}})
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: team}\nspec: {size: 4, note: null}\n"


def check(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = main(["check", *map(str, arguments)])
    return code, "".join(capsys.readouterr())


@pytest.fixture
def crds(tmp_path: Path) -> Path:
    folder = tmp_path / "crds"
    folder.mkdir()
    (folder / "widgets.yaml").write_text(CRD)
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "widget.yaml"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("size: 4", ""),
        ("size: 10", "error: spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9"),
        ("size: 6", "error: spec: Invalid value: large ones must be red"),
        ("size: 6, colour: red", ""),
        ("colour: red", "error: spec.size: Required value"),
        ("size: 4, siez: 4", "error: spec.siez: unknown field"),
        ("size: 4, note: 5", "error: spec.note: unknown field"),
    ],
)
def test_an_object_is_validated_by_its_own_definition(
    capsys: pytest.CaptureFixture[str], crds: Path, file: Path, written: str, said: str
) -> None:
    text = WIDGET.replace("size: 4, note: null", written)
    file.write_text(text)
    for arguments in ([f"--crds={crds}", file], [f"--view={crds}", file], [crds, file]):
        code, out = check(capsys, *arguments)
        assert (code, said in out) == (int(bool(said)), True), out
        assert "0 with warnings, 0 skipped" in out
    code, out = check(capsys, file)
    assert (code, "not checked: 1 example.com/v1 Widget: not known to Modelgate" in out) == (0, True)


def test_a_definition_in_the_same_file_counts_wherever_it_stands(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    file.write_text(f"{WIDGET.replace('size: 4', 'size: 10')}---\n{CRD}")
    code, out = check(capsys, file)
    assert code == 1
    assert "Widget team/w: REFUSED" in out
    assert "CustomResourceDefinition widgets.example.com: accepted" in out


def test_defaults_are_filled_in_and_no_stamp_is_written(
    capsys: pytest.CaptureFixture[str], crds: Path, file: Path
) -> None:
    file.write_text(f"{WIDGET.replace(', note: null', '')}status: {{ready: true}}\n")
    assert main(["normalise", f"--crds={crds}", str(file)]) == 0
    (obj,) = yaml.safe_load_all(capsys.readouterr().out)
    assert obj["metadata"] == {"name": "w"}
    assert obj["spec"] == {"size": 4, "colour": "blue"}
    assert "status" not in obj


def test_a_version_that_a_definition_does_not_serve_is_refused(
    capsys: pytest.CaptureFixture[str], crds: Path, file: Path
) -> None:
    file.write_text(WIDGET.replace("example.com/v1", "example.com/v2"))
    code, out = check(capsys, f"--crds={crds}", file)
    assert code == 1
    assert 'no matches for kind "Widget" in version "example.com/v2": use v1' in out


def test_an_invalid_definition_among_the_files_is_refused_and_defines_nothing(
    capsys: pytest.CaptureFixture[str], crds: Path, file: Path
) -> None:
    (crds / "widgets.yaml").write_text(CRD.replace("type: integer, ", ""))
    file.write_text(WIDGET)
    code, out = check(capsys, crds, file)
    assert code == 1
    assert "openAPIV3Schema.properties[spec].properties[size].type: Required value" in out
    assert "not checked: 1 example.com/v1 Widget: " in out
    assert main(["check", f"--crds={crds}", str(file)]) == 2
    assert "widgets.yaml:1: spec.validation.openAPIV3Schema.properties[spec]" in capsys.readouterr().err


def test_a_folder_without_a_definition_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, file: Path
) -> None:
    (tmp_path / "empty").mkdir()
    file.write_text(WIDGET)
    assert main(["check", f"--crds={tmp_path / 'empty'}", str(file)]) == 2
    assert "no CustomResourceDefinition found" in capsys.readouterr().err


def test_a_new_version_of_a_known_group_is_known_with_its_definition(
    capsys: pytest.CaptureFixture[str], crds: Path, file: Path
) -> None:
    changed = CRD.replace("example.com", "inference.llmkube.dev").replace("name: v1\n", "name: v1beta1\n")
    (crds / "widgets.yaml").write_text(changed)
    file.write_text(WIDGET.replace("example.com/v1", "inference.llmkube.dev/v1beta1"))
    code, out = check(capsys, f"--crds={crds}", file)
    assert code == 1
    assert "error: spec.note: unknown field" in out


def test_two_definitions_that_are_given_for_one_kind_are_an_error_with_both_files(
    crds: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(WIDGET)
    (crds / "more.yaml").write_text(CRD.replace("maximum: 9", "maximum: 3"))
    code, out = check(capsys, file, "--crds", crds)
    assert code == 2
    assert "widgets.yaml:1: Widget has another definition in" in out
    assert "more.yaml:1: exclude one of the files, or give one by --crds" in out


MODEL = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: m}
spec: {source: "https://example.com/m.gguf", hardware: {accelerator: %s}}
"""


@pytest.mark.parametrize("output", ["text", "json", "sarif", "junit", "github"])
def test_a_kind_with_two_definitions_in_the_tree_is_not_judged_and_all_else_is(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "crd.yaml").write_text(CRD)
    (tmp_path / "widget.yaml").write_text(WIDGET.replace("size: 4", "size: 99"))
    (tmp_path / "model.yaml").write_text(MODEL % "gpu")
    assert main(["check", str(tmp_path / "model.yaml"), "-o", output]) == 1
    alone = capsys.readouterr().out
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "crd.yaml").write_text(CRD.replace("maximum: 9", "maximum: 3"))
    assert main(["check", str(tmp_path), "-o", output]) == 1
    out, err = capsys.readouterr()
    assert "Unsupported value" in alone
    assert "Unsupported value" in out
    why = f"two definitions, {tmp_path}/a/crd.yaml:1 and {tmp_path}/z/crd.yaml:1: exclude one, or give one by --crds"
    assert f"not checked: 1 example.com/v1 Widget: {why}" in err
    assert "size" not in out
    (tmp_path / "model.yaml").write_text(MODEL % "cuda")
    assert main(["check", str(tmp_path), "-o", output, "-q"]) == 0
    assert main(["scan", str(tmp_path)]) == 0
    assert f"not judged: 1 objects of kind Widget ({why})" in capsys.readouterr().err


def test_a_covered_kind_with_two_definitions_is_not_judged_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (definition,) = yaml.safe_load_all((ROOT / "policies/llmkube/crds/models.yaml").read_text())
    (tmp_path / "model.yaml").write_text(MODEL % "gpu")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][name] = {"type": "string"}
        (tmp_path / name / "crd.yaml").write_text(yaml.safe_dump(definition))
    assert main(["check", str(tmp_path)]) == 0
    assert "not checked: 1 inference.llmkube.dev/v1alpha1 Model: two definitions, " in capsys.readouterr().err
    assert main(["check", "--untrusted", str(tmp_path)]) == 1  # a stranger's definitions decide about no covered kind


def test_the_definition_in_the_folder_nearest_to_all_objects_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, most in (("production", 9), ("staging", 3)):
        (tmp_path / name / "crds").mkdir(parents=True)
        (tmp_path / name / "crds" / "widgets.yaml").write_text(CRD.replace("maximum: 9", f"maximum: {most}"))
    (tmp_path / "staging" / "app").mkdir()
    (tmp_path / "staging" / "app" / "widget.yaml").write_text(WIDGET.replace("size: 4, note: null", "size: 4"))
    code, out = check(capsys, tmp_path)
    assert (code, "less than or equal to 3" in out, "decides" in out) == (1, True, False)
    said = "staging/crds/widgets.yaml:1: this definition of Widget decides: it is nearest to the objects\n"
    assert said in check(capsys, tmp_path, "--verbose")[1]
    (tmp_path / "production" / "widget.yaml").write_text(WIDGET.replace("name: w", "name: v"))
    code, out = check(capsys, tmp_path)
    assert (code, "not checked: 2 example.com/v1 Widget: two definitions" in out) == (0, True)


@pytest.mark.parametrize("other", ["maximum: 9, description: how large", "maximum: 9"])
def test_two_definitions_of_a_kind_may_differ_in_texts(
    other: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(WIDGET.replace("note: null", "colour: red"))
    (tmp_path / "a.yaml").write_text(CRD)
    (tmp_path / "z.yaml").write_text(CRD.replace("maximum: 9", other))
    assert check(capsys, file, tmp_path / "a.yaml", tmp_path / "z.yaml")[0] == 0


def test_definitions_of_kinds_without_objects_may_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(CRD)
    (tmp_path / "z.yaml").write_text(CRD.replace("maximum: 9", "maximum: 3"))
    assert check(capsys, tmp_path / "a.yaml", tmp_path / "z.yaml")[0] == 0


@pytest.mark.parametrize("name", ["a.yaml", "z.yaml", "a.json"])
def test_a_definition_that_is_named_counts_more_than_one_among_the_files(
    name: str, crds: Path, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(WIDGET.replace("size: 4, note: null", "size: 4"))
    other = tmp_path / name
    other.write_text(CRD.replace("maximum: 9", "maximum: 3") if name.endswith("yaml") else "{}")
    if name.endswith("json"):
        definition = yaml.safe_load(CRD.replace("maximum: 9", "maximum: 3"))
        other.write_text(json.dumps(definition))
    code, out = check(capsys, other, file)
    assert (code, "less than or equal to 3" in out) == (1, True)
    assert check(capsys, other, file, "--crds", crds)[0] == 0
    assert check(capsys, file, other, "--crds", crds)[0] == 0
