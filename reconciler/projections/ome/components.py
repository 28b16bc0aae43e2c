"""The components of an InferenceService: engine, decoder and router, each merged over its runtime, and how it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from reconciler.projections.objects import named
from reconciler.projections.ome.merge import merged
from webhook.facts.ome import Found

__all__ = ["MAIN", "MODE", "Component", "components_of"]

MAIN: Final = "ome-container"
MODE: Final = "ome.io/deploymentMode"
RAW: Final = "RawDeployment"
MULTI_NODE: Final = "MultiNode"

_MODES: Final = {RAW, MULTI_NODE, "Serverless", "MultiNodeRayVLLM", "VirtualDeployment"}

_OF_POD: Final = ("affinity", "containers", "dnsPolicy", "hostIPC", "hostNetwork", "imagePullSecrets")
_MORE_OF_POD: Final = ("nodeSelector", "schedulerName", "tolerations", "volumes", "labels", "annotations")


@dataclass(frozen=True, slots=True)
class Component:
    """``role`` is engine, decoder or router; ``spec`` the merged specification."""

    role: str
    name: str
    spec: dict[str, Any]
    mode: str

    @property
    def supported(self) -> bool:
        return self.mode in {RAW, MULTI_NODE}

    @property
    def multi_node(self) -> bool:
        return self.mode == MULTI_NODE

    @property
    def replicas(self) -> int:
        least = self.spec.get("minReplicas")
        return max(least, 1) if isinstance(least, int) else 1

    @property
    def workers(self) -> int:
        return int((self.spec.get("worker") or {}).get("size") or 0) if self.multi_node else 0

    @property
    def runner(self) -> dict[str, Any]:
        """The main container: the runner, of the leader if there is one."""
        part = (self.spec.get("leader") or {}) if self.multi_node else self.spec
        containers = part.get("containers") or [{}]
        found: dict[str, Any] = part.get("runner") or self.spec.get("runner") or containers[0]
        return found

    @property
    def port(self) -> int:
        ports = self.runner.get("ports") or [{}]
        return int(ports[0].get("containerPort") or 8080)


def components_of(service: dict[str, Any], runtime: Found | None) -> Iterator[Component]:
    """The components that the service declares: a runtime alone makes none."""
    below = runtime.spec if runtime is not None else {}
    spec, name = service["spec"], service["metadata"]["name"]
    for role in ("engine", "decoder", "router"):
        if spec.get(role) is None:
            continue
        base = below.get(f"{role}Config") or (_older(below) if role == "engine" else {})
        component = merged(base, spec[role])
        yield Component(role, named(f"{name}-{role}"), component, _mode(component, role, spec))


def _older(runtime: dict[str, Any]) -> dict[str, Any]:
    """The engine of a runtime whose containers are at its top: the main one is the runner."""
    found = {key: runtime[key] for key in (*_OF_POD, *_MORE_OF_POD) if runtime.get(key)}
    containers = found.pop("containers", [])
    if not containers:
        return found
    runner = next((each for each in containers if each.get("name") == MAIN), containers[0])
    others = [each for each in containers if each is not runner]
    return {**found, "runner": runner, **({"containers": others} if others else {})}


def _mode(component: dict[str, Any], role: str, spec: dict[str, Any]) -> str:
    said = (component.get("annotations") or {}).get(MODE)
    if role == "engine" and said in _MODES:
        return str(said)
    if role != "router" and (component.get("leader") or component.get("worker")):
        return MULTI_NODE
    serverless = component.get("minReplicas") == 0 and role != "decoder"
    return "Serverless" if serverless and not (role == "engine" and spec.get("decoder")) else RAW
