"""Tables of pods (``pods-corpus/1``): what the API server says of the template of a Deployment or a Job, or of a part.

A part is put into a template that is otherwise valid, at the place that its operation names.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import jsonpatch

FORMAT = "pods-corpus/1"
FAMILY = "pods/"

_CONTAINER = "spec.containers[0]"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_MOUNTS = ("volumeMounts", "volumeDevices", "resizePolicy")
_OF_CONTAINER = ("resources", "securityContext", "env", "envFrom", "ports", *_PROBES, *_MOUNTS)
_SCHEDULING = ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints", "schedulingGates")
_NETWORK = ("readinessGates", "hostAliases", "dnsConfig", "imagePullSecrets")
_OF_SPEC = ("containers", "initContainers", "volumes", "resourceClaims", "overhead", "os", *_SCHEDULING, *_NETWORK)
PLACES = {
    "metadata": "metadata",
    "podSpec": "spec",
    "container": _CONTAINER,
    "initContainer": "spec.initContainers[0]",
    "podSecurityContext": "spec.securityContext",
    "podResources": "spec.resources",
    **{name: f"spec.{name}" for name in _OF_SPEC},
    **{name: f"{_CONTAINER}.{name}" for name in _OF_CONTAINER},
}
"""By operation: the place of the part in the template."""

_STEP = re.compile(r"([A-Za-z]+)(?:\[0\])?")


def pods_cases(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The cases with their whole values; operations get the prefix of this family."""
    bases = document.get("bases", {})
    return [{**case, "op": FAMILY + case["op"], "in": _whole(case["in"], bases)} for case in document["cases"]]


def _whole(value: Any, bases: dict[str, Any]) -> Any:
    if isinstance(value, dict) and "base" in value and value.keys() <= {"base", "patch"}:
        return jsonpatch.apply_patch(copy.deepcopy(bases[value["base"]]), value.get("patch", []))
    return value


def around(place: str, value: Any) -> dict[str, Any]:
    """A valid template with ``value`` at a place."""
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "registry.example.com/main:1"}]}
    if place.startswith("spec.initContainers[0]"):
        spec["initContainers"] = [{"name": "first", "image": "registry.example.com/first:1"}]
    template: dict[str, Any] = {"spec": spec}
    at, steps = template, place.split(".")
    for step in steps[:-1]:
        name = _STEP.fullmatch(step)[1]
        at = at[name][0] if step.endswith("[0]") else at[name]
    name = _STEP.fullmatch(steps[-1])[1]
    at[name] = [value] if steps[-1].endswith("[0]") else value
    return template


def below(field: str, place: str) -> str | None:
    """The path of a field from the place; None if it is elsewhere."""
    if field == place:
        return ""
    return field[len(place) :].removeprefix(".") if field.startswith((f"{place}.", f"{place}[")) else None
