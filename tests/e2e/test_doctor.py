"""What is wrong in a cluster is named with its cause, and the commands that `modelgate doctor` prints end it.

No pod runs here, so the findings about pods are those of the release as it is.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess

import pytest

from tests.e2e.crds import install_crds
from tests.e2e.gate import CHART, CHECKOUT, NAME, NAMESPACE
from tests.e2e.plane import Plane
from tests.e2e.programs import modelgate
from tests.e2e.test_restore import CHANGES, GUARD, TEMPLATE, changed, sidecar

SPACE = f"--namespace={NAMESPACE}"
DEPLOYMENT = ("deployment", NAME, SPACE)
CONTAINER = "/spec/template/spec/containers/0"
FOREIGN = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "foreign"},
    "webhooks": [
        {
            "name": "pods.example.com",
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "nothing", "namespace": "default"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        }
    ],
}


@pytest.fixture(scope="module")
def cluster(plane_assets, tmp_path_factory):
    with Plane(plane_assets) as plane:
        install_crds(plane.kubectl)
        plane.helm("install", NAME, CHART, SPACE, "--create-namespace")
        plane.search_path = plane_assets.search_path()
        with sidecar(plane, tmp_path_factory.mktemp("sidecar")):
            yield plane


def doctor(plane):
    """The findings: check, object, text and command."""
    environment = os.environ | {"KUBECONFIG": str(plane.kubeconfig), "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        modelgate("doctor", "--output=json"), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stderr
    return [(each["check"], each["about"], each["what"], each["run"]) for each in json.loads(done.stdout)["findings"]]


def obey(plane, found):
    """Run the commands of some findings, as a shell does."""
    environment = os.environ | {"KUBECONFIG": str(plane.kubeconfig), "PATH": plane.search_path}
    for command in (each[3] for each in found if each[3]):
        done = subprocess.run(
            ["sh", "-c", command.replace(" CHART ", f" {CHART} ")],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)


def patch(plane, target, *operations):
    plane.kubectl("patch", *target, "--type=json", f"--patch={json.dumps(operations)}")


def add(path, value):
    return {"op": "add", "path": path, "value": value}


def test_causes_are_named_and_their_commands_end_them(cluster):
    before = doctor(cluster)
    assert not [each for each in before if each[3]], before
    changed(cluster, GUARD[1], CHANGES["a URL instead of the Service"])
    changed(cluster, GUARD[0], CHANGES["what the chart does not set"] + CHANGES["a second webhook"])
    changed(cluster, f"{GUARD[1]}-policies", [{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 1}])
    cluster.kubectl("rollout", "pause", f"deployment/{NAME}", SPACE)
    patch(cluster, DEPLOYMENT, add(f"{CONTAINER}/args/-", "--prfile=audit"))
    limits = {"limits": {"memory": "64Mi"}, "requests": {"memory": "32Mi"}}
    patch(cluster, DEPLOYMENT, add(f"{CONTAINER}/resources", limits))
    patch(cluster, DEPLOYMENT, add("/spec/template/spec/securityContext/runAsNonRoot", False))
    patch(cluster, ("poddisruptionbudget", NAME, SPACE), add("/spec/maxUnavailable", 0))
    selector = "--selector=app.kubernetes.io/component=gate"
    cluster.kubectl("create", "poddisruptionbudget", "mine", SPACE, selector, "--min-available=2")
    cluster.kubectl.send("create", FOREIGN)
    found = [each for each in doctor(cluster) if each not in before]
    changes = [each for each in found if each[0] == "configuration-changed"]
    assert [each[0] for each in found[: len(changes)]] == ["configuration-changed"] * 3, found
    assert {each[1].partition(" ")[2] for each in changes} == {NAME, f"{NAME}-policies"}
    assert all("changed by kubectl-patch" in each[2] for each in changes)
    expected = {"configuration-changed", "rollout-paused", "flag-unknown", "memory-low", "runs-as-root"}
    assert {each[0] for each in found} >= expected | {"budget-blocks", "pods-refused"}, found
    assert not {each[0] for each in found} & {"second-gate", "left-over", "configuration-missing", "kind-not-guarded"}
    obey(cluster, found)
    after = [each for each in doctor(cluster) if each not in before]
    assert not [each for each in after if each[0] in {each[0] for each in found if each[3]}], after


def test_an_interrupted_upgrade_and_half_of_break_glass_end_by_the_commands(cluster):
    before = doctor(cluster)
    interrupt(cluster)
    assert "another operation" in cluster.helm.run("upgrade", NAME, CHART, SPACE, "--reset-then-reuse-values").err
    cluster.kubectl("delete", *TEMPLATE)
    found = [each for each in doctor(cluster) if each not in before]
    assert [each[0] for each in found] == ["release-pending", "template-missing"]
    obey(cluster, found)
    assert [each for each in doctor(cluster) if each not in before] == []


def interrupt(plane):
    """Leave what a `helm upgrade` leaves that is killed: a further revision, which is pending."""
    records = plane.kubectl.json("get", "secrets", SPACE, "--selector=owner=helm")["items"]
    last = max(records, key=lambda each: int(each["metadata"]["labels"]["version"]))
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(last["data"]["release"]))))
    version = release["version"] = release["version"] + 1
    release["info"]["status"] = "pending-upgrade"
    labels = {**last["metadata"]["labels"], "version": str(version), "status": "pending-upgrade"}
    name = f"sh.helm.release.v1.{NAME}.v{version}"
    text = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    secret = {key: last[key] for key in ("apiVersion", "kind", "type")}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    plane.kubectl.send("create", {**secret, "metadata": metadata, "data": {"release": text}})
