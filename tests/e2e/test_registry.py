"""The commands of docs/from-clone.md, as far as a registry on this machine and a cluster without nodes allow."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.e2e.gate import CHECKOUT, NAME, NAMESPACE
from tests.e2e.image import buildah, storage_driver
from tests.e2e.machine import require_debian
from tests.e2e.plane import Plane
from tests.e2e.processes import Process, free_port, wait_until
from tests.shared import ROOT

PAGE = (CHECKOUT / "docs" / "from-clone.md").read_text()
CONFIGURATION = """
version: 0.1
storage: {filesystem: {rootdirectory: %s}}
http: {addr: "127.0.0.1:%d"}
"""


@pytest.fixture
def registry(tmp_path):
    """An empty registry, over plain HTTP."""
    require_debian("/usr/bin/docker-registry")
    port = free_port()
    (tmp_path / "registry.yml").write_text(CONFIGURATION % (tmp_path / "registry", port))
    process = Process(
        "registry", ["docker-registry", "serve", str(tmp_path / "registry.yml")], tmp_path / "registry.log"
    )
    trusted = f'[[registry]]\nlocation = "127.0.0.1:{port}"\ninsecure = true\n'
    (tmp_path / "registries.conf").write_text(trusted)
    try:
        wait_until(lambda: "listening on" in process.tail(), "the registry", watching=[process])
        yield f"127.0.0.1:{port}/team"
    finally:
        process.stop()


def test_an_image_in_a_registry_is_installed_by_its_digest(image, registry, plane_assets, tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(tmp_path / "registries.conf"))
    (commands,) = re.findall(r"```sh registry\n(.*?)```", PAGE, re.DOTALL)
    commands = (
        commands.replace("localhost/modelgate:VERSION", image)
        .replace("VERSION", "1")
        .replace(" chart/ ", f" {ROOT}/chart ")
    )
    commands = commands.replace("buildah push", f"buildah --storage-driver={storage_driver()} push")
    with Plane(plane_assets) as plane:
        programs = f"{plane_assets('helm').parent}:{os.environ['PATH']}"
        environment = {"KUBECONFIG": str(plane.kubeconfig), "REGISTRY": registry, "PATH": programs}
        subprocess.run(["sh", "-euc", commands], env=os.environ | environment, cwd=tmp_path, check=True)
        found = plane.kubectl.json("get", "deployments", f"--namespace={NAMESPACE}")["items"]
    digest = (tmp_path / "digest").read_text()
    named = {one["image"] for each in found for one in each["spec"]["template"]["spec"]["containers"]}
    assert named == {f"{registry}/{NAME}@{digest}"}
    pulled = buildah("pull", "--quiet", f"docker://{named.pop()}")
    assert pulled.removeprefix("sha256:") == buildah("images", "--quiet", "--no-trunc", image).removeprefix("sha256:")
