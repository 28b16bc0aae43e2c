"""The gate as a process of this machine, called by a control plane that runs beside it.

The webhook configurations are the chart's own. A ClusterIP leads nowhere without kube-proxy, but the API server
resolves a Service of type ExternalName itself, and still verifies the certificate against the Service's name: only the
Service is swapped, and the port in the configurations.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from ssl import create_default_context
from typing import Self

import yaml

from tests.e2e.kubectl import Answer, Kubectl, Object
from tests.e2e.models import bad_model, model
from tests.e2e.plane import Plane
from tests.e2e.processes import Failed, Process, free_port, wait_until
from tests.e2e.programs import modelgate

CHECKOUT = Path(__file__).parents[2]
CHART = CHECKOUT / "chart"
NAMESPACE = "modelgate-system"
NAME = "modelgate"  # of the Service, and of both webhook configurations
STAMP = "modelgate.dev/normalised"
# The one in which our own rules refuse a Model. What its CRD refuses, the API server says before it asks the gate.
PROFILE = "strict"


class Gate:
    """``modelgate serve`` with a CA of its own, installed in a plane; a context manager."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._tls = plane.folder / "tls"
        self._log = plane.folder / "modelgate.log"  # beside those of the plane: kept with them
        self._port = free_port()
        self._configurations = [
            each
            for each in rendered(plane)
            if each["kind"].endswith("WebhookConfiguration") and each["metadata"]["name"] == NAME
        ]
        self._process: Process | None = None

    def __enter__(self) -> Self:
        self._plane.kubectl("create", "namespace", NAMESPACE)
        self._plane.kubectl.send("create", external_name("localhost"))
        try:
            self.start()
            self.install(self.by_service())
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()
        self.stop()

    def start(self, *more: str) -> None:
        """Serve until ``stop``, with these flags, too; returns when the gate says that it is ready."""
        self._certificate()
        flags = [f"--port={self._port}", f"--tls-dir={self._tls}", f"--profile={PROFILE}", "--drain-seconds=0", *more]
        self._process = Process("modelgate", modelgate("serve", *flags), self._log, self._environment())
        wait_until(self._ready, "the gate to be ready", watching=[self._process])

    def stop(self) -> None:
        if self._process:
            self._process.stop()

    def log(self) -> str:
        return self._log.read_text()

    def by_service(self) -> list[Object]:
        """The chart's configurations, called by Service."""
        return [with_clients(each, {"service": {"port": self._port}}) for each in self._configurations]

    def by_url(self) -> list[Object]:
        """The chart's configurations, called by URL."""
        url = f"https://localhost:{self._port}"
        return [with_clients(each, {"url": url}) for each in self._configurations]

    def install(self, configurations: list[Object]) -> None:
        """Make the API server call the gate, and wait until it does."""
        self._plane.kubectl.send_all("create", configurations)
        self._certificate(f"--publish=mutating/{NAME}", f"--publish=validating/{NAME}")
        wait_until(lambda: in_effect(self._plane.kubectl), "the API server to call the gate")

    def uninstall(self) -> None:
        """Make the API server forget the gate, and wait until it has."""
        for kind in ("mutating", "validating"):
            self._plane.kubectl("delete", f"{kind}webhookconfiguration", NAME, "--ignore-not-found")
        wait_until(lambda: out_of_effect(self._plane.kubectl), "the API server to forget the gate")

    @contextmanager
    def absent(self) -> Iterator[None]:
        """The time before the gate was installed."""
        self.uninstall()
        try:
            yield
        finally:
            self.install(self.by_service())

    def metrics(self) -> dict[str, float]:
        """The samples of the metrics."""
        lines = (line.rpartition(" ") for line in self._get("/metrics").splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in lines}

    def _certificate(self, *publish: str) -> None:
        names = [f"--service={NAMESPACE}/{NAME}", "--dns=localhost"]
        command = modelgate("certs", "issue", f"--tls-dir={self._tls}", *names, *publish)
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"{' '.join(command)}\n{done.stderr}")

    def readiness(self) -> str:
        """What the gate says in /readyz; empty if it is not ready."""
        try:
            return self._get("/readyz")
        except urllib.error.URLError:
            return ""

    def _ready(self) -> bool:
        return bool(self.readiness())

    def _get(self, path: str) -> str:
        trust = create_default_context(cafile=str(self._tls / "ca.crt"))
        with urllib.request.urlopen(f"https://localhost:{self._port}{path}", context=trust, timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    def _environment(self) -> dict[str, str]:
        return os.environ | {"KUBECONFIG": str(self._plane.kubeconfig), "PYTHONPATH": str(CHECKOUT)}


def rendered(plane: Plane, *flags: str) -> list[Object]:
    """The objects of our chart."""
    text = plane.helm("template", NAME, CHART, f"--namespace={NAMESPACE}", *flags)
    return [each for each in yaml.safe_load_all(text) if each]


def with_clients(configuration: Object, change: Object) -> Object:
    """A webhook configuration in which every webhook is called at another port, or by URL."""
    changed = deepcopy(configuration)
    for webhook in changed["webhooks"]:
        client = webhook["clientConfig"]
        if "url" in change:
            webhook["clientConfig"] = {"url": change["url"] + client["service"]["path"]}
        else:
            client["service"].update(change["service"])
    return changed


def in_effect(kubectl: Kubectl) -> bool:
    """Whether both webhooks are called: a good Model comes back stamped, a bad one is refused."""
    refusal = dry_run(kubectl, bad_model("probe")).err
    return STAMP in dry_run(kubectl, model("probe")).out and "spec.hardware.memoryFraction: " in refusal


def out_of_effect(kubectl: Kubectl) -> bool:
    """Whether neither is."""
    bad = dry_run(kubectl, bad_model("probe"))
    return bad.code == 0 and STAMP not in bad.out


def dry_run(kubectl: Kubectl, obj: Object) -> Answer:
    return kubectl.run("create", "-f", "-", "--dry-run=server", "-o=json", stdin=json.dumps(obj))


def external_name(host: str) -> Object:
    """A Service that the API server resolves to a host."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": host},
    }
