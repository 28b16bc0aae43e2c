"""Tests of the Kyverno project that hold native policies give what they expect, and `modelgate test` runs them."""

from pathlib import Path

import pytest

from tests.shared import SHARED, rows, shared
from webhook.cli import kyverno, main
from webhook.engine.catalog import KYVERNO_TEST

FILES = sorted(SHARED.glob(f"fixtures/kyverno-cli/**/{KYVERNO_TEST}"))


@pytest.mark.parametrize("file", rows(FILES, "fixtures/kyverno-cli"), ids=lambda file: file.parent.name)
def test_every_kyverno_test_gives_the_expected_results(file) -> None:
    outcomes = kyverno.run(file)
    assert outcomes
    assert [outcome for outcome in outcomes if not outcome.passed] == []


def test_the_fixtures_are_all_found() -> None:
    shared("fixtures")
    assert len(FILES) == 17


def test_the_command_runs_all_fixtures(capsys) -> None:
    folder = shared("fixtures") / "kyverno-cli"
    expected = sum(len(kyverno.run(file)) for file in FILES)
    assert main(["test", str(folder)]) == 0
    assert capsys.readouterr().out == f"{expected} passed, 0 failed\n"


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: small}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments]}]
  validations: [{expression: object.spec.replicas < 3, message: too many}]
"""
RESOURCES = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: one}
spec: {replicas: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: four}
spec: {replicas: 4}
"""
TEST = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
policies: [policy.yaml]
resources: [resources.yaml]
results:
- {policy: small, kind: Deployment, resources: [one], result: pass, isValidatingAdmissionPolicy: true}
- {policy: small, kind: Deployment, resources: [four], result: fail, isValidatingAdmissionPolicy: true}
"""


def write_test(folder: Path, **texts: str) -> None:
    folder.mkdir(parents=True)
    for name, text in {"policy": POLICY, "resources": RESOURCES, "kyverno-test": TEST, **texts}.items():
        (folder / f"{name}.yaml").write_text(text)


def test_an_unexpected_result_fails_with_its_name(tmp_path, capsys) -> None:
    write_test(tmp_path / "a" / "b", **{"kyverno-test": TEST.replace("[four], result: fail", "[four], result: pass")})
    assert main(["test", str(tmp_path)]) == 1
    failed, reason, total = capsys.readouterr().out.splitlines()
    where = tmp_path / "a" / "b" / "kyverno-test.yaml"
    assert failed == f"{where}: FAILED Deployment/four: small in a/b/kyverno-test.yaml"
    assert reason.startswith("  expected pass, got fail: ValidatingAdmissionPolicy 'small' with binding 'small' denied")
    assert total == "1 passed, 1 failed"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("kyverno-test", TEST + "---\n" + TEST, "kyverno-test.yaml:9: expected one document, got more"),
        ("kyverno-test", "", "kyverno-test.yaml:1: apiVersion: Field required"),
        ("kyverno-test", TEST.replace("resources.yaml", "none.yaml"), "none.yaml: cannot be read"),
        ("resources", "spec: {}\n", "resources.yaml:1: metadata.name: expected text"),
        ("policy", "kind: ClusterPolicy\napiVersion: kyverno.io/v1\nmetadata: {name: p}\n", "is not a native policy"),
        ("policy", POLICY.replace("spec:", "spec: 1\nx:"), "policy.yaml:4: spec: "),
        ("policy", POLICY.replace("< 3", "<"), "policy.yaml:7: spec.validations[0].expression: "),
    ],
)
def test_an_unreadable_test_is_reported_and_the_others_run(tmp_path, capsys, name, text, problem) -> None:
    write_test(tmp_path / "broken", **{name: text})
    write_test(tmp_path / "sound")
    assert main(["test", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == "2 passed, 0 failed\n"
    assert problem in printed.err
