"""Containers: their environment, ports, resources, mounts and probes."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from webhook.golang.names import dns_1123_label
from webhook.kubernetes.clean.sight import Check, Sight, are, checks_of, exactly, fields_are_clean, is_known, one_of
from webhook.kubernetes.env import are_names
from webhook.kubernetes.formats import FORMATS, relative_path
from webhook.kubernetes.judge import DATA, Judge
from webhook.kubernetes.probes import PROBES, check_probe
from webhook.kubernetes.resources import is_usual_name
from webhook.kubernetes.values import Json

__all__ = ["container", "init_container", "is_label", "mounts", "ports", "resources"]

_name_of: Final = itemgetter("name")
_path_of: Final = itemgetter("mountPath")
_OF_PORT: Final = frozenset({"containerPort", "name", "protocol"})
_OF_MOUNT: Final = frozenset({"name", "mountPath", "readOnly", "subPath"})
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_NO_PROBES: Final = frozenset({"lifecycle", *PROBES})
_HOOKS: Final = frozenset({"postStart", "preStop"})

_problems_of_name: Final = FORMATS["portName"][1]
_is_whole: Final = re.compile(r"[0-9]{1,6}(Ki|Mi|Gi|Ti|k|M|G|T)?").fullmatch
_is_milli: Final = re.compile(r"[0-9]{1,6}m").fullmatch


def container(sight: Sight, value: Json) -> bool:
    """A main container, and a runner beside the list."""
    return bool(sight.part or (value["name"] and value["image"])) and fields_are_clean(sight, value, _FIELDS)


def init_container(sight: Sight, value: Json) -> bool:
    """One that does not always restart: it has no probes."""
    return _NO_PROBES.isdisjoint(value) and container(sight, value)


def _name(_: Sight, value: Any) -> bool:
    return is_label(value)


@lru_cache(256)
def is_label(value: str) -> bool:
    return not dns_1123_label(value)


def _env(sight: Sight, value: Any) -> bool:
    """Texts, and values that are read elsewhere. Of two variables of one name, the first is hidden."""
    names = [*map(_name_of, value)]
    if not are_names(names) or (not sight.part and len({*names}) != len(names)):
        return False
    sources = [each for each in value if "valueFrom" in each]
    return not sources or are(sight, "EnvVar", sources)


def _env_from(sight: Sight, value: Any) -> bool:
    return are(sight, "EnvFromSource", value)


def ports(sight: Sight, value: Any) -> bool:
    """Ports of the pod alone, and each number and name once in the pod."""
    seen = sight.ports
    for port in value:
        number, protocol, name = port["containerPort"], port.get("protocol", "TCP"), port.get("name")
        if not port.keys() <= _OF_PORT or type(number) is not int or not 0 < number < 65536:
            return False
        if protocol not in _PROTOCOLS or (number, protocol) in seen:
            return False
        seen.add((number, protocol))
        if name is not None:
            if name in seen or _problems_of_name(name):
                return False
            seen.add(name)
    return True


def mounts(sight: Sight, value: Any) -> bool:
    """Each of a volume that is clean; a part does not tell which volumes there are."""
    names, paths = {*map(_name_of, value)}, {*map(_path_of, value)}
    if "" in names or "" in paths or len(paths) != len(value) or not (sight.part or names <= sight.volumes):
        return False
    _ = "".join(names), "".join(paths)  # they are texts
    for mount in value:
        if not mount.keys() <= _OF_MOUNT or ("subPath" in mount and relative_path(mount["subPath"])):
            return False
    return True


def resources(sight: Sight, value: Any) -> bool:
    if "claims" in value:
        return False
    for kind in ("limits", "requests"):
        if kind in value and not _are_amounts(value[kind]):
            return False
    return "requests" not in value or are(sight, "ResourceRequirements", [value])


def _are_amounts(amounts: Any) -> bool:
    """Whole numbers, and thousandths of processors."""
    return all(itertools.starmap(_is_amount, amounts.items()))


@lru_cache(1024, typed=True)
def _is_amount(name: str, amount: Any) -> bool:
    if amount.__class__ is int:
        return amount >= 0 and is_usual_name(name)
    return bool(_is_whole(amount) or (name == "cpu" and _is_milli(amount))) and is_usual_name(name)


def _probe(key: str) -> Check:
    return lambda sight, value: is_known(sight, key, value, _judged)


def _judged(judge: Judge, key: str, probe: Json) -> None:
    check_probe(judge, key, probe, "[].")


def _lifecycle(sight: Sight, value: Any) -> bool:
    """How long a hook may sleep depends on the pod."""
    known = value.keys() <= _HOOKS and not any("sleep" in hook for hook in value.values())
    return known and are(sight, "Lifecycle", [value])


_CONTEXT: Final = (
    *("allowPrivilegeEscalation", "capabilities", "privileged", "readOnlyRootFilesystem"),
    *("runAsGroup", "runAsNonRoot", "runAsUser", "seccompProfile"),
)
_FREE: Final = ("args", "command", "image", "stdin", "stdinOnce", "terminationMessagePath", "tty", "workingDir")
_FIELDS: Final = checks_of(
    DATA["shapes"]["Container"],
    _FREE,
    {
        "name": _name,
        "env": _env,
        "envFrom": _env_from,
        "ports": ports,
        "resources": resources,
        "volumeMounts": mounts,
        "imagePullPolicy": one_of("Always", "IfNotPresent", "Never"),
        "terminationMessagePolicy": one_of("File", "FallbackToLogsOnError"),
        "lifecycle": _lifecycle,
        "securityContext": exactly("SecurityContext", *_CONTEXT),
        **{key: _probe(key) for key in PROBES},
    },
)
