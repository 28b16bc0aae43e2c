"""A pack as an image in a registry, mounted as a volume of the gate's pods on a real node."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.crds import install_crds
from tests.e2e.gate import NAMESPACE
from tests.e2e.given import GivenCluster
from tests.e2e.machine import require_debian
from tests.e2e.programs import modelgate
from tests.e2e.release import GATES, installed
from tests.shared import ROOT

PORT = 5000
REGISTRY = f"127.0.0.1:{PORT}"  # in the network of the node; containerd speaks plain HTTP to this address
CONFIGURATION = """
version: 0.1
storage: {filesystem: {rootdirectory: %s}}
http: {addr: "%s"}
"""
PUSH = Path(__file__).with_name("push.py")


def answers(node) -> bool:
    try:
        node.run(sys.executable, "-c", f"import urllib.request as u; u.urlopen('http://{REGISTRY}/v2/')")
    except subprocess.CalledProcessError:
        return False
    return True


@pytest.fixture
def reference(node, tmp_path):
    """The pack `gateway-inference` in a registry, by its digest."""
    if isinstance(node, GivenCluster):
        pytest.skip("needs a registry in the network of the node")
    require_debian("/usr/bin/docker-registry")
    archive = tmp_path / "pack.tar"
    built = [*modelgate("pack", "build"), str(ROOT / "packs" / "gateway-inference"), "--output", str(archive)]
    told = subprocess.run(built, capture_output=True, text=True, check=True).stdout
    (tmp_path / "registry.yml").write_text(CONFIGURATION % (tmp_path / "registry", REGISTRY))
    node.processes.start("registry", "/usr/bin/docker-registry", "serve", str(tmp_path / "registry.yml"))
    node.processes.wait_until(lambda: answers(node), "the registry")
    node.run(sys.executable, PUSH, archive, f"http://{REGISTRY}", "packs/gateway-inference")
    (digest,) = re.findall(r"sha256:\w{64}", told)
    (pack,) = re.findall(r"pack gateway-inference (\w{16})", told)
    return f"{REGISTRY}/packs/gateway-inference@{digest}", pack


def test_a_pack_in_a_registry_is_mounted_by_its_digest(node, image, reference):
    name, digest = reference
    install_crds(node.kubectl)
    values = {"volume": {"image": {"reference": name}}, "kinds": [], "reads": []}
    with installed(node, image, f"--set-json=packs={json.dumps(values)}") as release:
        (pod, *_) = release.json("get", "pods", GATES)["items"]
        (container,) = [each for each in pod["spec"]["containers"] if each["name"] == "gate"]
        (port,) = [each["containerPort"] for each in container["ports"] if each["name"] == "health"]
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}:{port}/proxy"
        assert f"pack gateway-inference {digest}\n" in release("get", "--raw", f"{path}/readyz")
        assert f'packs="gateway-inference:{digest}"' in release("get", "--raw", f"{path}/metrics")
