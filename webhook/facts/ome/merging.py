"""A component of a service over that of its runtime, as OME merges them: by Kubernetes' strategic merge."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Final

from webhook.facts.nodes import texts

KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
"""The list fields of a pod that merge by a key; other lists are replaced."""

_SETTINGS: Final = frozenset({"hostNetwork", "hostPID", "hostIPC", "readOnly", "stdin", "stdinOnce", "tty"})
"""Switches that Go does not write when they are false."""
_TELLING: Final = {str, int}


def merged(below: Any, above: Any, field: str = "") -> Any:
    """``above`` over ``below``, by Kubernetes' strategic merge.

    Go writes no empty text, no empty list, and not every false: what is below stays.
    """
    if isinstance(below, dict) and isinstance(above, dict):
        return _by_field(below, above)
    if below is None or _is_unwritten(above, field):
        return above if below is None else below
    key = KEYS.get(field)
    if key is not None and isinstance(below, list) and isinstance(above, list):
        return _by_key(below, above, key)
    return above


def joined(container: dict[str, Any], runner: dict[str, Any]) -> dict[str, Any]:
    """A runner over the container of its name, whose arguments come first."""
    both = merged(container, runner)
    arguments = [*texts(container, "args"), *texts(runner, "args")]
    return {**both, "args": arguments} if arguments else both


def _by_field(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    whole = {**below, **above}
    for key, item in above.items():
        old = below.get(key)
        if old is None:
            if item is None and key not in below:
                del whole[key]
        elif item is None or item == "":
            whole[key] = old
        elif item.__class__ is not str:
            whole[key] = merged(old, item, key)
    return whole


def _is_unwritten(value: Any, field: str) -> bool:
    return value in ("", []) or (value is False and field in _SETTINGS)


def _by_key(below: list[Any], above: list[Any], key: str) -> list[Any]:
    """Items of one key join: with the first below, or with one that came before."""
    both = [*below, *above]
    if _are_different(both, key):
        return both
    joint, names, places = list(below), _names(above, key), dict[Any, int]()
    for index, name in enumerate(_names(below, key)):
        places.setdefault(name, index)
    for name, item in zip(names, above, strict=True):
        place = places.get(name)
        if place is None:
            places[name] = len(joint)
            joint.append(item)
        else:
            joint[place] = merged(joint[place], item)
    return joint


def _are_different(items: list[Any], key: str) -> bool:
    """Whether no two items join, as it is with most lists."""
    try:
        return len({*map(itemgetter(key), items)}) == len(items)
    except (KeyError, TypeError):  # of the wrong type, or absent
        return False


def _names(listed: list[Any], key: str) -> list[Any]:
    """What tells the items apart."""
    try:
        names = list(map(itemgetter(key), listed))
    except (KeyError, TypeError):  # of the wrong type, or absent
        names = [item.get(key) if isinstance(item, dict) else None for item in listed]
    if {*map(type, names)} <= _TELLING:
        return names
    return [name if type(name) in _TELLING else (repr(name),) for name in names]
