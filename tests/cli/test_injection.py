"""Text of a manifest cannot forge lines of output, commands of a CI system, or colours of a terminal."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kinds import KINDS
from webhook.cli import main
from webhook.cli.output import say

EVIL = "a\n::error file=app.js,line=1::x\r\x1b[31m\x9b\u202e\u2028##[stop-commands]y\n  ::set-output name=z::"


def spoilt(value: Any) -> Iterator[Any]:
    """A value with the evil text in place of each part of it, and as a key of each object."""
    yield EVIL
    if isinstance(value, dict):
        yield {**value, EVIL: EVIL}
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        for worse in spoilt(value[key]):
            copy = deepcopy(value)
            copy[key] = worse
            yield copy


def objects() -> list[dict[str, Any]]:
    """Every kind with the evil text at every field."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u"}
    metadata = {"namespace": "team", "labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["a/b"]}
    whole = [row.object("good", None, **metadata, ownerReferences=[owner]) for row in KINDS]
    return [{**obj, part: worse} for obj in whole for part in obj for worse in spoilt(obj[part])]


def forged(text: str, begins: tuple[str, ...]) -> list[str]:
    """The lines that are not of the program's own making."""
    lines = text.split("\n")
    return [
        line
        for line in lines
        if not (line.startswith(begins) or not line) or not line.isprintable() or "##[" in line or "::" in line[:3]
    ]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "evil.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects()}))
    return path


def test_check_escapes_every_field_of_every_kind(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assumed = [f"judged as of {name} " for name in ("AIM", "LLMKube", "OME", "llm-d", "llmaz")]
    assert main(["check", str(file)]) == 1
    out, err = capsys.readouterr()
    assert forged(out, (f"{file}:", "  help: ")) == []
    assert (
        forged(
            err,
            (f"{len(objects()) - len(KINDS)} checked, ", "not checked: ", *assumed, "`modelgate rule "),
        )
        == []
    )
    assert r"a\n::error file=app.js,line=1::x\r\x1b[31m\u009b\u202e\u2028\x23#[stop-commands]y" in out


def test_normalise_prints_yaml_whose_lines_are_its_own(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["normalise", str(file)])
    out, err = capsys.readouterr()
    assert forged(err, (f"{file}:",)) == []
    assert [line for line in out.split("\n") if not line.isprintable() or line.lstrip(" -").startswith("::")] == []


def test_what_cannot_be_read_is_escaped_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "::error file=a::b.yaml"
    file.write_text(f"# apiVersion: ome.io/v1\n{json.dumps(EVIL)}: 1\n{json.dumps(EVIL)}: 2\n")
    assert main(["check", str(file)]) == 2
    err = capsys.readouterr().err
    assert 'duplicate key "a\\n::error' in err
    assert forged(err, ("modelgate check: ", "0 checked")) == []


@pytest.mark.parametrize("text", ["::error::x", "  ::error::x", "\n::x", "a ##[error]x", "a ##vso[task.x]y"])
def test_a_command_of_a_ci_system_is_not_printed(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(text)
    out = capsys.readouterr().out
    assert not out.strip().startswith("::")
    assert "##[" not in out
    assert "##vso[" not in out
    assert out.count("\n") == 1
