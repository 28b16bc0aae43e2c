"""The discovery of a template: a Job that runs the image, and the result that it prints."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from reconciler.children import digest
from reconciler.projections import kinds
from reconciler.projections.aim.parts import DOMAIN, secrets, system_labels
from reconciler.projections.objects import given, label, new
from reconciler.writer import Writer
from webhook.cluster import ApiError
from webhook.facts.aim import Referent

Logs = Callable[[str, str], str]
"""The log of the pod of a namespace and name; raises ApiError."""

LINES: Final = 5000
LONGEST: Final = 4 << 20
"""Lines and bytes of the end of a log: a result has some kilobytes, and is printed last."""

LARGEST: Final = 256 << 10
"""Bytes of a result that is kept. An object has at most 1.5 MiB."""

ATTEMPTS: Final = 20
"""Places in a log where a result may begin that are tried, the last ones first."""

_BEGINNING: Final = re.compile(r"^\s*\[", re.MULTILINE)

_ENUMS: Final = {"metric": ("latency", "throughput"), "precision": ("bf16", "fp16", "fp8", "int8")}
"""A status with another value is refused by the definition. Upstream's controller fails on it."""

_GIBIBYTE: Final = 1024**3


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a Job found, or why nothing is known. ``transient``: the log could not be read now."""

    sources: list[dict[str, Any]] = field(default_factory=list)
    profile: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    transient: bool = False


def logs_of(api: Writer) -> Logs:
    """Read the ends of logs from the API server."""

    def end(namespace: str, pod: str) -> str:
        for lines in (LINES, LINES // 10, LINES // 100, LINES // 1000):
            text = api.log(namespace, pod, lines, LONGEST)
            if len(text.encode()) < LONGEST:  # else what is missing is the end
                break
        return text

    return end


def read(logs: Logs, pods: Sequence[dict[str, Any]]) -> Discovery:
    """The result that the pods of a Job that has succeeded printed."""
    ended = [each["metadata"] for each in pods if (each.get("status") or {}).get("phase") == "Succeeded"]
    if not ended:
        return Discovery(error="the pod of the discovery Job is gone, and its log with it")
    try:
        return parsed(logs(ended[0]["namespace"], ended[0]["name"]))
    except ApiError as error:
        gone = error.status == 404
        return Discovery(error=f"the log of the discovery Job cannot be read: {error}", transient=not gone)


def parsed(log: str) -> Discovery:
    """The result in a log: the last JSON array whose first element is an object with a profile or models."""
    for array in _arrays(log):
        if not (isinstance(array, list) and array and isinstance(array[0], dict)):
            continue
        first = array[0]
        if "profile" not in first and "models" not in first:
            continue
        found = Discovery(list(_sources(first.get("models"))), _profile(first.get("profile")))
        if len(orjson.dumps([found.sources, found.profile])) > LARGEST:
            return Discovery(error=f"the result of the discovery has more than {LARGEST >> 10} KiB")
        return found
    return Discovery(error="the log of the discovery Job has no JSON array with a profile and models")


def _arrays(log: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=lambda _: None)
    for match in [*_BEGINNING.finditer(log)][: -ATTEMPTS - 1 : -1]:
        try:
            yield decoder.raw_decode(log, match.end() - 1)[0]
        except (ValueError, RecursionError):
            continue


def _sources(models: Any) -> Iterator[dict[str, Any]]:
    for each in models if isinstance(models, list) else ():
        if not (isinstance(each, dict) and isinstance(each.get("source"), str) and each["source"]):
            continue
        name = given(name=each["name"]) if isinstance(each.get("name"), str) else {}
        size = each["size_gb"] if isinstance(each.get("size_gb"), int | float) else 0
        yield {**name, "sourceUri": each["source"], "size": str(int(size * _GIBIBYTE) if 0 < size < 1 << 30 else 0)}


def _profile(profile: Any) -> dict[str, Any]:
    if not isinstance(profile, dict):
        return {}
    said = profile.get("metadata")
    said = said if isinstance(said, dict) else {}
    metadata = {key: said[key] for key in ("engine", "gpu") if isinstance(said.get(key), str)}
    metadata |= {key: said[key] for key, allowed in _ENUMS.items() if said.get(key) in allowed}
    count = said.get("gpu_count")
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 1 << 31:
        metadata["gpu_count"] = count
    variables = profile.get("env_vars")
    variables = variables if isinstance(variables, dict) else {}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in variables.items()}
    return given(metadata=metadata, engine_args=profile.get("engine_args"), env_vars=texts)


def _number(text: str) -> float | None:
    """A number as Kubernetes reads it: not infinite, and a whole one with 64 bits."""
    if text.lstrip("-").isdigit() and -(1 << 63) <= int(text) < 1 << 63:
        return int(text)
    return float(text) if math.isfinite(float(text)) else None


def discovery_job(template: dict[str, Any], image: Referent, config: Referent | None, namespace: str) -> dict[str, Any]:
    """The Job that runs the image without a model, to learn its profile.

    Its name depends on the template and on all that it runs: a Job cannot be changed.
    """
    metadata, spec = template["metadata"], template["spec"]
    settings = config.spec if config else {}
    labels = system_labels("aim-discovery", "discovery-job") | {
        "app.kubernetes.io/managed-by": "modelgate",  # by which the pods are followed
        f"{DOMAIN}/template": label(metadata["name"]),
    }
    container = {
        "name": "discovery",
        "image": image.spec["image"],
        "args": ["dry-run", "--format=json"],
        "env": [*(spec.get("env") or ()), *_variables(spec)],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    pod = {
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        **given(
            imagePullSecrets=secrets(spec.get("imagePullSecrets"), settings.get("imagePullSecrets")),
            serviceAccountName=settings.get("serviceAccountName"),
        ),
    }
    whose = digest({"template": [template["kind"], metadata["name"]], "pod": pod})[:8]
    name = f"discover-{metadata['name'][:45].rstrip('-.').replace('.', '-')}-{whose}"
    job = {"backoffLimit": 3, "ttlSecondsAfterFinished": 600, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return new(kinds.JOBS, {"name": name, "namespace": namespace, "labels": labels}, spec=job)


def _variables(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    gpus = spec.get("gpuSelector") or {}
    said = {
        "AIM_METRIC": spec.get("metric"),
        "AIM_PRECISION": spec.get("precision"),
        "AIM_GPU_MODEL": gpus.get("model"),
        "AIM_GPU_COUNT": gpus.get("count"),
    }
    own = {each["name"] for each in spec.get("env") or ()}
    yield from ({"name": key, "value": str(value)} for key, value in said.items() if value and key not in own)
