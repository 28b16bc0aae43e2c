"""The errors of a value of a type that Kubernetes embeds in pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.ground.budget import Budget
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes import claims, env, projected, scheduling, security  # noqa: F401 - they register their rules
from webhook.kubernetes.containers import check_init, check_main, check_port_list
from webhook.kubernetes.judge import Judge, Rule, check_labels, walk
from webhook.kubernetes.metadata import check_annotations
from webhook.kubernetes.pod import check_template
from webhook.kubernetes.volumes import check_devices, check_mounts, check_volume
from webhook.schema.fielderror import FieldError

_KINDS: Final[Mapping[str, Rule]] = {
    "PodTemplateSpec": check_template,
    "Container": check_main,
    "InitContainer": check_init,
    "Volume": check_volume,
    "Labels": check_labels,
    "Annotations": lambda judge, value, at: check_annotations(judge, {"annotations": value}, at),
}
"""Types whose rules are more than those of their members."""

_LISTS: Final[Mapping[str, Callable[[Judge, list[Any], FieldPath], None]]] = {
    "VolumeMounts": lambda judge, value, at: check_mounts(judge, {"volumeMounts": value}, at),
    "VolumeDevices": lambda judge, value, at: check_devices(judge, {"volumeDevices": value}, at),
    "Ports": check_port_list,
}


def validate(
    kind: str,
    value: Any,
    path: FieldPath = ROOT,
    *,
    part: bool = False,
    templates: bool = False,
    owner: str = "deployment",
    runners: tuple[str, ...] = (),
    budget: Budget | None = None,
) -> list[FieldError]:
    """Kubernetes' errors of a value of this type, each once; [] if the value has another JSON type.

    ``part``: the value is merged with another one later, so errors that this may heal are left out. ``templates``: a
    text with ``{{`` is filled in later. ``owner`` is ``deployment`` or ``job``. ``runners`` names further containers of
    a pod. After ``ERRORS`` of them there is one more, which says so.

    Raises:
        SpentError: the ``budget`` is spent.
    """
    judge = Judge(part=part, templates=templates, owner=owner, runners=runners, budget=budget or Budget())
    return judge.judged(path, lambda: _check(judge, kind, value, path))


def _check(judge: Judge, kind: str, value: Any, path: FieldPath) -> None:
    if isinstance(value, list | dict):
        judge.steps += 1 + len(value)
    if kind in _LISTS:
        if isinstance(value, list):
            _LISTS[kind](judge, value, path)
    elif isinstance(value, dict):
        check = _KINDS.get(kind)
        if check is None:
            walk(judge, kind, value, path)
        else:
            check(judge, value, path)
