"""What `check` writes for programs: JSON, SARIF, JUnit, and what GitHub and GitLab read."""

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.cli.trees import BAD, GOOD, WARNED, repository
from tests.shared import ROOT
from webhook import catalog
from webhook.cli import main
from webhook.library.findings import CODES

Capture = pytest.CaptureFixture[str]

SCHEMA = json.loads((ROOT / "docs/schemas/check-report.schema.json").read_text())

SARIF = json.loads(gzip.decompress(Path(__file__).with_name("sarif-2.1.0.schema.json.gz").read_bytes()))
"""The schema of SARIF 2.1.0 with its errata, as OASIS publishes it (``SARIF["id"]``)."""


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
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    report = reported(capsys, "json", tree)
    jsonschema.validate(report, SCHEMA)
    assert report["summary"]["refused"] == 1
    assert report["summary"]["unreadable"] == len(report["problems"]) == 1
    (bad,) = (each for each in report["objects"] if each["verdict"] == "refused")
    assert [each["line"] for each in bad["findings"]] == [7, 10, 11, 12]
    assert {"operation": "add", "field": "spec.format"}.items() <= bad["changes"][-2].items()
    assert SCHEMA["$defs"]["finding"]["properties"]["code"]["anyOf"][1]["enum"] == [
        code for code in CODES if code != "unreadable"
    ]


def test_a_finding_of_each_pack_is_of_the_schema() -> None:
    code_of_finding = SCHEMA["$defs"]["finding"]["properties"]["code"]
    for code in catalog.load().codes():
        jsonschema.validate(code, code_of_finding)


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
    part = "a part of an object, such as a patch: its pods have no container or image, or its file is named so"
    assert ("note", f"not checked: 1 apps/v1 Deployment: {part}") in told
    assert any(level == "note" and text.startswith("not read: 1 Helm template, ") for level, text in told)
    texts = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    short, full = (texts["LK305"][name]["text"] for name in ("shortDescription", "fullDescription"))
    assert short.startswith("spec.hardware.accelerator: accelerator is cpu (the default) although GPUs are requested")
    name = "SpecHardwareAcceleratorAcceleratorIsCpuTheDefaultAlthoughGPUsAreRequestedSoTheirPresenceIsNeverChecked"
    assert (texts["LK305"]["name"], texts["unknown-field"]["name"]) == (name, "UnknownField")
    assert all(re.fullmatch(r"[A-Za-z0-9]+", rule["name"]) for rule in texts.values())
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


def test_a_rule_links_to_the_documents_of_a_repository(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(WARNED)
    main(["check", "-o", "sarif", "--docs-url=https://git.example.com/gate/blob/v1/docs", "m.yaml"])
    (rule,) = json.loads(capsys.readouterr().out)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == "https://git.example.com/gate/blob/v1/docs/rules/llmkube.md"


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


def test_markdown_has_the_findings_and_no_link_or_mention_of_a_manifest(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a`b|@all<img src=x> [x](http://y)\\n\\e[31m::error::x"
    (tmp_path / "m.yaml").write_text(BAD.replace("name: bad", f'name: "{name}"'))
    assert main(["check", "-o", "markdown", "m.yaml"]) == 1
    title, _, head, rule, *rows = capsys.readouterr().out.splitlines()
    assert title == "### modelgate: 1 refused, 0 with warnings, of 1 checked"
    assert (head.count("|"), rule) == (6, "|---|---|---|---|---|")
    assert rows[0].startswith("| error | `schema` | `m.yaml:")
    for row in rows:
        outside = "".join(row.split("`")[::2])
        assert (row.count("|"), "@" in outside, "<" in outside, "http" in outside, "\x1b" in row) == (6, *[False] * 4)
    (tmp_path / "m.yaml").write_text(GOOD)
    assert main(["check", "-o", "markdown", "m.yaml"]) == 0
    assert capsys.readouterr().out == "### modelgate: no finding, of 1 checked\n"


def test_markdown_fits_into_a_comment(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text("---\n".join([BAD.replace("fromat", "f" * 3000)] * 200))
    assert main(["check", "-o", "markdown", "m.yaml"]) == 1
    out = capsys.readouterr().out
    assert len(out) < 65_000
    assert re.search(r"not listed: \d+ more; `-o json` has all", out)
