"""What AIM's rules say of nodes and storage classes of a real cluster, with the rights of the chart."""

from __future__ import annotations

import json

import pytest

from tests.e2e.processes import wait_until

pytestmark = pytest.mark.usefixtures("seeing")

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpus", "labels": {"amd.com/gpu.device-id": "74a1"}}}
CLASSES = [
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
    }
    for name, provisioner in (("shared", "nfs.csi.k8s.io"), ("disk", "ebs.csi.aws.com"))
]


def aim(kind, name, **spec):
    return {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module", autouse=True)
def cluster(plane):
    """A node with MI300X and two storage classes, neither of them the default."""
    plane.kubectl.send_all("apply", [NODE, *CLASSES])
    yield
    plane.kubectl("delete", "node/gpus", "storageclass/shared", "storageclass/disk")


def said(kubectl, obj):
    """The warnings of a creation."""
    answer = kubectl.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(obj))
    assert answer.code == 0, answer
    return answer.err


def test_a_template_for_a_gpu_that_no_node_has(kubectl):
    def template(model):
        return aim("AIMServiceTemplate", "t", aimImageName="img", gpuSelector={"count": 1, "model": model})

    missing = 'Required GPU model "MI325X" is not available in the cluster, whose nodes have MI300X: use'
    wait_until(lambda: missing in said(kubectl, template("MI325X")), "the node is seen")
    assert "AI433" not in said(kubectl, template("Instinct MI300X"))


def test_a_cache_without_a_volume_that_nodes_share(kubectl):
    def cache(**more):
        return aim("AIMModelCache", "c", sourceUri="hf://org/model", size="1Gi", **more)

    wait_until(lambda: "the cluster has no default StorageClass" in said(kubectl, cache()), "the classes are seen")
    assert 'StorageClass "gone" does not exist' in said(kubectl, cache(storageClassName="gone"))
    assert "(ebs.csi.aws.com) gives its volumes to one node" in said(kubectl, cache(storageClassName="disk"))
    assert "AI45" not in said(kubectl, cache(storageClassName="shared"))


CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "weights"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "gpu"},
    "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}},
}


def test_claims_that_the_pods_of_a_runtime_name(kubectl):
    spec = {
        "volumes": [{"name": "weights", "persistentVolumeClaim": {"claimName": "weights"}}],
        "engineConfig": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]},
    }
    runtime = {"apiVersion": "ome.io/v1beta1", "kind": "ServingRuntime", "metadata": {"name": "r"}, "spec": spec}
    missing = said(kubectl, runtime)
    assert 'PersistentVolumeClaim "weights" not found in namespace' in missing
    assert 'ResourceClaimTemplate "gpu" not found in namespace' in missing
    kubectl.send_all("create", [CLAIM, TEMPLATE])
    try:
        wait_until(lambda: "not found in namespace" not in said(kubectl, runtime), "the claims are read")
    finally:
        kubectl("delete", "persistentvolumeclaim/weights", "resourceclaimtemplate/gpu", "--wait=false")
