"""Another release's definition, installed and replaced under a running gate: what it accepts is not refused."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from tests.definitions import POLICIES, definition
from tests.e2e.gate import STAMP
from tests.e2e.processes import wait_until

pytestmark = pytest.mark.usefixtures("seeing")

OURS = POLICIES / "aim" / "crds" / "aimservices.json"
MODELS = POLICIES / "llmkube" / "crds" / "models.yaml"
TEXT = {"type": "string"}
LATER = {"model": {"ref": "llama"}, "routing": {"enabled": True, "pathTemplate": "/{.metadata.name"}}


def service(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": "AIMService", "metadata": {"name": "later"}, "spec": spec}


def later() -> dict[str, Any]:
    """Our definition with the names of the next release."""
    changed = deepcopy(definition(OURS))
    spec = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["aimImageName"], spec["properties"]["runtimeConfigName"]
    spec["properties"]["model"] = {"type": "object", "properties": {"ref": TEXT}}
    routing = spec["properties"]["routing"]["properties"]
    routing["pathTemplate"] = routing.pop("routeTemplate")
    spec["required"] = ["model"]
    return changed


def without_replicas() -> dict[str, Any]:
    changed = later()
    del changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["replicas"]
    return changed


def with_s3() -> dict[str, Any]:
    """Our definition of a Model, which also reads from S3 and fetches early."""
    changed = deepcopy(definition(MODELS))
    properties = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["source"]["pattern"] = "^.*$"
    properties["prefetch"] = {"type": "boolean"}
    return changed


@pytest.fixture
def restored(plane):
    yield
    for each in (OURS, MODELS):
        plane.kubectl.send("apply", definition(each), "--server-side", "--force-conflicts")


@pytest.mark.usefixtures("restored")
def test_a_definition_of_another_release_is_judged_by_while_the_gate_runs(plane, kubectl, seeing):
    assert "differs" not in seeing.readiness()
    install(plane, seeing, later(), "spec.routing.pathTemplate")
    created = kubectl.send("create", service(LATER))
    assert created["spec"]["model"] == {"ref": "llama"}
    assert created["spec"]["replicas"] == 1
    assert "runtimeConfigName" not in created["spec"]
    assert STAMP in created["metadata"]["annotations"]
    kubectl("delete", "aimservice", "later")
    dry = ("create", "-f", "-", "--dry-run=server")
    assert "-1 is less than 0" in kubectl.run(*dry, stdin=json.dumps(service(LATER | {"replicas": -1}))).err

    install(plane, seeing, without_replicas(), "spec.replicas")
    created = kubectl.send("create", service(LATER))
    assert "replicas" not in created["spec"]
    kubectl("delete", "aimservice", "later")

    plane.kubectl.send("apply", definition(OURS), "--server-side", "--force-conflicts")
    wait_until(lambda: "differs" not in seeing.readiness(), "the gate to see its own definition again")


def install(plane, gate, document: dict[str, Any], said: str) -> None:
    plane.kubectl.send("apply", document, "--server-side", "--force-conflicts")
    wait_until(lambda: said in gate.readiness(), f"the gate to say {said}")


@pytest.mark.usefixtures("restored")
def test_the_values_of_each_object_decide_which_rules_apply(plane, kubectl, seeing):
    install(plane, seeing, with_s3(), "spec.prefetch")
    assert "rules not applied" not in seeing.readiness()
    head = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": {"name": "wide"}}
    for source, told in (("s3://bucket/model.gguf", False), ("pvc://claim", True)):
        model = {**head, "spec": {"source": source, "prefetch": True}}
        done = kubectl.run("create", "-f", "-", "--dry-run=server", stdin=json.dumps(model))
        assert "created" in done.out
        assert ("LK205" in done.err) is told
        assert "LK201" not in done.err
