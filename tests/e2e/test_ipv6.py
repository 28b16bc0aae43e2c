"""A cluster of IPv6 alone: gate, health port and reconciler serve in a network namespace without an IPv4 address, and
a real API server on ``::1`` calls the gate.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from tests.e2e.crds import install_crds
from tests.e2e.gate import CHECKOUT, NAME, NAMESPACE, dry_run, external_name, rendered, with_clients
from tests.e2e.models import bad_model, model
from tests.e2e.plane import Place, Plane
from tests.e2e.processes import Process, wait_until
from tests.e2e.programs import modelgate

GATE, HEALTH, RECONCILER = 20443, 20440, 20441
HOST = "gate.example"
"""What the Service stands for; in the namespace a name of ``::1``."""


@pytest.fixture(scope="module")
def plane(plane_assets, tmp_path_factory):
    """A control plane in a namespace whose loopback has the address of IPv6 only."""
    tools = [each for each in ("unshare", "ip", "nsenter") if not shutil.which(each)]
    if tools or os.geteuid() != 0:
        pytest.skip(f"needs root and {', '.join(tools) or 'nothing more'}")
    folder = tmp_path_factory.mktemp("ipv6")
    hosts = folder / "hosts"
    hosts.write_text(f"::1 localhost {HOST}\n")
    setup = f"ip link set lo up && ip -4 addr flush dev lo && mount --bind {hosts} /etc/hosts && exec sleep infinity"
    process = Process("namespace", ["unshare", "--net", "--mount", "sh", "-c", setup], folder / "namespace.log")
    enter = ("nsenter", f"--target={process.pid}", "--net", "--mount", f"--wd={CHECKOUT}")
    try:
        wait_until(
            lambda: _run(enter, "ip", "-4", "addr", "show") == "" and HOST in _run(enter, "cat", "/etc/hosts"), "it"
        )
        ports = iter(range(21000, 22000))
        place = Place(address="::1", services="fd00:10::/112", enter=enter, port=lambda: next(ports))
        with Plane(plane_assets, place=place) as started:
            install_crds(started.kubectl)
            yield started
    finally:
        process.stop()


def _run(enter, *command):
    return subprocess.run([*enter, *command], capture_output=True, text=True, check=False).stdout


@pytest.fixture(scope="module")
def processes(plane):
    """The gate and the reconciler as in a pod: without a word about where they listen."""
    enter, folder = plane.processes.enter, plane.folder
    pod = {"KUBECONFIG": str(plane.kubeconfig), "KUBERNETES_SERVICE_HOST": "::1", "PYTHONPATH": str(CHECKOUT)}
    outside = {key: value for key, value in pod.items() if key != "KUBERNETES_SERVICE_HOST"}
    plane.kubectl("create", "namespace", NAMESPACE)
    plane.kubectl.send("create", external_name(HOST))
    issue = ["certs", "issue", f"--tls-dir={folder / 'tls'}", f"--service={NAMESPACE}/{NAME}"]
    subprocess.run([*enter, *modelgate(*issue)], env=os.environ | outside, check=True)
    serve = [f"--port={GATE}", f"--health-port={HEALTH}", f"--tls-dir={folder / 'tls'}", "--profile=strict"]
    live = ["--view=live", f"--view-kubeconfig={plane.kubeconfig}", "--drain-seconds=0"]
    started = [
        Process("gate", [*enter, *modelgate("serve", *serve, *live)], folder / "gate.log", pod),
        Process(
            "reconciler",
            [
                *enter,
                *modelgate(
                    "reconcile",
                    f"--kubeconfig={plane.kubeconfig}",
                    f"--namespace={NAMESPACE}",
                    f"--health-port={RECONCILER}",
                ),
            ],
            folder / "reconciler.log",
            pod,
        ),
    ]
    yield started
    for each in started:
        each.stop()


def answer(plane, port, path):
    """What is served at a port of ``::1``."""
    text = f"import urllib.request as u; print(u.urlopen('http://[::1]:{port}{path}', timeout=5).read().decode())"
    return _run(plane.processes.enter, "python3", "-c", text)


def test_every_process_is_ready_and_the_api_server_calls_the_gate(plane, processes):
    assert "127.0.0.1" not in json.loads(plane.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    wait_until(lambda: answer(plane, HEALTH, "/readyz").startswith("ok"), "the gate", 60, processes)
    wait_until(lambda: "leading" in answer(plane, RECONCILER, "/readyz"), "the reconciler", 60, processes)
    guard = [each for each in rendered(plane) if each["kind"].endswith("WebhookConfiguration")]
    own = [each for each in guard if each["metadata"]["name"] == NAME]
    plane.kubectl.send_all("create", [with_clients(each, {"service": {"port": GATE}}) for each in own])
    publish = [f"--publish={kind}/{NAME}" for kind in ("mutating", "validating")]
    issue = modelgate("certs", "issue", f"--tls-dir={plane.folder / 'tls'}", f"--service={NAMESPACE}/{NAME}", *publish)
    environment = os.environ | {"KUBECONFIG": str(plane.kubeconfig), "PYTHONPATH": str(CHECKOUT)}
    subprocess.run([*plane.processes.enter, *issue], env=environment, check=True)
    wait_until(lambda: "modelgate.dev/normalised" in dry_run(plane.kubectl, model("probe")).out, "a stamp")
    wait_until(lambda: "spec.hardware.memoryFraction" in dry_run(plane.kubectl, bad_model("probe")).err, "a refusal")
