"""What `modelgate export` prints, evaluated by the API server itself, against what the gate does."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.e2e.gate import PROFILE, modelgate
from tests.e2e.processes import wait_until
from tests.policies.test_cases import files, read
from tests.shared import SHARED
from webhook import catalog, documents
from webhook.policy.export import left_out
from webhook.request import GroupVersionKind

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
MODELS = f"/apis/{MODEL.group}/{MODEL.version}/namespaces/default/models"


class Creator:
    """Asks what creating an object would lead to: the stored spec, or the refusal."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self.connection = http.client.HTTPSConnection(urlsplit(cluster["server"]).netloc, context=context)
        self.headers = {
            "Authorization": f"Bearer {config['users'][0]['user']['token']}",
            "Content-Type": "application/json",
        }

    def create(self, spec: Any) -> tuple[int, Any]:
        api_version = f"{MODEL.group}/{MODEL.version}"
        obj = {"apiVersion": api_version, "kind": "Model", "metadata": {"name": "case"}, "spec": spec}
        self.connection.request("POST", f"{MODELS}?dryRun=All", json.dumps(obj), self.headers)
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        return response.status, answer["spec"] if response.status == 201 else answer["message"]


def specs() -> Iterator[tuple[str, Any]]:
    """Every specification that a case or a sample creates."""
    for file in files():
        for document in read(file):
            if document.target.kind == "Model":
                yield from ((case.name, case.spec) for case in document.cases if case.object is None)
    for file in sorted(SHARED.joinpath("samples", "llmkube").rglob("*.yaml")):
        yield from ((f"{file.name}:{each.line}", each.value.get("spec")) for each in documents.read(file))


@pytest.fixture
def creator(plane) -> Iterator[Creator]:
    found = Creator(plane.kubeconfig)
    with contextlib.closing(found.connection):
        yield found


def test_native_policies_decide_and_store_as_the_gate_does(plane, gate, creator):
    known = catalog.load().kinds[MODEL]
    ours = {name: creator.create(spec) for name, spec in specs()}

    exported = run_export("policies", "model", f"--profile={PROFILE}")
    with gate.absent():
        plane.kubectl.send_all("create", exported)
        try:
            wait_until(lambda: creator.create({"source": "pvc://x"})[0] == 422, "the policies to be in effect")
            native = {name: creator.create(spec) for name, spec in specs()}
        finally:
            for each in exported:
                plane.kubectl("delete", each["kind"], each["metadata"]["name"])
    gates_own = left_out(known.policy)
    different = {
        name: (ours[name], native[name])
        for name in ours
        if verdict(ours[name]) != verdict(native[name]) and not any(code in str(ours[name][1]) for code in gates_own)
    }
    assert different == {}
    assert len(ours) > 250
    assert sum(status == 201 for status, _ in native.values()) > 150


def verdict(answer: tuple[int, Any]) -> Any:
    """The stored spec, or that there is none."""
    status, content = answer
    return content if status == 201 else "refused"


def run_export(*arguments: str) -> list[dict[str, Any]]:

    done = subprocess.run(modelgate("export", *arguments), capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


def test_the_exported_crd_is_accepted_and_enforced(plane, gate, creator):
    (crd,) = run_export("crd", "model", "--profile=strict")
    (plain,) = run_export("crd", "model")
    with gate.absent():
        plane.kubectl.send("replace", crd)
        try:
            wait_until(lambda: "(LK205)" in str(creator.create({"source": "pvc://x"})[1]), "the rules to be in effect")
        finally:
            plane.kubectl.send("replace", plain)
