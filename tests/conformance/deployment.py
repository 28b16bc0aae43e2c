"""A Deployment as Go has it: what of it merges how, and what decoding into its structs makes of it.

Only the fields that the tables use. Go writes structs that are empty and slices that are nil,
where the field has no ``omitempty``; it leaves out everything else that is empty.
"""

from __future__ import annotations

from typing import Any

from webhook.vap.mutating.evaluation import MutationError

TEXT = {"type": "string"}
NAME = {"type": "string", "default": ""}
INTEGER = {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT, "x-kubernetes-list-type": "atomic"}
QUANTITIES = {"type": "object", "additionalProperties": TEXT}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _keyed(item: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
    }


CONTAINER = _object(
    name=NAME,
    image=TEXT,
    command=TEXTS,
    args=TEXTS,
    env=_keyed(_object(name=NAME, value=TEXT), "name"),
    ports=_keyed(
        _object(containerPort=INTEGER, name=TEXT, protocol={"type": "string", "default": "TCP"}),
        "containerPort",
        "protocol",
    ),
    resources=_object(limits=QUANTITIES, requests=QUANTITIES),
)
POD = _object(
    containers=_keyed(CONTAINER, "name"),
    initContainers=_keyed(CONTAINER, "name"),
    volumes=_keyed(_object(name=NAME, hostPath=_object(path=TEXT)), "name"),
    tolerations={"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "atomic"},
    affinity={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    hostNetwork={"type": "boolean"},
)
METADATA = _object(name=TEXT, namespace=TEXT, labels=QUANTITIES, annotations=QUANTITIES)
SELECTOR = {**_object(matchLabels=QUANTITIES), "x-kubernetes-map-type": "atomic"}
DEPLOYMENT = _object(
    apiVersion=TEXT,
    kind=TEXT,
    metadata=METADATA,
    spec=_object(
        replicas=INTEGER,
        paused={"type": "boolean"},
        progressDeadlineSeconds=INTEGER,
        selector=SELECTOR,
        strategy=_object(type=TEXT),
        template=_object(metadata=METADATA, spec=POD),
    ),
    status=_object(),
)

NEVER_OMITTED = {
    "spec": {"selector": None, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": None}}},
    "status": {},
    "metadata": {},
}


class Deployment:
    """The schema of the kind, as a policy's context give it; ``strategy`` is the default of spec.strategy.type."""

    raw = DEPLOYMENT

    def __init__(self, strategy: str = "") -> None:
        self._strategy = strategy

    def default(self, obj: dict[str, Any]) -> dict[str, Any]:
        for path in _unknown(obj, DEPLOYMENT, ""):
            raise MutationError(f'Internal error occurred: strict decoding error: unknown field "{path}"')
        decoded = _filled(obj, NEVER_OMITTED)
        if self._strategy and not decoded["spec"]["strategy"]:
            decoded["spec"]["strategy"] = {"type": self._strategy}
        pod = decoded["spec"]["template"]["spec"]
        for name in ("containers", "initContainers"):
            if pod.get(name):
                pod[name] = [{"resources": {}, **container} for container in pod[name]]
        return decoded


def _filled(value: dict[str, Any], empty: dict[str, Any]) -> dict[str, Any]:
    filled = {**empty, **value}
    for name, inner in empty.items():
        if isinstance(inner, dict):
            filled[name] = _filled(filled[name] or {}, inner)
    return filled


def _unknown(value: Any, schema: dict[str, Any], path: str) -> list[str]:
    if isinstance(value, list):
        return [at for i, item in enumerate(value) for at in _unknown(item, schema.get("items", {}), f"{path}[{i}]")]
    properties = schema.get("properties")
    if not isinstance(value, dict) or not properties:
        return []
    found = []
    for name, item in value.items():
        at = f"{path}.{name}".lstrip(".")
        found += _unknown(item, properties[name], at) if name in properties else [at]
    return found
