"""AIM's services on a real API server, with KServe's and Gateway API's definitions: children, absent APIs, the end.

No pod runs here, so the test writes what the discovery and KServe would say.
"""

from __future__ import annotations

import functools

import pytest

from tests.e2e.kinds import KINDS
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import Reconciler, condition
from tests.shared import shared

SERVICE, TEMPLATE, IMAGE = (
    next(row for row in KINDS if row.kind == kind) for kind in ("AIMService", "AIMServiceTemplate", "AIMImage")
)
SETS = ("reconciler.apis.aim=true", "reconciler.namespaces={*}")
RESULT = {
    "status": "Available",
    "modelSources": [{"name": "a/b", "sourceUri": "hf://a/b", "size": "1"}],
    "profile": {"metadata": {"gpu": "MI300X", "gpu_count": 1}},
}


@pytest.fixture(scope="module")
def kserve(plane):
    """Install KServe's definitions when called, and remove them at the end. Other tests may have left them."""
    files = [str(each) for each in sorted(shared("neighbour-crds").glob("serving.kserve.io_*.yaml"))]
    routes = str(shared("neighbour-crds") / "gateway.networking.k8s.io_httproutes.yaml")
    plane.kubectl("apply", "--server-side", "-f", routes)
    flags = [flag for file in files for flag in ("-f", file)]
    plane.kubectl("delete", *flags, "--ignore-not-found")

    def install():
        plane.kubectl("apply", "--server-side", *flags)
        for name in ("inferenceservices", "servingruntimes", "clusterservingruntimes"):
            served = functools.partial(plane.kubectl.run, "get", f"{name}.serving.kserve.io")
            wait_until(lambda served=served: served().code == 0, f"{name} to be served")

    yield install
    for file in (*files, routes):
        plane.kubectl("delete", "-f", file, "--ignore-not-found", "--wait=false")


@pytest.fixture(scope="module")
def reconciler(plane, gate, kserve):  # noqa: ARG001  (behind the gate, after the definition of routes)
    with Reconciler(plane, "--profile=strict", "--apis=aim", sets=SETS, name="services") as started:
        yield started


def status_of(kubectl, row, name, status):
    def there():
        obj = kubectl.find(row.resource, name)
        return obj if (obj or {}).get("status", {}).get("status") == status else None

    return wait_until(there, f"{row.kind} {name} to be {status}", seconds=60)


def write_status(kubectl, resource, name, status):
    """As the reconciler itself would: of another manager, it would stand back."""
    kubectl.patch(resource, name, {"status": status}, "--subresource=status", "--field-manager=modelgate")


@pytest.mark.usefixtures("reconciler")
def test_a_service_gets_what_can_be_made_the_rest_when_it_appears_and_takes_all_of_it_along(kubectl, kserve):
    kubectl.send("create", IMAGE.object("image"))
    kubectl.send("create", TEMPLATE.object("template", {"aimImageName": "image"}))
    routing = {"enabled": True, "gatewayRef": {"name": "g"}, "routeTemplate": "/{.metadata.name}"}
    wanted = {"aimImageName": "image", "templateRef": "template", "routing": routing}
    kubectl.send("create", SERVICE.object("service", wanted))
    status_of(kubectl, TEMPLATE, "template", "Progressing")
    (job,) = kubectl.json("get", "jobs")["items"]
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == ["dry-run", "--format=json"]
    write_status(kubectl, TEMPLATE.resource, "template", RESULT)
    degraded = status_of(kubectl, SERVICE, "service", "Degraded")
    assert condition(degraded, "RuntimeReady")["reason"] == "DependencyMissing"
    assert kubectl.find("httproute", "service")["metadata"]["ownerReferences"][0]["kind"] == "AIMService"
    kserve()
    find = functools.partial(kubectl.find, "inferenceservices.serving.kserve.io", "service")
    runs = wait_until(find, "the InferenceService")
    assert runs["spec"]["predictor"]["model"]["runtime"] == "template"
    find = functools.partial(kubectl.find, "servingruntimes.serving.kserve.io", "template")
    wait_until(find, "the ServingRuntime")
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    kubectl.patch("inferenceservices.serving.kserve.io", "service", ready, "--subresource=status")
    parents = [
        {
            "parentRef": {"name": "g"},
            "controllerName": "e2e.example/gateway",
            "conditions": [
                {
                    "type": "Accepted",
                    "status": "True",
                    "reason": "Accepted",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
        }
    ]
    kubectl.patch("httproute", "service", {"status": {"parents": parents}}, "--subresource=status")
    running = status_of(kubectl, SERVICE, "service", "Running")
    assert running["status"]["routing"] == {"path": "/service"}
    kubectl("delete", SERVICE.resource, "service")
    kubectl("delete", TEMPLATE.resource, "template")
    for each in ("inferenceservices.serving.kserve.io", "httproutes", "servingruntimes.serving.kserve.io", "jobs"):
        wait_until(lambda each=each: not kubectl.json("get", each)["items"], f"{each} to go with their owners")


def test_the_chart_gave_every_right_that_was_needed_and_nothing_went_wrong(reconciler):
    assert not reconciler.forbidden()
    assert "Traceback" not in reconciler.log()
