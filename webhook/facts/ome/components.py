"""The components of an InferenceService over those of its runtime, and the mode in which each runs."""

from __future__ import annotations

from typing import Any, Final

from webhook.facts.nodes import at, items, mapping, text

__all__ = ["MAIN", "MULTI_NODE", "RAW", "ROLES", "base_of", "mode_of"]

MAIN: Final = "ome-container"
MODE: Final = "ome.io/deploymentMode"
RAW: Final = "RawDeployment"
MULTI_NODE: Final = "MultiNode"
ROLES: Final = ("engine", "decoder", "router")

_MODES: Final = {RAW, MULTI_NODE, "Serverless", "MultiNodeRayVLLM", "VirtualDeployment"}
_OF_POD: Final = ("affinity", "containers", "dnsPolicy", "hostIPC", "hostNetwork", "imagePullSecrets")
_MORE_OF_POD: Final = ("nodeSelector", "schedulerName", "tolerations", "volumes", "labels", "annotations")


def base_of(runtime: dict[str, Any], role: str) -> dict[str, Any]:
    """What a runtime has below the component of a service."""
    return mapping(runtime, f"{role}Config") or (_older(runtime) if role == "engine" else {})


def _older(runtime: dict[str, Any]) -> dict[str, Any]:
    """The engine of a runtime whose containers are at its top: the main one is the runner."""
    found = {key: runtime[key] for key in (*_OF_POD, *_MORE_OF_POD) if runtime.get(key)}
    found.pop("containers", None)
    containers = items(runtime, "containers")
    if not containers:
        return found
    runner = next((each for each in containers if each.get("name") == MAIN), containers[0])
    others = [each for each in containers if each is not runner]
    return {**found, "runner": runner, **({"containers": others} if others else {})}


def mode_of(component: dict[str, Any], role: str, service: dict[str, Any]) -> str:
    """The mode of a merged component, for the specification of its service."""
    said = text(component, "annotations", MODE)
    if role == "engine" and said in _MODES:
        return said
    if role != "router" and (component.get("leader") or component.get("worker")):
        return MULTI_NODE
    serverless = component.get("minReplicas") == 0 and role != "decoder"
    return "Serverless" if serverless and not (role == "engine" and at(service, "decoder")) else RAW
