"""`check --fix`: unambiguous mistakes are written right, and every other byte stays."""

import shutil
from pathlib import Path

import pytest

from tests.cli.trees import BROKEN, GOOD
from tests.shared import shared
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

WRONG = """\
# kept: comment
apiVersion: inference.llmkube.dev/v1alpha   # kept
kind: Model
metadata:
    name:   m          # kept spaces
spec:
  source:  'pvc://c/m.gguf'
  "fromat":   GGUF     # two in one line
  hardware: {Gpu: {count: 1}, accelerator: cuda}
"""
RIGHT = (
    WRONG.replace("v1alpha ", "v1alpha1 ").replace('"fromat"', '"format"').replace("GGUF", "gguf").replace("Gpu", "gpu")
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_only_what_is_wrong_is_written(tmp_path: Path, capsys: Capture, end: str, mark: str) -> None:
    file = tmp_path / "m.yaml"
    file.write_bytes((mark + WRONG.replace("\n", end)).encode())
    assert main(["check", str(file)]) == 1
    assert main(["check", "--fix", str(file)]) == 0
    assert file.read_bytes() == (mark + RIGHT.replace("\n", end)).encode()
    err = capsys.readouterr().err
    assert f"{file}:8: fixed: spec.fromat: " in err
    assert main(["check", "--fail-on=warning", str(file)]) == 0


def test_all_documents_of_a_file_are_fixed_and_the_others_stay(tmp_path: Path) -> None:
    file, other = tmp_path / "m.yaml", tmp_path / "other.yaml"
    file.write_text(f"{GOOD}---\n{WRONG}---\na: .inf\n---\n{WRONG}")
    other.write_text(GOOD)
    before = other.stat().st_mtime_ns
    assert main(["check", "--fix", str(tmp_path)]) == 2
    assert file.read_text() == f"{GOOD}---\n{RIGHT}---\na: .inf\n---\n{RIGHT}"
    assert other.stat().st_mtime_ns == before


def test_text_that_yaml_does_not_read_as_text_is_quoted(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(GOOD.replace("spec: {", "spec: {quantization: 014, "))
    assert main(["check", str(file)]) == 1
    assert main(["check", "--fix", str(file)]) == 0
    assert 'quantization: "014"' in file.read_text()


def test_json_is_fixed_too(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    text = '{"apiVersion": "inference.llmkube.dev/v1alpha1",\n  "kind": "Model", "metadata": {"name": "m"},\n'
    file.write_text(text + '  "spec": {"source": "pvc://c/m.gguf", "fromat": "gguf"}}\n')
    assert main(["check", "--fix", str(file)]) == 0
    assert file.read_text() == text + '  "spec": {"source": "pvc://c/m.gguf", "format": "gguf"}}\n'


AMBIGUOUS = ("{sauce: pvc://c/m.gguf}", "{source: 5}", "{source: 's3://b/m'}", "[]", "{format: x}")


@pytest.mark.parametrize("spec", AMBIGUOUS)
def test_what_is_ambiguous_stays(tmp_path: Path, spec: str) -> None:
    file = tmp_path / "m.yaml"
    text = GOOD.replace("{source: pvc://c/m.gguf}", spec)
    file.write_text(text)
    assert main(["check", "--fix", str(file)]) == 1
    assert file.read_text() == text


def test_an_edit_that_leaves_an_error_at_its_place_is_not_made(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(GOOD.replace("spec: {", "spec: {hardware: {gpu: {count: 1.5}, accelerator: true}, "))
    before = file.read_text()
    assert main(["check", "--fix", str(file)]) == 1
    assert file.read_text() == before
    assert "fixed" not in capsys.readouterr().err


def test_what_cannot_be_read_stays(tmp_path: Path) -> None:
    for name, content in BROKEN.items():
        (tmp_path / name).write_bytes(content)
    assert main(["check", "--fix", str(tmp_path)]) == 2
    assert {name: (tmp_path / name).read_bytes() for name in BROKEN} == BROKEN


def test_samples_that_are_fixed_have_fewer_errors_and_the_same_lines_elsewhere(tmp_path: Path, capsys: Capture) -> None:
    given, fixed = shared("samples"), tmp_path / "samples"
    shutil.copytree(given, fixed)
    main(["check", str(fixed)])
    before = capsys.readouterr().out.splitlines()
    main(["check", "--fix", str(fixed)])
    said = [line for line in capsys.readouterr().err.splitlines() if ": fixed: " in line]
    main(["check", str(fixed)])
    after = capsys.readouterr().out.splitlines()
    changed = 0
    for file in fixed.rglob("*.yaml"):
        old = (given / file.relative_to(fixed)).read_text().splitlines()
        new = file.read_text().splitlines()
        assert len(old) == len(new)
        changed += sum(one != other for one, other in zip(old, new, strict=True))
    assert changed == len(said) > 0
    assert sum(" error: " in line for line in after) <= sum(" error: " in line for line in before) - len(said)
