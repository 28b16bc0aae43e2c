"""A folder of APIs as the kubelet mounts it, in a gate with the rights of the chart: rules read another object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_references import ALIKE, definition, pack_at
from tests.e2e.gate import NAME, STAMP, Gate, rendered, with_clients
from tests.e2e.kubectl import Kubectl
from tests.e2e.plane import Plane
from tests.e2e.processes import wait_until
from tests.e2e.seeing import as_the_chart_lets_it

GROUP = "acme.example.com"
READS = [{"group": GROUP, "resources": ["queues"]}, {"group": GROUP, "resources": ["widgets"], "list": True}]
VALUES = (
    f'--set-json=packs.kinds=[{{"group":"{GROUP}","versions":["v1"],"resources":["widgets"]}}]',
    f"--set-json=packs.reads={json.dumps(READS)}",
)
KINDS = (
    definition("Widget", size="integer", queue="string"),
    definition("Queue", most="integer", colours="array", open="boolean"),
)


def an_object(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """The folder, with the links by which the kubelet replaces all files at once."""
    folder = tmp_path / "packs"
    (pack_at(folder / "..2026_11_27") / "alike.yaml").write_text(ALIKE)
    (folder / "..data").symlink_to("..2026_11_27")
    (folder / "acme").symlink_to("..data/acme")
    return folder


@pytest.fixture
def adding(plane: Plane, gate: Gate, mounted: Path) -> Iterator[Gate]:
    """The gate with this folder, as the chart installs it."""
    plane.kubectl.send_all("create", KINDS)
    for each in KINDS:
        plane.kubectl("wait", "--for=condition=Established", f"crd/{each['metadata']['name']}")
    file = as_the_chart_lets_it(plane, *VALUES)
    usual = gate.by_service()
    port = usual[0]["webhooks"][0]["clientConfig"]["service"]["port"]
    configurations = [
        with_clients(each, {"service": {"port": port}})
        for each in rendered(plane, *VALUES)
        if each["kind"].endswith("WebhookConfiguration") and each["metadata"]["name"] == NAME
    ]
    gate.uninstall()
    gate.stop()
    gate.start("--view=live", f"--view-kubeconfig={file}", f"--policies={mounted}")
    gate.install(configurations)
    try:
        yield gate
    finally:
        gate.uninstall()
        gate.stop()
        gate.start()
        gate.install(usual)
        for each in KINDS:
            plane.kubectl("delete", "crd", each["metadata"]["name"])


@pytest.mark.usefixtures("adding")
def test_its_rules_and_defaults_read_the_object_that_a_field_names(kubectl: Kubectl) -> None:
    refusal = kubectl.refusal("create", an_object("Widget", "early", queue="fast"))
    assert "spec.queue: " in refusal
    assert 'there is no Queue "fast" in the namespace' in refusal
    assert "AC401" in refusal
    kubectl.send("create", an_object("Queue", "fast", most=5))
    wait_until(lambda: created(kubectl), "the gate to forget that there was no Queue")
    (made,) = kubectl.json("get", "widgets")["items"]
    assert made["spec"] == {"queue": "fast", "size": 5}
    assert STAMP in made["metadata"]["annotations"]
    refusal = kubectl.refusal("create", an_object("Widget", "large", queue="fast", size=6))
    assert "spec.size: " in refusal
    assert "the queue takes 5 at most; use less" in refusal


@pytest.mark.usefixtures("adding")
def test_its_rules_find_others_that_have_the_same_in_a_field(kubectl: Kubectl) -> None:
    kubectl.send("create", an_object("Queue", "slow", most=5))
    kubectl.send("create", an_object("Widget", "first", queue="slow", size=2))
    second = json.dumps(an_object("Widget", "second", queue="slow"))

    def refused() -> bool:
        done = kubectl.run("create", "--dry-run=server", "-f", "-", stdin=second)
        return "first have slow, 2" in done.err

    wait_until(refused, "the gate to list the widgets again")
    kubectl.send("apply", an_object("Widget", "first", queue="slow", size=3))  # it does not find itself


def created(kubectl: Kubectl) -> bool:
    """An answer of the API server is remembered for a second."""
    return kubectl.run("create", "-f", "-", stdin=json.dumps(an_object("Widget", "usual", queue="fast"))).code == 0
