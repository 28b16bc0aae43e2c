"""Enforcements and PolicyExceptions among files: the same verdicts as in a cluster that has them."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from modelgate import CatalogError, Gate
from tests.enforcement.policies import PAST, enforcement, exception
from tests.shared import ROOT
from webhook.cli import main

FOREVER = "2999-01-01T00:00:00Z"
SCHEMA = json.loads((ROOT / "docs/schemas/check-report.schema.json").read_text())
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"team": "a"}}}
TEAM_A = {"matchLabels": {"team": "a"}}
DENY = enforcement("team-a", action="deny", codes=["LK223"], namespaceSelector=TEAM_A)
EXCEPT = exception("legacy", codes=["LK223"], names=["old"], namespaces=["a"], until=FOREVER)
ENDED = exception("ended", codes=["LK223"], names=["new"], namespaces=["a"], until=PAST.replace("2027", "2020"))
OFF = enforcement("wrong", action="off", codes=["LK336"])
VIEW = [NAMESPACE, DENY, EXCEPT, ENDED, OFF]


def model(name, namespace="a"):
    spec = {"source": "hf://org/repo", "format": "safetensors", "hardware": {"memoryFraction": 1.5}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}


MODELS = [model("new"), model("old"), model("old", "b")]
VERDICTS = {("a", "new"): (False, ["LK223"]), ("a", "old"): (True, []), ("b", "old"): (True, ["LK223"])}


def verdicts(reviews):
    return {
        tuple(each.object["metadata"][key] for key in ("namespace", "name")): (each.allowed, sorted(each.codes))
        for each in reviews
    }


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, objects in (("view.yaml", VIEW), ("models.yaml", MODELS)):
        Path(name).write_text("---\n".join(map(yaml.safe_dump, objects)))
    return tmp_path


def test_the_library_judges_by_those_in_view():
    gate = Gate(view=VIEW, complete=False)
    reviews = gate.check_all(MODELS)
    assert verdicts(reviews) == VERDICTS
    (muted,) = reviews[1].muted
    assert (muted.finding.code, muted.action, muted.by) == ("LK223", "except", "legacy")


def test_check_and_scan_judge_by_them_too(files, capsys):  # noqa: ARG001
    assert main(["check", "--view=view.yaml", "--references=open", "models.yaml", "-o", "json"]) == 1
    checked = json.loads(capsys.readouterr().out)
    jsonschema.validate(checked, SCHEMA)
    found = {
        (each["namespace"], each["name"]): (each["verdict"] == "accepted", [one["code"] for one in each["findings"]])
        for each in checked["objects"]
    }
    assert found == VERDICTS
    assert [each.get("muted", [{}])[0].get("by") for each in checked["objects"]] == [None, "legacy", None]
    assert main(["scan", "view.yaml", "models.yaml", "-o", "json"]) == 1
    scanned = json.loads(capsys.readouterr().out)
    refused = [(each["namespace"], each["name"]) for each in scanned["objects"] if each["verdict"] == "refused"]
    assert refused == [("a", "new")]


def test_what_is_examined_does_not_decide_about_its_own_examination(files, capsys):  # noqa: ARG001
    """Policies among the files are examined, and count for nothing."""
    assert main(["check", "view.yaml", "models.yaml"]) == 0
    assert " 0 refused, " in capsys.readouterr().err


def test_without_them_all_is_as_before(files, capsys):  # noqa: ARG001
    assert main(["check", "models.yaml"]) == 0
    assert "counts for nothing" not in capsys.readouterr().err


def test_which_findings_count_for_nothing_is_said(files, capsys):  # noqa: ARG001
    main(["check", "-v", "--view=view.yaml", "--references=open", "models.yaml"])
    told = capsys.readouterr()
    assert "(LK223): counts for nothing: except by legacy" in told.out
    assert "counts for nothing: 1 findings (except by legacy); -v lists them" in told.err


def test_policies_are_examined_by_their_definition_and_their_words(capsys, tmp_path):
    file = tmp_path / "policies.yaml"
    wrong = exception("wrong", codes=["*"], namespaces=["a"])
    odd = enforcement("odd", action="warn", codes=["LK224"])
    file.write_text("---\n".join(map(yaml.safe_dump, [wrong, odd])) + "---\n" + UNQUOTED)
    assert main(["check", str(file)]) == 1
    told = capsys.readouterr().out
    assert "schema error: spec.codes: Invalid value: * is every rule: name codes" in told
    assert 'note warning: spec.codes: "LK224" is not a code of a rule; did you mean ' in told
    assert "YAML reads off as false: put it in quotes" in told


UNQUOTED = """\
apiVersion: modelgate.dev/v1alpha1
kind: Enforcement
metadata: {name: unquoted}
spec: {action: off, codes: [LK223]}
"""


def test_one_in_view_that_cannot_be_read_is_an_error_with_its_place(files, capsys):
    Path("view.yaml").write_text(UNQUOTED)
    assert main(["check", "--view=view.yaml", "models.yaml"]) == 2
    assert "view.yaml:1: spec.action: must be deny, warn, audit, off" in capsys.readouterr().err
    with pytest.raises(CatalogError):
        Gate(view=files / "view.yaml")


def test_odd_words_in_view_are_remarked_on(files, capsys):  # noqa: ARG001
    twin = enforcement("twin", **{**DENY["spec"], "action": "warn"})
    odd = [enforcement("odd", action="deny", codes=["LK224"]), DENY, twin]
    Path("view.yaml").write_text("---\n".join(map(yaml.safe_dump, odd)))
    main(["check", "--view=view.yaml", "--references=open", "models.yaml"])
    told = capsys.readouterr().out
    assert 'Enforcement odd: warning: spec.codes: "LK224" is not a code of a rule' in told
    assert "Enforcement twin: warning: spec.action: Enforcement team-a says deny of LK223" in told


def test_a_label_tightens_files_too():
    strict = {**NAMESPACE, "metadata": {"name": "b", "labels": {"modelgate.dev/profile": "strict"}}}
    (review,) = Gate(view=[*VIEW, strict], complete=False).check_all([model("old", "b")])
    assert not review.allowed


def test_reports_of_a_scan_have_what_is_skipped(files, capsys):  # noqa: ARG001
    main(["scan", "view.yaml", "models.yaml", "-o", "openreports"])
    reports = [each for each in yaml.safe_load_all(capsys.readouterr().out) if each]
    (mine,) = (each for each in reports if (each["scope"]["namespace"], each["scope"]["name"]) == ("a", "old"))
    (result,) = (each for each in mine["results"] if each["result"] == "skip")
    assert (result["rule"], result["properties"]["exception"]) == ("LK223", "legacy")
