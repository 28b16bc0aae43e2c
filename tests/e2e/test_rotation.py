"""CAs and leaves change under load: each admission call is a handshake, and not one of them may fail."""

from __future__ import annotations

import base64
import json
import os
import signal
import threading
from collections import deque
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import Encoding

from certs.authority import Authority
from certs.issue import Leaf
from certs.lifetimes import Lifetimes
from tests.e2e.client import connected
from tests.e2e.gate import external_name, with_clients
from tests.e2e.handshakes import Callers, Webhook
from tests.e2e.processes import Process, wait_until
from tests.e2e.programs import modelgate
from tests.e2e.test_certs import kubeconfig_of
from tests.e2e.widgets import CHART, GROUP, GUARDED, definition, widget
from webhook.cluster.api import Reader
from webhook.cluster.connection import connect
from webhook.cluster.reflector import Reflector
from webhook.cluster.view import APIResource

RELEASE = "turning"
NAME = f"{RELEASE}-modelgate"
SECRET = f"{NAME}-ca"
SECRETS = APIResource("", "v1", "secrets", "Secret")
# A year in a minute and a half. The margins are wide for a busy machine: a leaf has 8 s left when it is renewed.
LIFETIMES = Lifetimes(ca=timedelta(seconds=90), leaf=timedelta(seconds=24), uptake=timedelta(seconds=4))
FLAGS = ["--ca-seconds=90", "--leaf-seconds=24", "--uptake-seconds=4", "--look-seconds=0.5"]
REPLICAS = 3


class Sidecars:
    """``modelgate certs issue --watch`` for several pods, each a process with a leaf of its own."""

    def __init__(self, kubeconfig, namespace, folder):
        self.folders = [folder / f"tls-{number}" for number in range(REPLICAS)]
        self._environment = {"KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(CHART.parent)}
        self._flags = [f"--store=secret:{namespace}/{SECRET}", f"--service={namespace}/{NAME}"]
        self._flags += [f"--publish={kind}/{NAME}" for kind in ("mutating", "validating")]
        self._log = folder / "sidecars.log"
        self._running = {}

    def __enter__(self):
        for folder in self.folders:
            self.start(folder)
        return self

    def __exit__(self, *_):
        for each in self._running.values():
            each.kill()

    def start(self, folder):
        folder.mkdir(exist_ok=True)
        command = modelgate("certs", "issue", f"--tls-dir={folder}", *self._flags, *FLAGS, "--watch")
        self._running[folder] = Process("certs", command, self._log, self._environment)

    def kill(self):
        """All of them, as a power cut does; started again at once."""
        for folder, process in self._running.items():
            process.kill()
            self.start(folder)

    def suspend(self, number, *, on):
        os.kill(self._running[self.folders[number]].pid, signal.SIGSTOP if on else signal.SIGCONT)

    def wait_until(self, condition, what, seconds=120):
        """As the function of that name; a sidecar that ends meanwhile ends the wait, too."""
        return wait_until(condition, what, seconds, list(self._running.values()))

    def log(self):
        return self._log.read_text()

    def issuers(self):
        return {leaf.issuer for each in self.folders if (leaf := Leaf.read(each))}


class Secret:
    """The Secret of the CAs, and the phases of its state as a watch tells them: one may last a tenth of a second."""

    def __init__(self, plane, client, namespace):
        self._client, self._path = client, f"/api/v1/namespaces/{namespace}/secrets/{SECRET}"
        self._phases = deque()
        api = Reader(connect(plane.kubeconfig))
        self._reflector = Reflector(api, SECRETS, self._changed, lambda _: None, namespace, name=SECRET)

    def __enter__(self):
        threading.Thread(target=self._reflector.run, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._reflector.stop()

    def _changed(self, _, secret):
        self._phases.append(phase_of(files_of(secret)))

    def reached(self, *phases):
        """Whether one of these phases is among those that were not read yet; reads up to it."""
        while self._phases:
            if self._phases.popleft() in phases:
                return True
        return False

    def files(self):
        return files_of(self._client.ask("GET", self._path, None).body)

    def signer(self):
        return self.files().get("tls.crt")

    def delete(self):
        assert self._client.ask("DELETE", self._path, None).code == 200

    def put(self, authority):
        """What cert-manager or a person does: another CA, and nothing of the state."""
        secret = self._client.ask("GET", self._path, None).body
        files = authority.credentials().files()
        secret["data"] = {name: base64.b64encode(content).decode() for name, content in files.items()}
        del secret["metadata"]["resourceVersion"]
        assert self._client.ask("PUT", self._path, secret).code == 200


def files_of(secret):
    return {name: base64.b64decode(text) for name, text in (secret.get("data") or {}).items()}


def phase_of(files):
    record = json.loads(files.get("state.json", b"{}"))
    if not record:
        return ""
    if record["next"]:
        return "wait" if record["next"]["confirmed"] else "publish"
    return "retire" if record["retired"] else "steady"


@pytest.fixture
def namespace(kubectl):
    return kubectl.flags[-1]


@pytest.fixture
def turning(plane, namespace, tmp_path):
    """The chart's objects without its pods, whose part is played by processes: sidecars, secret, webhook, a way in."""
    plane.kubectl.send("apply", definition())
    flags = [f"--namespace={namespace}", GUARDED]
    flags += ["--set=webhooks.mutating.failurePolicy=Fail"]
    rendered = [each for each in yaml.safe_load_all(plane.helm("template", RELEASE, CHART, *flags)) if each]
    objects = [each for each in rendered if each["kind"] not in {"Deployment", "Service", "PodDisruptionBudget"}]
    hooks = [each for each in objects if each["kind"].endswith("WebhookConfiguration")]
    plane.kubectl.send_all("create", [each for each in objects if each not in hooks])
    service = external_name("localhost")
    service["metadata"] = {"name": NAME, "namespace": namespace}
    plane.kubectl.send("create", service)
    token = plane.kubectl("create", "token", NAME, "--namespace", namespace).strip()
    kubeconfig = kubeconfig_of(plane, token, tmp_path)
    try:
        with ExitStack() as stack:
            sidecars = stack.enter_context(Sidecars(kubeconfig, namespace, tmp_path))
            wait_until(lambda: all(Leaf.read(each) for each in sidecars.folders), "a leaf for each replica")
            webhook = stack.enter_context(Webhook(sidecars.folders))
            plane.kubectl.send_all(
                "create", [with_clients(each, {"service": {"port": webhook.port}}) for each in hooks]
            )
            client = stack.enter_context(connected(plane.kubeconfig))
            yield sidecars, stack.enter_context(Secret(plane, client, namespace)), webhook
    finally:
        plane.kubectl("delete", "--wait=false", "--ignore-not-found", "-f", "-", stdin=yaml.safe_dump_all(objects))
        plane.kubectl("delete", "crd", definition()["metadata"]["name"], "--wait=false")


def rotated(sidecars, secret, old):
    """Whether another CA signs than ``old``, and every replica serves a leaf of it."""
    signer = secret.signer()
    new = signer if signer != old else None
    return new and {each.public_bytes(Encoding.PEM) for each in sidecars.issuers() if each} == {new} and new


def test_no_call_fails_while_cas_and_leaves_change(plane, namespace, turning):
    sidecars, secret, webhook = turning
    path = f"/apis/{GROUP}/v1/namespaces/{namespace}/widgets"
    with connected(plane.kubeconfig) as client:
        wait_until(lambda: client.ask("POST", f"{path}?dryRun=All", widget("w")).code == 201, "the first call")
    wait_until(lambda: secret.reached("steady"), "a steady state", 60)
    with Callers(plane.kubeconfig, path, widget("w"), threads=4, each=14).calling() as callers:
        # A rotation with a crash in each phase.
        first = signer = secret.signer()
        for phase in ("publish", "wait", "retire"):
            sidecars.wait_until(lambda phase=phase: secret.reached(phase), f"the phase {phase}")
            sidecars.kill()
        signer = sidecars.wait_until(lambda: rotated(sidecars, secret, first), "the first rotation")
        # A rotation with a replica that sleeps through most of it.
        sidecars.wait_until(lambda: secret.reached("publish", "wait"), "the next rotation")
        sidecars.suspend(0, on=True)
        sidecars.wait_until(lambda: secret.signer() != signer, "the next CA to sign")
        sidecars.suspend(0, on=False)
        signer = sidecars.wait_until(lambda: rotated(sidecars, secret, signer), "the second rotation")
        # A rotation of its own accord.
        signer = sidecars.wait_until(lambda: rotated(sidecars, secret, signer), "the third rotation")
        secret.delete()
        signer = sidecars.wait_until(lambda: rotated(sidecars, secret, signer), "a CA after the deletion")
        theirs = Authority.create(datetime.now(UTC), LIFETIMES)
        secret.put(theirs)
        signer = sidecars.wait_until(lambda: rotated(sidecars, secret, signer), "leaves of the foreign CA")
        assert signer == theirs.bundle
        sidecars.wait_until(lambda: sidecars.log().count("issued for") >= 20, "twenty leaves")
    print(
        f"calls {sum(callers.answers.values())}, handshakes {webhook.calls}, failed {len(callers.failures)}, "
        f"x509 {sum('x509' in repr(each) for each in callers.failures)}, leaves {sidecars.log().count('issued for')}"
    )
    assert callers.failures == []
    assert sum(callers.answers.values()) > 1000
