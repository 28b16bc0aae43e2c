"""Does it fit? A gate that watches nodes, on a real control plane, with the rights of the chart and no more."""

from __future__ import annotations

import json

import pytest

from tests.e2e.processes import wait_until
from tests.e2e.seeing import as_the_chart_lets_it

pytestmark = pytest.mark.usefixtures("judging")

API = "inference.llmkube.dev/v1alpha1"
GPU = "nvidia.com/gpu"
KARPENTER = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "nodepools.karpenter.sh", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
    "spec": {
        "group": "karpenter.sh",
        "scope": "Cluster",
        "names": {"plural": "nodepools", "singular": "nodepool", "kind": "NodePool", "listKind": "NodePoolList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


@pytest.fixture(scope="module")
def judging(plane, gate):
    """The gate that watches nodes."""
    file = as_the_chart_lets_it(plane, "--set=gate.nodes=auto")
    gate.stop()
    gate.start("--view=live", f"--view-kubeconfig={file}", "--profile=standard", "--nodes=auto")
    yield gate
    gate.stop()
    gate.start()


@pytest.fixture
def nodes(plane):
    """Adds nodes, and removes them in the end."""
    names = []

    def add(name, gpus, **labels):
        names.append(name)
        known = {f"{GPU}.memory": "24576", f"{GPU}.count": str(gpus), "kubernetes.io/hostname": name, **labels}
        plane.kubectl.send("create", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": known}})
        amounts = {"cpu": "8", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi", GPU: str(gpus)}
        status = json.dumps({"status": {"capacity": amounts, "allocatable": amounts}})
        plane.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", status)

    yield add
    for name in names:
        plane.kubectl("delete", "node", name, "--ignore-not-found")


def model(kubectl, name, gpus, size=""):
    hardware = {"accelerator": "cuda", "gpu": {"enabled": True, "count": gpus, "vendor": "nvidia"}}
    spec = {"source": "https://example.com/x.gguf", "format": "gguf", "hardware": hardware}
    kubectl.send("create", {"apiVersion": API, "kind": "Model", "metadata": {"name": name}, "spec": spec})
    if size:
        status = json.dumps({"status": {"size": size, "phase": "Ready"}})
        kubectl("patch", "models.inference.llmkube.dev", name, "--subresource=status", "--type=merge", "-p", status)


def said(kubectl, name):
    service = {"apiVersion": API, "kind": "InferenceService", "metadata": {"name": name}, "spec": {"modelRef": name}}
    answer = kubectl.run("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(service))
    assert answer.code == 0, answer.err
    return answer.err


def test_a_service_that_no_node_can_run_is_told_until_a_node_is_added(kubectl, nodes, plane):
    nodes("small", 1)
    model(kubectl, "two", 2)
    wait_until(lambda: "KN001" in said(kubectl, "two"), "the word of the gate")
    assert "have fewer than 2 nvidia.com/gpu (at most 1)" in said(kubectl, "two").replace("has fewer", "have fewer")
    nodes("large", 2)
    wait_until(lambda: "KN001" not in said(kubectl, "two"), "the silence of the gate")
    plane.kubectl("delete", "node", "large")
    wait_until(lambda: "KN001" in said(kubectl, "two"), "the word of the gate")
    plane.kubectl.send("create", KARPENTER)
    try:
        wait_until(lambda: "KN001" not in said(kubectl, "two"), "silence, because Karpenter may add a node", 60)
    finally:
        plane.kubectl("delete", "crd", KARPENTER["metadata"]["name"])
    wait_until(lambda: "KN001" in said(kubectl, "two"), "the word of the gate", 60)


def test_weights_that_exceed_the_memory_of_the_gpu_are_told(kubectl, nodes):
    nodes("small", 1)
    model(kubectl, "large", 1, size="39.6 GiB")
    model(kubectl, "fitting", 1, size="18.0 GiB")
    wait_until(lambda: "KF001" in said(kubectl, "large"), "the word of the gate")
    assert "35.6 GiB of weights at least, and 1 GPU of at most 24 GiB" in said(kubectl, "large")
    assert "KF" not in said(kubectl, "fitting")


def test_a_quota_that_allows_no_gpu_is_told(kubectl, nodes):
    nodes("small", 1)
    model(kubectl, "any", 1)
    wait_until(lambda: "KN" not in said(kubectl, "any"), "the node")
    assert "KF005" not in said(kubectl, "any")
    hard = {"hard": {f"requests.{GPU}": 0}}
    kubectl.send("create", {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": hard})
    text = "one pod asks for 1 nvidia.com/gpu, and ResourceQuota q allows 0"
    wait_until(lambda: text in said(kubectl, "any"), "the word of the gate")
