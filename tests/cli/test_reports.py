"""What `check` says, and where: text, machine formats, places, ignores and exit codes."""

import copy
import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import yaml

from tests.cli.trees import GOOD, repository
from tests.shared import ROOT, shared
from webhook.cli import main
from webhook.cli.input.configuration import configured
from webhook.cli.manifests import outcomes
from webhook.cli.shell.running import parser
from webhook.engine import catalog
from webhook.library.changes import Change, changes
from webhook.library.findings import CODES
from webhook.manifests.places import keys

Capture = pytest.CaptureFixture[str]

BAD = """\
# a comment
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: bad
spec:
  source: s3://bucket/model   # where
  hardware:
    gpu:
      count: 9
      vendor: yes
  prefetch: true
"""
WARNED = GOOD.replace("{source", "{hardware: {gpu: {count: 1}}, source")


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


def reported(capsys: Capture, form: str, *paths: object) -> Any:
    main(["check", "-o", form, *map(str, paths)])
    text = capsys.readouterr().out
    return ET.fromstring(text) if form == "junit" else json.loads(text)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Everything that a report can say: errors, warnings, hints, skipped objects and unreadable files."""
    repository(tmp_path)
    (tmp_path / "bad.yaml").write_text(f"{BAD}---\n{WARNED}")
    (tmp_path / "broken.yaml").write_text("apiVersion: ome.io/v1beta1\na: [\n")
    return tmp_path


def test_json_is_of_its_schema(tree: Path, capsys: Capture) -> None:
    schema = json.loads((ROOT / "docs/schemas/check-report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    report = reported(capsys, "json", tree)
    jsonschema.validate(report, schema)
    assert report["summary"]["refused"] == 1
    assert report["summary"]["unreadable"] == len(report["problems"]) == 1
    (bad,) = (each for each in report["objects"] if each["verdict"] == "refused")
    assert [each["line"] for each in bad["findings"]] == [7, 10, 11, 12]
    assert {"operation": "add", "field": "spec.format"}.items() <= bad["changes"][-2].items()
    assert schema["$defs"]["finding"]["properties"]["code"]["anyOf"][1]["enum"] == [
        code for code in CODES if code != "unreadable"
    ]


def test_a_finding_of_each_pack_is_of_the_schema() -> None:
    schema = json.loads((ROOT / "docs/schemas/check-report.schema.json").read_text())
    code_of_finding = schema["$defs"]["finding"]["properties"]["code"]
    for code in catalog.load().codes():
        jsonschema.validate(code, code_of_finding)


SARIF = json.loads(gzip.decompress(Path(__file__).with_name("sarif-2.1.0.schema.json.gz").read_bytes()))
"""The schema of SARIF 2.1.0 with its errata, as OASIS publishes it (``SARIF["id"]``)."""


def test_sarif_is_of_its_schema(tree: Path, capsys: Capture) -> None:
    log = reported(capsys, "sarif", tree)
    jsonschema.Draft4Validator(SARIF, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER).validate(log)
    (run,) = log["runs"]
    for each in run["results"]:
        (place,) = each["locations"]
        assert place["physicalLocation"].keys() == {"artifactLocation", "region"}
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[each["ruleIndex"]] for each in run["results"]] == [each["ruleId"] for each in run["results"]]
    assert {"schema", "unknown-field", "LK305"} <= set(rules)
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    told = [(each["level"], each["message"]["text"]) for each in invocation["toolExecutionNotifications"]]
    assert ("note", "not checked: 1 apps/v1 Deployment: not known to Modelgate") in told
    assert any(level == "note" and text.startswith("not read: 1 Helm template, ") for level, text in told)
    texts = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    short, full = (texts["LK305"][name]["text"] for name in ("shortDescription", "fullDescription"))
    assert short.endswith(".")
    assert "modelgate rule" not in short
    assert full.startswith("LK305: Model (inference.llmkube.dev/v1alpha1), spec.hardware.accelerator\n")
    assert texts["LK305"]["help"]["text"] == full
    fingerprints = [each["partialFingerprints"]["modelgate/v1"] for each in run["results"]]
    assert len(set(fingerprints)) == len(fingerprints)


def test_no_format_names_a_place_that_is_not_in_the_repository(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: {{ .Name }}}\n")
    crd = (ROOT / "policies/llmkube/crds/models.yaml").read_text().replace("refreshPolicy:", "refreshPolitics:")
    (tmp_path / "crd.yaml").write_text(crd)
    for form in ("sarif", "gitlab", "github"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
        main(["check", "--no-config", "-o", form, str(tmp_path), "-"])
        out = capsys.readouterr().out
        assert "job.yaml" in out
        assert "crd.yaml" in out, "the rules that are not applied"
        assert form == "gitlab" or "file=stdin" not in out
        if form == "sarif":
            jsonschema.Draft4Validator(SARIF, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER).validate(
                json.loads(out)
            )
            (run,) = json.loads(out)["runs"]
            levels = {each["level"] for each in run["invocations"][0]["toolExecutionNotifications"]}
            assert levels == {"warning", "note"}
            assert not any("physicalLocation" in place for each in run["results"] for place in each["locations"])
            assert len(run["results"]) > 3


@pytest.mark.parametrize("where", ["flag", "environment", "file", "nowhere"])
def test_a_rule_links_to_the_site_of_the_organisation(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(WARNED)
    if where == "environment":
        monkeypatch.setenv("MODELGATE_DOCS_URL", "https://docs.example.com/gate/")
    elif where == "file":
        (tmp_path / ".modelgate.yaml").write_text("docsUrl: https://docs.example.com/gate\n")
    flags = ["--docs-url=https://docs.example.com/gate"] if where == "flag" else []
    page = "https://docs.example.com/gate/codes/lk305.html" if where != "nowhere" else "docs/rules/llmkube.md"
    main(["check", "-o", "json", *flags, "m.yaml"])
    (found,) = json.loads(capsys.readouterr().out)["objects"][0]["findings"]
    assert found["docs"] == page
    main(["check", "-o", "sarif", *flags, "m.yaml"])
    (rule,) = json.loads(capsys.readouterr().out)["runs"][0]["tool"]["driver"]["rules"]
    assert rule.get("helpUri") == (page if where != "nowhere" else None)
    main(["check", *flags, "m.yaml"])
    assert (f"that is right: {page}" in capsys.readouterr().err) == (where != "nowhere")


def test_junit_counts_what_it_holds(tree: Path, capsys: Capture) -> None:
    root = reported(capsys, "junit", tree)
    assert root.tag == "testsuites"
    for suite in root:
        cases = list(suite)
        assert suite.tag == "testsuite"
        assert {case.tag for case in cases} == {"testcase"}
        assert int(suite.attrib["tests"]) == len(cases)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[name]) == sum(case.find(tag) is not None for case in cases)
    assert sum(int(suite.attrib["failures"]) for suite in root) == 1
    assert sum(int(suite.attrib["errors"]) for suite in root) == 1


def test_github_gets_one_command_for_each_finding(tree: Path, capsys: Capture) -> None:
    main(["check", "-o", "github", str(tree)])
    lines = capsys.readouterr().out.splitlines()
    notices = [line for line in lines if line.startswith("::notice ")]
    assert len(lines) == 6 + len(notices)
    assert [line.partition("::not ")[2].partition(":")[0] for line in notices] == ["checked", "read"]
    lines = [line for line in lines if line not in notices]
    assert all(re.match(r"::(error|warning) file=[^:,]+,line=\d+(,col=\d+,endColumn=\d+)?,title=[^:,]+::\S", each)
               for each in lines)  # fmt: skip
    evil = tree / "evil.yaml"
    evil.write_text(BAD.replace("s3://bucket/model ", '"a\\n::error file=x::y%0A::z"'))
    main(["check", "-o", "github", str(evil)])
    assert all(line.startswith("::error file=") and line.count("\n::") == 0 for line in
               capsys.readouterr().out.splitlines())  # fmt: skip


def test_gitlab_gets_issues_with_different_fingerprints(tree: Path, capsys: Capture) -> None:
    issues = reported(capsys, "gitlab", tree)
    assert {each["severity"] for each in issues} == {"major", "minor", "blocker", "info"}
    assert all(Path(each["location"]["path"]).is_file() for each in issues)
    main(["check", "-q", "-o", "gitlab", str(tree)])
    assert "bad.yaml:7:3: schema error: spec.source" in capsys.readouterr().err
    assert all(each.keys() == {"description", "check_name", "fingerprint", "severity", "location"} for each in issues)
    assert all(isinstance(each["location"]["lines"]["begin"], int) for each in issues)


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


def body(obj: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in {"metadata", "status"}}


def applied(obj: Any, change: Change) -> None:
    """Make one change of a leaf, with the objects above it."""
    *above, last = keys(change.path)
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
