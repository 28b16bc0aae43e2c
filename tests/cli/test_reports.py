"""What `check` says, and where: text, places, ignores and exit codes."""

import copy
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_formats import reported
from tests.cli.trees import BAD, GOOD, WARNED
from tests.shared import shared
from webhook.admission.stamp import ANNOTATION
from webhook.cli import main
from webhook.cli.input.configuration import configured
from webhook.cli.manifests import outcomes
from webhook.cli.shell.running import parser
from webhook.ground.fieldpath import field_keys
from webhook.library.explained import Change, changes

Capture = pytest.CaptureFixture[str]


def finding(out: str, code: str) -> str:
    return next(line for line in out.splitlines() if f" {code} " in line)


def test_findings_are_in_the_order_of_the_file_at_the_key(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(BAD)
    assert main(["check", str(file)]) == 1
    out = capsys.readouterr().out
    assert re.findall(r":(\d+:\d+): (\S+) error", out) == [
        ("7:3", "schema"),
        ("10:7", "schema"),
        ("11:7", "schema"),
        ("12:3", "unknown-field"),
    ]
    assert "  help: YAML reads yes as true: put it in quotes\n" in out
    assert '  help: supported values: "nvidia", "amd", "intel"' in out
    assert "\033" not in out
    assert "count: 9" not in out


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ("{sorce: pvc://c/m.gguf}", [("unknown-field", "spec.sorce")]),
        ("{sorce: 5, format: 6}", [("unknown-field", "spec.sorce"), ("schema", "spec.format")]),
        ("{sorce: a, sourc: b}", [("unknown-field", "spec.sorce"), ("unknown-field", "spec.sourc")]),
        ("{nothing: 1}", [("schema", "spec.source"), ("unknown-field", "spec.nothing")]),
    ],
)
def test_a_misspelt_field_is_one_fault(
    tmp_path: Path, capsys: Capture, wrong: str, found: list[tuple[str, str]]
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(GOOD.replace("{source: pvc://c/m.gguf}", wrong))
    assert main(["check", "-o", "json", str(file)]) == 1
    (report,) = json.loads(capsys.readouterr().out)["objects"]
    assert [(each["code"], each["field"]) for each in report["findings"] if each["severity"] == "error"] == found


def test_a_missing_field_is_reported_at_the_key_of_its_parent(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(BAD.replace("s3://bucket/model", "pvc://c/m.gguf").replace("9", "1").replace("yes", "nvidia"))
    main(["check", str(file)])
    assert f"{file}:8:3: LK305 warning: spec.hardware.accelerator: " in capsys.readouterr().out


def test_a_terminal_gets_colour_and_an_excerpt(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(BAD)
    main(["check", "--color=always", str(file)])
    out = capsys.readouterr().out
    assert "\033[31;1merror\033[0m" in out
    assert re.sub(r"\033\[[\d;]*m", "", out).count("   10 |       count: 9\n      |       ^^^^^\n") == 1
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["check", str(file)])
    assert "\033[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["check", str(file)])
    assert "\033[" not in capsys.readouterr().out


def test_an_excerpt_of_a_long_line_fits_a_narrow_terminal_with_the_caret_below_the_key(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "m.yaml"
    fields = "{hardware: {memory: 8Gi, cpu: '2'}, refreshPolicy: Always, fromat: x, source"
    file.write_text(GOOD.replace("{source", fields))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    main(["check", "--no-config", "--color=never", str(file)])
    rows = capsys.readouterr().out.splitlines()
    places = [number for number, row in enumerate(rows) if row.strip("| ").startswith("^")]
    assert places
    for number in places:
        assert max(len(rows[number - 1]), len(rows[number])) <= 60
        start, end = rows[number].index("^"), len(rows[number])
        assert rows[number - 1][start:end] in {"fromat", "refreshPolicy", "memory", "cpu", "hardware", "spec"}


def test_an_excerpt_holds_no_escape_of_a_manifest(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(BAD.replace("count: 9", "count: 9 # \u202e\x9b31m").replace("# where", "# https://u:secret@h"))
    main(["check", "--color=always", str(file)])
    out = capsys.readouterr().out
    assert "\u202e" not in out
    assert "\x9b" not in out
    assert "secret" not in out


def test_quiet_prints_findings_only(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(f"{GOOD}---\n{WARNED}")
    assert main(["check", "-q", str(file)]) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (2, "")


@pytest.mark.parametrize(
    ("text", "fail_on", "code"),
    [
        (GOOD, "warning", 0),
        (WARNED, "error", 0),
        (WARNED, "warning", 1),
        (WARNED, "never", 0),
        (BAD, "error", 1),
        (BAD, "warning", 1),
        (BAD, "never", 0),
        ("apiVersion: ome.io/v1beta1\na: [", "never", 2),
    ],
)
def test_the_exit_code_follows_fail_on(tmp_path: Path, text: str, fail_on: str, code: int) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(text)
    assert main(["check", f"--fail-on={fail_on}", str(file)]) == code


ANNOTATED = WARNED.replace("metadata: {name: good}", "metadata: {name: good, annotations: {modelgate.dev/ignore: %s}}")


@pytest.mark.parametrize(
    ("text", "flags", "ignored"),
    [
        (WARNED, ["--ignore=LK305"], True),
        (WARNED, ["--ignore=lk322,lk305"], True),
        (WARNED, ["--ignore=LK322"], False),
        (ANNOTATED % "LK305", [], True),
        (ANNOTATED % '"LK322, LK305"', [], True),
        (ANNOTATED % "LK322", [], False),
        (WARNED.replace("\n", " # modelgate: ignore LK305\n"), [], True),
        (f"# modelgate: ignore LK305\n{WARNED}", [], True),
        (f"# modelgate: ignore LK305 because the nodes have no label yet, see LK999\n{WARNED}", [], True),
        (f"# modelgate: ignore LK322 because LK305 is right\n{WARNED}", [], False),
        (WARNED.replace("spec:", "# modelgate: ignore LK305, LK322\nspec:"), [], True),
        (WARNED.replace("metadata:", "# modelgate: ignore LK305\nmetadata:"), [], False),
        (f"{WARNED}---\n# modelgate: ignore LK305\n{GOOD}", [], False),
    ],
)
def test_a_warning_can_be_ignored(tmp_path: Path, capsys: Capture, text: str, flags: list[str], ignored: bool) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(text)
    assert main(["check", *flags, "--fail-on=warning", str(file)]) == int(not ignored)
    out, err = capsys.readouterr()
    assert ("LK305" in out, "1 warnings ignored" in err) == (not ignored, ignored)


def test_a_denial_is_never_ignored(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    text = GOOD.replace("pvc://c/m.gguf", "pvc://c").replace("spec:", "# modelgate: ignore LK205\nspec:")
    file.write_text(text)
    assert main(["check", "--fail-on=warning", str(file)]) == 0
    assert main(["check", "--profile=strict", "--ignore=LK205", str(file)]) == 1
    assert "LK205 error" in capsys.readouterr().out


def test_an_unknown_code_is_named_with_those_near(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(f"# modelgate: ignore LK999\n{GOOD}")
    assert main(["check", "--ignore=LK30", str(file)]) == 64
    assert "--ignore: there is no rule LK30; did you mean LK" in capsys.readouterr().err
    assert main(["check", str(file)]) == 0
    assert f"{file}:1:1: note warning: modelgate: ignore: there is no rule LK999; did you mean" in (
        capsys.readouterr().out
    )


def test_a_diff_shows_what_is_filled_in_and_why(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(WARNED.replace("count: 1", "count: 1, vendor: amd"))
    assert main(["check", "--diff", str(file)]) == 0
    out = capsys.readouterr().out
    assert '  + spec.hardware.gpu.resourceName: "amd.com/gpu"  # derived from vendor and runtime (LK102)\n' in out
    assert '  + spec.format: "gguf"  # default of the CRD\'s schema\n' in out


STREAMS = {
    "anchors": BAD.replace("spec:", "x: &x {count: 9}\nspec:").replace(
        "    gpu:\n      count: 9\n      vendor: yes", "    gpu:\n      <<: *x\n      vendor: yes"
    ),
    "comments": BAD.replace("\n", "\n# a: b\n"),
    "tabs": BAD.replace("s3://bucket/model ", "\t s3://bucket/model\t"),
    "crlf": BAD.replace("\n", "\r\n"),
    "bom": f"\ufeff{BAD}",
    "many": f"---\n{GOOD}---\n{BAD}...\n---\n{BAD}",
    "flow": json.dumps(yaml.safe_load(BAD)),
    "wide": BAD.replace("name: bad", "name: bäd😀"),
}


def places(report: dict[str, Any]) -> Iterator[tuple[str, int, int, int]]:
    for each in report["objects"]:
        for found in each["findings"]:
            yield found["field"], found["line"], found["column"], found["endColumn"]


@pytest.mark.parametrize("name", STREAMS)
def test_every_place_is_that_of_the_key(tmp_path: Path, capsys: Capture, name: str) -> None:
    file = tmp_path / "m.yaml"
    text = STREAMS[name]
    file.write_bytes(text.encode())
    found = list(places(reported(capsys, "json", file)))
    assert len(found) >= 4
    lines = text.removeprefix("\ufeff").split("\n")
    for field, line, column, end in found:
        key = lines[line - 1][column - 1 : end - 1].strip('"')
        assert key == (re.split(r"[.\[]", field)[-1] or field), (field, line, column)


def test_every_finding_of_the_samples_leads_back_to_its_key(capsys: Capture) -> None:
    """The text at a place is the last key of the field, or that of the nearest parent that the file has."""
    report = reported(capsys, "json", shared("samples"))
    total = 0
    for each in report["objects"]:
        lines = Path(each["file"]).read_text().split("\n")
        for found in each["findings"]:
            word = lines[found["line"] - 1][found["column"] - 1 : found["endColumn"] - 1]
            parts = [part.strip("[]") for part in re.findall(r"\[[^\]]*\]|[^.\[\]]+", found["field"])]
            names = {part for part in parts if not part.isdecimal()} | {"apiVersion", "kind", "metadata"}
            is_item = any(part.isdecimal() for part in parts)
            assert word.strip("\"'") in names or is_item or not found["field"], (each["file"], found, word)
            total += 1
    assert total > 300


TEXTS = ("annotations", "labels")


def body(obj: dict[str, Any]) -> dict[str, Any]:
    """What a default may write: the object without its status, and of its metadata labels and annotations."""
    metadata = obj.get("metadata") or {}
    texts = {
        key: {name: text for name, text in (metadata.get(key) or {}).items() if name != ANNOTATION} for key in TEXTS
    }
    return {**{key: value for key, value in obj.items() if key not in {"metadata", "status"}}, "metadata": texts}


def applied(obj: Any, change: Change) -> None:
    """Make one change of a leaf, with the objects above it."""
    *above, last = field_keys(change.path)
    for key in above:
        obj = obj[key] if isinstance(obj, list) else obj.setdefault(key, {})
    if change.operation == "remove":
        del obj[last]
    elif isinstance(obj, list) and change.operation == "add":
        obj.insert(last, change.value)
    else:
        obj[last] = change.value


def test_the_diffs_of_the_samples_make_the_stored_object_of_the_file() -> None:
    options = parser({"check"}).parse_args(["check", "--no-config", str(shared("samples"))])
    total = 0
    for each in outcomes(configured(options)).reviews:
        if each.validation.allowed:
            stored = each.mutation.object or each.merged
            found = copy.deepcopy(body(each.merged))
            for change in changes(each.merged, stored, each.mutation.defaults):
                applied(found, change)
                total += 1
            assert found == body(stored), each.title
    assert total > 500


def test_objects_of_many_kinds_that_are_not_checked_are_one_line(tmp_path, capsys):
    kinds = [f"apiVersion: example.com/v1\nkind: Kind{letter}\nmetadata: {{name: a}}\n" for letter in "ABCDEF"]
    (tmp_path / "many.yaml").write_text("---\n".join([*kinds, *kinds]))
    assert main(["check", str(tmp_path)]) == 0
    assert "not checked: 12 objects of 6 kinds (-v lists them): not known to Modelgate\n" in capsys.readouterr().err
    assert main(["check", "-v", str(tmp_path)]) == 0
    written = capsys.readouterr()
    assert "2 example.com/v1 KindF" in written.err
    assert written.out.count("KindA a: skipped") == 2
    (tmp_path / "many.yaml").write_text("---\n".join(kinds[:5]))
    assert main(["check", str(tmp_path)]) == 0
    assert "1 example.com/v1 KindE" in capsys.readouterr().err
