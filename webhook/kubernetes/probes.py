"""Probes, lifecycle hooks, and what they call."""

from __future__ import annotations

from typing import Any, Final

from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import DATA, Judge, check_first, rule, walk
from webhook.kubernetes.values import Json, field, integer, number, structs, text
from webhook.schema.fielderror import forbidden, invalid, required

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def check_probes(judge: Judge, container: Json, at: FieldPath) -> None:
    """The hooks and probes of a container that runs as long as the pod."""
    hooks = field(container, "lifecycle")
    if hooks is not None:
        walk(judge, "Lifecycle", hooks, at.child("lifecycle"))
    for key in PROBES:
        probe = field(container, key)
        if probe is not None:
            check_probe(judge, key, probe, at.child(key))


def forbid_probes(judge: Judge, container: Json, at: FieldPath) -> None:
    for key in ("lifecycle", *PROBES):
        if _is_set(container, key):
            why = "may not be set for init containers without restartPolicy=Always"
            judge.add(forbidden(at.child(key), why), only_if_complete=True)


def _is_set(container: Json, key: str) -> bool:
    """Whether it is present. A lifecycle with nothing but a stopSignal is dropped: the feature is off."""
    value = field(container, key)
    return value is not None and not (key == "lifecycle" and {*value} == {"stopSignal"})


def check_probe(judge: Judge, key: str, probe: Json, at: FieldPath) -> None:
    walk(judge, "Probe", probe, at)
    if key == "readinessProbe":
        grace = number(probe, "terminationGracePeriodSeconds")
        if grace is not None:
            judge.add(invalid(at.child("terminationGracePeriodSeconds"), grace, "must not be set for readinessProbes"))
    else:
        wanted = number(probe, "successThreshold") or 1
        if wanted != 1:
            judge.add(invalid(at.child("successThreshold"), wanted, "must be 1"))


@rule("Probe")
def _probe(judge: Judge, value: Json, at: FieldPath) -> None:
    _check_handler(judge, value, at, DATA["probes"])


@rule("LifecycleHandler")
def _hook(judge: Judge, value: Json, at: FieldPath) -> None:
    _check_handler(judge, value, at, DATA["hooks"])


def _check_handler(judge: Judge, value: Json, at: FieldPath, handlers: list[list[str]]) -> None:
    if not check_first(judge, value, at, handlers, "handler"):
        judge.add(required(at, "must specify a handler type"), only_if_complete=True)


@rule("HTTPGetAction")
def _http(judge: Judge, value: Json, at: FieldPath) -> None:
    _check_port(judge, value, at)
    for _, header in structs(value, "httpHeaders"):
        name = text(header, "name")
        judge.add_invalid(FORMATS["header"][1](name), name, at, "httpHeaders")


@rule("TCPSocketAction")
def _tcp(judge: Judge, value: Json, at: FieldPath) -> None:
    _check_port(judge, value, at)


def _check_port(judge: Judge, value: Json, at: FieldPath) -> None:
    """``ValidatePortNumOrName``; Go reads no port as the number 0."""
    port: Any = value.get("port")
    if port.__class__ is float:
        port = integer(port)
    if value.get("port") is None:
        for problem in FORMATS["port"][1](0):
            judge.add(invalid(at.child("port"), 0, problem), only_if_complete=True)
    else:
        kind, problems_of = FORMATS["portName" if isinstance(port, str) else "port"]
        judge.add_invalid(problems_of(port) if type(port) is kind else [], port, at, "port")


@rule("SleepAction")
def _sleep(judge: Judge, value: Json, at: FieldPath) -> None:
    seconds, grace = number(value, "seconds") or 0, judge.pod.grace
    if not 0 <= seconds <= grace:
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        judge.add(invalid(at, seconds, why), only_if_complete=True)
