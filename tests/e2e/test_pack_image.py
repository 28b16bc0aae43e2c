"""Packs and admission policies as one image in a registry, mounted as volumes of the gate's pods on a real node."""

import json
import re

import pytest

from tests.e2e.crds import install_crds
from tests.e2e.gate import NAMESPACE
from tests.e2e.given import GivenCluster
from tests.e2e.registry import pushed
from tests.e2e.release import GATES, installed
from tests.files import written

pytestmark = pytest.mark.long
RULE = {"apiGroups": ["ome.io"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "owned"},
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "has(object.metadata.labels)"}],
    },
}


def test_packs_and_policies_of_one_image_are_mounted_by_its_digest(node, image, tmp_path):
    if isinstance(node, GivenCluster):
        pytest.skip("needs a registry in the network of the node")
    beside = written(tmp_path / "admission-policies", {"policy.yaml": json.dumps(POLICY)})
    _, name, digest = pushed(node, "gateway-inference", tmp_path, beside)
    install_crds(node.kubectl)
    values = {"volume": {"image": {"reference": name}}, "path": "packs", "kinds": [], "reads": []}
    flags = (f"--set-json=packs={json.dumps(values)}", "--set=policies.path=admission-policies")
    fleet = ("--set=fleet.stage=canary", f"--set=fleet.artefact={name.partition('@')[2]}")
    with installed(node, image, *flags, *fleet) as release:
        (pod, *_) = release.json("get", "pods", GATES)["items"]
        (container,) = [each for each in pod["spec"]["containers"] if each["name"] == "gate"]
        (port,) = [each["containerPort"] for each in container["ports"] if each["name"] == "health"]
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}:{port}/proxy"
        ready = release("get", "--raw", f"{path}/readyz")
        assert f"pack gateway-inference {digest}\n" in ready
        assert "admission policies " in ready
        assert re.search(rf"^fleet \w{{16}} canary {name.partition('@')[2]}$", ready, re.MULTILINE)
        assert f'packs="gateway-inference:{digest}"' in release("get", "--raw", f"{path}/metrics")
