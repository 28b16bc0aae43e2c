"""The components of an InferenceService: engine, decoder and router, each merged over its runtime, and how it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reconciler.projections.objects import named
from webhook.facts.ome import MULTI_NODE, RAW, ROLES, Referent, base_of, merged, mode_of


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


def components_of(service: dict[str, Any], runtime: Referent | None) -> Iterator[Component]:
    """The components that the service declares: a runtime alone makes none."""
    below = runtime.spec if runtime is not None else {}
    spec, name = service["spec"], service["metadata"]["name"]
    for role in ROLES:
        if spec.get(role) is None:
            continue
        component = merged(_without(base_of(below, role), spec[role]), spec[role])
        yield Component(role, named(f"{name}-{role}"), component, mode_of(component, role, spec))


def _without(base: dict[str, Any], component: dict[str, Any]) -> dict[str, Any]:
    """What is below without the volumes that the service has, too: merged, they may have two sources, as in OME."""
    own = {each["name"] for each in component.get("volumes") or ()}
    volumes = [each for each in base.get("volumes") or () if each["name"] not in own]
    return {**base, "volumes": volumes} if own else base
