"""What a create meets before it is stored: nothing, policies, or one of the webhooks; each in a namespace of its own.

All are installed at once. A namespace selector leads the creates of a namespace to its variant only.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from certs.keeper import Keeper
from certs.names import LOCAL, Names
from certs.store import DirectoryStore
from tests.bench.e2e.interpreter import environment, interpreter
from tests.bench.objects import body, full
from tests.e2e.gate import CHECKOUT
from tests.e2e.kubectl import Object
from tests.e2e.plane import Plane
from tests.e2e.processes import Process, free_port
from tests.e2e.programs import modelgate
from tests.e2e.recipes import go
from tests.oracle.build import CACHE

__all__ = ["GO", "NAMES", "PEERS", "Variant", "built", "installed"]

PEERS = Path(__file__).with_name("peers")
SYSTEM = "bench-system"
LABEL = "bench.modelgate.dev/variant"
KOPF = "kopf==1.45.2"
PATIENCE = 60.0
GO = "Go controller-runtime"
NAMES = ("nothing", "native policies", GO, "bare ASGI", "kopf", "modelgate")


@dataclass
class Variant:
    """A namespace whose creates meet this webhook; ``process`` and ``ready`` are None and 0 without one."""

    name: str
    namespace: str
    process: Process | None = None
    ready: float = 0.0

    @property
    def pid(self) -> int | None:
        return None if self.process is None else self.process.pid


@dataclass(frozen=True)
class Peer:
    """How a webhook is started: the command for a port and a folder with certificates, its paths, its environment."""

    name: str
    command: Callable[[int, Path], Sequence[str]]
    environment: Mapping[str, str] = field(default_factory=dict)


def installed(plane: Plane, stack: ExitStack, names: Sequence[str] = NAMES) -> list[Variant]:
    """Start the webhooks and make the API server call them, until the stack is closed."""
    plane.kubectl("create", "namespace", SYSTEM)
    found = []
    for name in names:
        variant = Variant(name, f"bench-{name.lower().replace(' ', '-')}")
        labels = {LABEL: variant.namespace}
        plane.kubectl.send("create", _object("v1", "Namespace", variant.namespace, labels=labels))
        if name == "native policies":
            plane.kubectl.send_all("create", _policies(variant.namespace))
        elif name != "nothing":
            _start(plane, stack, variant, _peer(plane, name))
        found.append(variant)
    return found


def _peer(plane: Plane, name: str) -> Peer:
    if name == GO:
        program = str(built(PEERS / "go"))
        return Peer(name, lambda port, tls: [program, f"--port={port}", f"--tls-dir={tls}"])
    if name == "bare ASGI":
        command = [str(interpreter()), "-m", "tests.bench.e2e.peers.bare"]
        return Peer(name, lambda port, tls: [*command, str(port), str(tls)], _ours())
    if name == "kopf":
        program, file = str(_kopf()), str(PEERS / "kopf_peer.py")
        return Peer(name, lambda *_: [program, "run", "--standalone", "--all-namespaces", "--quiet", file])
    command = [str(interpreter()), "-m", "webhook", "serve", "--drain-seconds=0"]
    command += ["--view=live", f"--view-kubeconfig={plane.kubeconfig}"]
    return Peer(name, lambda port, tls: [*command, f"--port={port}", f"--tls-dir={tls}"], _ours())


def _ours() -> Mapping[str, str]:
    return {"PYTHONPATH": str(CHECKOUT)}


def _start(plane: Plane, stack: ExitStack, variant: Variant, peer: Peer) -> None:
    service, port, tls = variant.namespace, free_port(), plane.folder / f"tls-{variant.namespace}"
    now = datetime.now(UTC)
    names = Names.of_service(service, SYSTEM) | LOCAL
    Keeper(tls, names, DirectoryStore(tls / "ca"), lambda: now).look()
    environment = {
        "KUBECONFIG": str(plane.kubeconfig),
        "BENCH_PORT": str(port),
        "BENCH_TLS": str(tls),
        **peer.environment,
    }
    started = time.monotonic()
    log = plane.folder / f"{service}.log"
    variant.process = Process(service, peer.command(port, tls), log, environment)
    stack.callback(variant.process.stop)
    _wait(variant.process, port, tls)
    variant.ready = time.monotonic() - started
    external = {"type": "ExternalName", "externalName": "localhost"}
    plane.kubectl.send("create", _object("v1", "Service", service, SYSTEM, spec=external))
    ca = base64.b64encode((tls / "ca.crt").read_bytes()).decode()
    plane.kubectl.send_all("create", _configurations(service, port, ca))


def _wait(process: Process, port: int, tls: Path) -> None:
    """Until the webhook answers a review."""
    context = ssl.create_default_context(cafile=str(tls / "ca.crt"))
    request = urllib.request.Request(
        f"https://localhost:{port}/validate", body(full(0)), {"Content-Type": "application/json"}
    )
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        process.check()
        try:
            with urllib.request.urlopen(request, context=context, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise TimeoutError(f"{process.name} does not answer; log: {process.log}")


def _configurations(service: str, port: int, ca: str) -> list[Object]:
    rule = {
        "apiGroups": ["inference.llmkube.dev"],
        "apiVersions": ["v1alpha1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["models"],
    }
    found = []
    for sort, path in (("Mutating", "mutate"), ("Validating", "validate")):
        client = {"service": {"name": service, "namespace": SYSTEM, "port": port, "path": f"/{path}"}, "caBundle": ca}
        webhook = {
            "name": f"{path}.{service}.modelgate.dev",
            "clientConfig": client,
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {LABEL: service}},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": 10,
        }
        kind = f"{sort}WebhookConfiguration"
        found.append(_object("admissionregistration.k8s.io/v1", kind, service, webhooks=[webhook]))
    return found


def _policies(namespace: str) -> list[Object]:
    """The exported policies of a Model, for one namespace."""
    command = modelgate("export", "policies", "Model")
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=CHECKOUT).stdout
    found = [each for each in yaml.safe_load_all(text) if each]
    for each in found:
        if each["kind"].endswith("Binding"):
            selector = {"namespaceSelector": {"matchLabels": {LABEL: namespace}}}
            each["spec"].setdefault("matchResources", {}).update(selector)
    return found


def _object(api: str, kind: str, name: str, namespace: str = "", labels: Any = None, **rest: Any) -> Object:
    metadata: dict[str, Any] = {"name": name}
    metadata |= {"namespace": namespace} if namespace else {}
    metadata |= {"labels": labels} if labels else {}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}


def built(source: Path) -> Path:
    """The program in Go of a folder, built from Go modules once for each state of its source."""
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(source.iterdir()))).hexdigest()[:12]
    program = CACHE / f"bench-go-{digest}" / "peer"
    if not program.exists():
        folder = program.parent / "src"
        shutil.copytree(source, folder, dirs_exist_ok=True)
        go("build", "-mod=readonly", "-ldflags=-s -w", "-o", str(program.with_suffix(".part")), ".", folder=folder)
        program.with_suffix(".part").rename(program)
    return program


def _kopf() -> Path:
    """Kopf in a virtual environment of its own."""
    return environment(KOPF, "uvloop") / "bin" / "kopf"
