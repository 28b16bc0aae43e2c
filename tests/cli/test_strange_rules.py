"""The files of a stranger do not decide by which rules they are judged: those of the commit do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.strangers import commit, git
from tests.cli.trees import GOOD
from tests.crds import crd_text
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

BAD = GOOD.replace("pvc://c/m.gguf", "ftp://x")
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-good}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]
  validations: [{expression: "object.metadata.name != 'good'", message: no good}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-good}
spec: {policyName: no-good, validationActions: [Deny]}
"""
OPEN = crd_text("inference.llmkube.dev", "Model", version="v1alpha1")


def test_the_configuration_of_the_commit_decides(tree: Path, capsys: Capture) -> None:
    (tree / "manifests" / "model.yaml").write_text(BAD)
    (tree / ".modelgate.yaml").write_text("failOn: never\n")
    assert main(["check", "manifests"]) == 0
    assert "makes the check weaker: failOn: never" in capsys.readouterr().err
    assert main(["check", "--git=base", "manifests"]) == 1
    assert ".modelgate.yaml: not used: base has no such configuration" in capsys.readouterr().err
    commit(tree)
    (tree / ".modelgate.yaml").unlink()
    assert main(["check", "--git=HEAD", "manifests"]) == 0
    assert "HEAD:.modelgate.yaml: this configuration makes the check weaker: failOn: never" in capsys.readouterr().err
    (tree / ".modelgate.yaml").symlink_to("other.yaml")
    (tree / "other.yaml").write_text("exclude: ['*']\n")
    assert main(["check", "--git=HEAD", "manifests"]) == 0, "the link does not say which file of the commit counts"


@pytest.mark.parametrize("how", ["flag", "configuration"])
def test_policies_and_definitions_of_the_commit_decide(how: str, tree: Path, capsys: Capture) -> None:
    (tree / "policies").mkdir()
    (tree / "policies" / "policy.yaml").write_text(POLICY)
    (tree / "manifests" / "model.yaml").write_text(GOOD)
    if how == "configuration":
        (tree / ".modelgate.yaml").write_text("admissionPolicies: policies\n")
    commit(tree)
    flags = ["--admission-policies=policies"] if how == "flag" else []
    (tree / "policies" / "policy.yaml").write_text(POLICY.replace("!= 'good'", "!= 'other'"))
    assert main(["check", *flags, "manifests"]) == 0
    assert main(["check", "--git=HEAD", "--all", *flags, "manifests"]) == 1
    assert "no good" in capsys.readouterr().out
    shutil.rmtree(tree / "policies")
    assert main(["check", "--git=HEAD", "--all", *flags, "manifests"]) == 1


def test_what_only_the_change_has_does_not_decide(tree: Path, capsys: Capture) -> None:
    (tree / "policies").mkdir()
    (tree / "policies" / "policy.yaml").write_text(POLICY)
    (tree / "manifests" / "model.yaml").write_text(GOOD)
    flags = ["--git=base", "--admission-policies=policies"]
    assert main(["check", *flags, "manifests"]) == 1, "no commit has it: a step before has made it"
    commit(tree)
    capsys.readouterr()
    assert main(["check", *flags, "manifests"]) == 64
    assert "policies is not at base" in capsys.readouterr().err


def test_an_open_definition_among_the_files_does_not_decide(tree: Path, capsys: Capture) -> None:
    (tree / "manifests" / "model.yaml").write_text(BAD)
    (tree / "manifests" / "crd.yaml").write_text(OPEN)
    assert main(["check", "manifests"]) == 0
    assert "manifests/crd.yaml:1: this definition makes the check weaker: " in capsys.readouterr().err
    for flags, by in ((["--git=base"], "that of base"), (["--untrusted"], "Modelgate's own")):
        assert main(["check", *flags, "manifests"]) == 1, flags
        out = capsys.readouterr().out
        assert "spec.source: Invalid value" in out
        assert f"manifests/crd.yaml:1: warning: this definition does not decide about objects: {by} does" in out
    assert main(["scan", "--untrusted", "manifests"]) == 1
    commit(tree)
    assert main(["check", "--git=HEAD", "manifests"]) == 0, "at the commit it decides"


def test_a_definition_of_the_commit_decides_and_a_new_kind_is_judged_by_its_own(tree: Path, capsys: Capture) -> None:
    own = crd_text("example.com", "Thing", version="v1alpha1")
    strict = own.replace("x-kubernetes-preserve-unknown-fields: true", "properties: {spec: {type: string}}")
    thing = "apiVersion: example.com/v1alpha1\nkind: Thing\nmetadata: {name: t, namespace: team}\nspec: 1\n"
    (tree / "manifests" / "crd.yaml").write_text(strict)
    (tree / "manifests" / "thing.yaml").write_text(thing)
    assert main(["check", "--git=base", "manifests"]) == 1, "no other definition is known"
    commit(tree)
    (tree / "manifests" / "crd.yaml").write_text(own)
    (tree / "manifests" / "thing.yaml").write_text(thing.replace("spec: 1", "spec: 2"))
    assert main(["check", "manifests"]) == 0
    capsys.readouterr()
    assert main(["check", "--git=HEAD", "--all", "manifests"]) == 1
    assert "does not decide about objects: that of HEAD does" in capsys.readouterr().out


def test_a_configuration_above_or_of_another_user_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "model.yaml").write_text(BAD)
    (tmp_path / ".modelgate.yaml").write_text("failOn: never\n")
    monkeypatch.chdir(tmp_path / "work")
    assert main(["check", "."]) == 1, "without a repository only this folder counts"
    if os.geteuid() == 0:
        git(tmp_path, "init", "-q", ".")
        os.chown(tmp_path / ".modelgate.yaml", 12345, 12345)
        assert main(["check", "."]) == 64
        assert "belongs to another user" in capsys.readouterr().err
        os.chown(tmp_path / "work", 12345, 12345)
        assert main(["check", "."]) == 0, "as in a container, where all files belong to the user outside of it"


@pytest.mark.parametrize("key", ["view: [{}]", "crds: [{}]", "admissionPolicies: {}"])
@pytest.mark.parametrize("path", ["../secrets", "/proc/self", "/dev/zero", "link", "/"])
def test_a_configuration_names_no_files_outside_of_its_repository(
    key: str, path: str, tree: Path, capsys: Capture
) -> None:
    (tree.parent / "secrets").mkdir()
    (tree / "link").symlink_to("../secrets")
    (tree / ".modelgate.yaml").write_text(key.format(path))
    assert main(["check", "manifests"]) == 64
    assert f"is outside of {tree}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["exclude: ['*']", "exclude: ['model*']"])
def test_nothing_left_to_check_is_a_failure(name: str, tree: Path, capsys: Capture) -> None:
    (tree / "manifests" / "cache.yaml").unlink()
    (tree / "manifests" / "model.yaml").write_text(BAD)
    (tree / "manifests" / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n")
    (tree / ".modelgate.yaml").write_text(name)
    for command in ("check", "normalise", "explain", "scan"):
        assert main([command, "manifests"]) == 2, command
        assert "nothing is left to judge: " in capsys.readouterr().err


def test_what_weakens_the_check_is_told(tree: Path, capsys: Capture) -> None:
    text = "failOn: never\nprofile: audit\nexclude: [vendor]\nignore: [LK305]\nreferences: open\nview: [manifests]\n"
    (tree / ".modelgate.yaml").write_text(text)
    main(["check", "--quiet", "-o", "json", "manifests"])
    told = "failOn: never; profile: audit; references: open; exclude: vendor; ignore: LK305"
    assert f"this configuration makes the check weaker: {told}" in capsys.readouterr().err
    main(["check", "--fail-on=error", "--profile=standard", "--references=closed", "manifests"])
    assert "makes the check weaker: exclude: vendor; ignore: LK305" in capsys.readouterr().err
