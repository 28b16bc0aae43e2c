"""Merge a service's component over that of its runtime, as Kubernetes' strategic merge does: the service wins."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["merged"]

KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
"""The list fields of a pod that merge by a key; other lists are replaced."""

ONE_OF: Final = {"volumes"}
"""Items that hold one of several sources: of two, the service's replaces the runtime's."""


def merged(below: Any, above: Any, field: str = "") -> Any:
    """``above`` over ``below``; arguments of a container are appended to those of the runtime."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: merged(below[key], above[key], key) if key in below else above[key] for key in above}}
    if isinstance(below, list) and isinstance(above, list):
        if field == "args":
            return [*below, *above]
        if (key := KEYS.get(field)) is not None:
            return _by_key(below, above, key, field)
    return above


def _by_key(below: list[Any], above: list[Any], key: str, field: str) -> list[Any]:
    over = {each.get(key): each for each in above}
    known = {each.get(key) for each in below}
    kept = [_item(each, over[each.get(key)], field) if each.get(key) in over else each for each in below]
    return [*kept, *(each for each in above if each.get(key) not in known)]


def _item(below: dict[str, Any], above: dict[str, Any], field: str) -> dict[str, Any]:
    result: dict[str, Any] = above if field in ONE_OF else merged(below, above)
    return result
