"""The server, `Gate.admit`, `Gate.check` and `modelgate check` give one verdict.

``python -m tests.fuzz.faces`` compares more.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from modelgate import CatalogError, Gate
from tests.fuzz.faces import CONFIG_MAP, POLICIES, compare
from tests.laws import examples
from tests.shared import ROOT

REFUSED = {**CONFIG_MAP, "spec": {"a": 1, "b": 2, "c": 3, "d": 4}}


def test_every_face_gives_the_same_verdict() -> None:
    result = compare(sorted((ROOT / "packs").iterdir()), examples(400), 7)
    assert not result.different, str(result)
    counts = result.counts
    assert all(counts[name] > 0 for name in ("allowed", "refused", "by policies", "served")), str(result)
    assert counts["with the same labels"] > 0.8 * counts["served"]


def review(obj: dict[str, Any]) -> bytes:
    """The review of a ConfigMap that is created."""
    api, metadata = {"group": "", "version": "v1"}, obj["metadata"]
    request = {
        "uid": "u",
        "kind": {**api, "kind": "ConfigMap"},
        "resource": {**api, "resource": "configmaps"},
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "operation": "CREATE",
        "userInfo": {},
        "object": obj,
    }
    document = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(document).encode()


def test_admission_policies_are_read_when_a_gate_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    shutil.copytree(POLICIES, folder)
    gate = Gate(admission_policies=folder)
    shutil.rmtree(folder)
    assert not gate.check(REFUSED).allowed
    assert not json.loads(gate.admit(review(REFUSED)))["response"]["allowed"]
    assert json.loads(gate.admit(review(REFUSED), mutating=True))["response"]["patch"]
    with pytest.raises(CatalogError, match="policies"):
        Gate(admission_policies=folder)


def test_a_review_from_a_namespace_that_is_not_among_the_objects_is_refused_as_by_the_server() -> None:
    elsewhere = {**CONFIG_MAP, "metadata": {"name": "case", "namespace": "elsewhere"}}
    for view, allowed in ((), False), ([{**NAMESPACE, "metadata": {"name": "elsewhere"}}], True):
        reply = Gate(admission_policies=POLICIES, view=view).admit(review(elsewhere))
        assert json.loads(reply)["response"]["allowed"] is allowed


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}


def test_a_gate_without_a_view_says_nothing_of_files() -> None:
    """As a server without a view: nothing is known of other objects."""
    service = {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "InferenceService",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"modelRef": "m"},
    }
    api = {"group": "inference.llmkube.dev", "version": "v1alpha1"}
    document = json.loads(review(service))
    document["request"] |= {
        "kind": {**api, "kind": "InferenceService"},
        "resource": {**api, "resource": "inferenceservices"},
    }
    body = json.dumps(document).encode()
    assert b"not among the files" not in Gate().admit(body)
    assert b"LS401" in Gate(complete=True).admit(body)
