"""A gate of a repository: the releases and settings that it pins decide, as for the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelgate import Gate, Settings

SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: llmkube}
spec: {url: "oci://ghcr.io/defilantech/charts/llmkube", ref: {tag: %s}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llmkube}
spec:
  chartRef: {kind: OCIRepository, name: llmkube}
  values: {modelSource: {allowedHostPathRoots: [/srv/models]}}
"""
MODEL: dict[str, Any] = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "Model",
    "metadata": {"name": "m"},
    "spec": {"source": "/srv/models/a-Q8_0.gguf", "prefetch": True},
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for name, release in (("dev", "0.9.5"), ("prod", "0.9.19")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "llmkube.yaml").write_text(SOURCE % release)
        (tmp_path / name / "model.yaml").write_text(json.dumps(MODEL))
    return tmp_path


def test_a_file_is_judged_by_what_the_repository_deploys_near_it(top: Path) -> None:
    verdicts = [each for each in Gate(repository=top).check_all(top) if each.checked]
    said = [(each.allowed, str(each.judged_as), "LK327" in each.codes) for each in verdicts]
    assert said == [
        (False, "LLMKube 0.9.5 (dev/llmkube.yaml:4)", False),
        (True, "LLMKube 0.9.19 (prod/llmkube.yaml:4)", False),
    ]
    assert verdicts[1].judged_as == Gate(repository=str(top)).check(top / "prod" / "model.yaml").judged_as


def test_an_object_without_a_file_is_judged_by_what_counts_at_the_top(top: Path) -> None:
    gate = Gate(repository=top / "prod")
    assert gate.check(MODEL).allowed
    for given in (MODEL, json.dumps(MODEL)):
        assert str(gate.check(given).judged_as) == "LLMKube 0.9.19 (llmkube.yaml:4)"
    assert str(gate.explain(MODEL).judged_as) == "LLMKube 0.9.19 (llmkube.yaml:4)"
    ambiguous = Gate(repository=top)
    basis = ambiguous.check(MODEL).judged_as
    assert basis is not None
    assert (basis.release, basis.by, basis.places) == ("LLMKube 0.9.5", "documented", ())
    (remark,) = ambiguous.remarks
    assert "several releases are deployed: 0.9.5 (dev/llmkube.yaml:4), 0.9.19 (prod/llmkube.yaml:4)" in remark


def test_settings_that_contradict_are_named_and_left_out(top: Path) -> None:
    args = ("args: [--allowed-host-path-roots=/srv]", "args: [--allowed-host-path-roots=/data]")
    container = "{spec: {template: {spec: {containers: [{name: m, image: llmkube-controller:0.9.19, %s}]}}}}"
    for name, text in zip(("one", "other"), args, strict=True):
        head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
        whole = {**head, **yaml.safe_load(container % text)}
        (top / "prod" / f"{name}.json").write_text(json.dumps(whole))
    (top / "prod" / "llmkube.yaml").unlink()
    gate = Gate(repository=top / "prod")
    assert "LK327" in gate.check(MODEL).codes
    (remark,) = gate.remarks
    assert "the setting llmkube.hostPathRoots is left out: one.json:1, other.json:1 differ" in remark


def test_settings_count_more_and_a_gate_of_no_repository_says_the_documented_release(top: Path) -> None:
    gate = Gate(repository=top / "prod", settings=Settings(releases=(("llmkube", "0.9.14"),)))
    verdict = gate.check(MODEL)
    assert (str(verdict.judged_as), "LK327" in verdict.codes) == ("LLMKube 0.9.14 (as it is set)", False)
    assert str(Gate().check(MODEL).judged_as) == "LLMKube 0.9.5 (the documented release)"
    assert Gate().check({**MODEL, "apiVersion": "v1", "kind": "ConfigMap"}).judged_as is None


def test_a_review_is_answered_by_what_the_repository_deploys(top: Path) -> None:
    gate, obj = Gate(repository=top / "prod"), {**MODEL, "metadata": {"name": "m", "namespace": "n"}}
    request = {
        "uid": "u",
        "kind": {"group": "inference.llmkube.dev", "version": "v1alpha1", "kind": "Model"},
        "resource": {"group": "inference.llmkube.dev", "version": "v1alpha1", "resource": "models"},
        "name": "m",
        "namespace": "n",
        "operation": "CREATE",
        "userInfo": {},
        "object": obj,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    warnings = json.loads(gate.admit(json.dumps(review).encode()))["response"].get("warnings", [])
    others = json.loads(Gate().admit(json.dumps(review).encode()))["response"]["warnings"]
    assert any("prefetch" in each for each in others)
    assert not any("modelSource" in each for each in warnings)
