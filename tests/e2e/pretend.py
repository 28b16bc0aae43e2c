"""The chart on a control plane without a node, with its programs as processes of this machine in the place of pods.

Pods are bound to no node. What a kubelet would write of them is written here, with the address of this machine, so that
the API server asks the processes where it asks pods. Kubernetes gives no endpoints to pods without a node: the Service
has one that is made here.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.e2e.client import connected
from tests.e2e.gate import CHART, CHECKOUT, NAME, NAMESPACE, STAMP, dry_run
from tests.e2e.machine import Unavailable
from tests.e2e.models import model
from tests.e2e.plane import Plane
from tests.e2e.processes import Process, free_port, wait_until
from tests.e2e.programs import modelgate
from tests.e2e.test_restore import sidecar

ROUTED = ("--enable-aggregator-routing=true",)
"""Flags of an API server that calls the pods behind a Service, and not its ClusterIP, to which no node leads."""
SERVED = {"port": "gate.port", "health-port": "gate.healthPort"}
"""Flags of the gate, and the values that say where it serves."""
BROKEN = "example.com/broken:1"
"""An image that cannot be pulled."""
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
MERGE = {"Content-Type": "application/merge-patch+json"}
LOOKS = 0.2
"""Seconds between two looks at the pods."""


def own_address() -> str:
    """An address of this machine that is not of loopback, which pods may not have. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError as error:
            raise Unavailable("an address that is not of loopback") from error
        return str(probe.getsockname()[0])


@contextmanager
def released(plane: Plane, folder: Path) -> Iterator[None]:
    """The chart, installed in a plane with the flags ROUTED; all its pods are ready."""
    ports = {"gate.port": free_port(), "gate.healthPort": free_port(), "reconciler.healthPort": free_port()}
    sets = [f"--set={name}={port}" for name, port in ports.items()]
    plane.helm("install", NAME, CHART, f"--namespace={NAMESPACE}", "--create-namespace", *sets)
    plane.kubectl.send("create", endpoint(ports["gate.port"]))
    kubelet = Kubelet(plane)
    with sidecar(plane, folder), kubelet.running():
        flags = [f"--host={own_address()}", *(f"--{key}={ports[name]}" for key, name in SERVED.items())]
        command = modelgate("serve", *flags, "--drain-seconds=0", f"--tls-dir={folder / 'tls'}")
        process = Process("gate", command, folder / "gate.log", {"PYTHONPATH": str(CHECKOUT)})
        try:
            wait_until(lambda: _is_called(plane), "the API server to call the gate", 60, [process])
            yield
        finally:
            process.stop()


def endpoint(port: int) -> dict[str, Any]:
    """What leads from the Service to a port of this machine."""
    labels = {"kubernetes.io/service-name": NAME, "endpointslice.kubernetes.io/managed-by": "tests"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{NAME}-tests", "namespace": NAMESPACE, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [own_address()], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }


def _is_called(plane: Plane) -> bool:
    return STAMP in dry_run(plane.kubectl, model("probe")).out


class Kubelet:
    """Writes the status of pods, once for each: ready, or, with the image BROKEN, not."""

    def __init__(self, plane: Plane) -> None:
        self._kubeconfig = plane.kubeconfig
        self._address = own_address()
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            # The API server may answer with a conflict, or not at all at the end of a test: look again.
            with suppress(OSError, HTTPException), connected(self._kubeconfig) as client:
                while not self._stop.wait(LOOKS):
                    for pod in client.ask("GET", PODS, None).body.get("items", []):
                        if not _is_told(pod):
                            name = pod["metadata"]["name"]
                            client.ask("PATCH", f"{PODS}/{name}/status", {"status": self._status(pod)}, MERGE)

    def _status(self, pod: dict[str, Any]) -> dict[str, Any]:
        broken = [each["name"] for each in pod["spec"]["containers"] if each["image"] == BROKEN]
        waiting = {"waiting": {"reason": "ErrImagePull", "message": "not found"}}
        return {
            "phase": "Pending" if broken else "Running",
            "podIP": self._address,
            "podIPs": [{"ip": self._address}],
            "conditions": [{"type": "Ready", "status": "False" if broken else "True"}],
            "containerStatuses": [
                {"name": name, "image": BROKEN, "imageID": "", "ready": False, "restartCount": 0, "state": waiting}
                for name in broken
            ],
        }


def _is_told(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(condition["type"] == "Ready" for condition in conditions)


def is_settled(plane: Plane) -> bool:
    """Whether each Deployment has the pods that it wants, and no other."""
    with connected(plane.kubeconfig) as client:
        return all(_is_complete(each) for each in client.ask("GET", DEPLOYMENTS, None).body["items"])


def _is_complete(deployment: dict[str, Any]) -> bool:
    status, wanted = deployment.get("status", {}), deployment["spec"]["replicas"]
    observed = status.get("observedGeneration") == deployment["metadata"]["generation"]
    return observed and all(status.get(key, 0) == wanted for key in ("replicas", "updatedReplicas", "readyReplicas"))
