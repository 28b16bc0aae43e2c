"""``modelgate reconcile`` as a process of this machine, with the rights of the chart and no more."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any, Self

from tests.e2e.gate import CHECKOUT, NAME, NAMESPACE, rendered
from tests.e2e.kubectl import Kubectl, Object
from tests.e2e.plane import Plane
from tests.e2e.processes import Process, free_port, wait_until
from tests.e2e.programs import modelgate

ACCOUNT = f"{NAME}-reconciler"
RIGHTS = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}


class Reconciler:
    """One process with a token of its service account; ``flags`` are its own, ``sets`` those of the chart."""

    def __init__(self, plane: Plane, *flags: str, sets: tuple[str, ...] = (), name: str = "reconciler") -> None:
        self._log = plane.folder / f"{name}.log"
        self._config = plane.folder / f"{name}.kubeconfig"
        self._plane = plane
        self._flags = flags
        self._sets = sets
        self._port = free_port()
        self._process: Process | None = None

    def __enter__(self) -> Self:
        chart = rendered(self._plane, *(f"--set={each}" for each in self._sets))
        rights = [each for each in chart if each["kind"] in RIGHTS and each["metadata"]["name"].startswith(ACCOUNT)]
        self._plane.kubectl.send_all("apply", rights, "--server-side", "--force-conflicts")
        config = json.loads(self._plane.kubeconfig.read_text())
        token = self._plane.kubectl("create", "token", ACCOUNT, f"--namespace={NAMESPACE}").strip()
        config["users"][0]["user"] = {"token": token}
        self._config.write_text(json.dumps(config))
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *more: str) -> None:
        flags = [f"--kubeconfig={self._config}", f"--namespace={NAMESPACE}", f"--health-port={self._port}"]
        command = modelgate("reconcile", *flags, *self._flags, *more)
        self._process = Process("reconciler", command, self._log, os.environ | {"PYTHONPATH": str(CHECKOUT)})

    def stop(self) -> None:
        if self._process:
            self._process.stop()

    def kill(self) -> None:
        """End it as a power cut does: it does not release its lease."""
        assert self._process
        self._process.kill()

    def running(self) -> bool:
        return self._process is not None and self._process.running()

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def log(self) -> str:
        return self._log.read_text()

    def forbidden(self) -> list[str]:
        """The lines about requests that it may not make; an Event for a namespace that is going comes too late."""
        lines = self.log().splitlines()
        return [line for line in lines if "forbidden" in line and "because it is being terminated" not in line]

    def get(self, path: str) -> str:
        """What it answers at a path of its health port; empty if it does not answer, or is not ready."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=5) as answer:
                text: str = answer.read().decode()
                return text
        except (urllib.error.URLError, ConnectionError):
            return ""

    def metric(self, name: str) -> float:
        """The sum of the samples whose name and labels contain the text."""
        lines = (line for line in self.get("/metrics").splitlines() if name in line and not line.startswith("#"))
        return sum(float(line.rpartition(" ")[2]) for line in lines)


def condition(obj: Object | None, kind: str) -> Object:
    conditions = (obj or {}).get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


def wait_for(kubectl: Kubectl, name: str, kind: str, status: str, reason: str, resource: str = "model") -> Object:
    """The object, once it has the condition."""

    def there() -> Any:
        obj = kubectl.find(resource, name)
        found = condition(obj, kind)
        return obj if (found.get("status"), found.get("reason")) == (status, reason) else None

    return wait_until(there, f"{kind}={status}, {reason} on {name}")


def events(kubectl: Kubectl, name: str) -> list[tuple[str, str, str]]:
    found = kubectl.json("get", "events", f"--field-selector=involvedObject.name={name}")["items"]
    return [(each["type"], each["reason"], each["message"]) for each in found]
