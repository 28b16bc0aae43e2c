"""The pod of an AIM service, from its template: GPUs of one model, and what they load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.aim.resources import GPU, amount, devices_of, gpu_model
from webhook.facts.aim.service import resolve_service
from webhook.facts.fit import GpuLoad, ServedPod, Workload, keeps_outside
from webhook.facts.memory import Bound, accelerator, model_of_repository, of_repository
from webhook.facts.nodes import at, items, mapping, text, trimmed, whole
from webhook.facts.settings import Settings

Json = dict[str, Any]

_USABLE: Final = 0.95
_PRECISIONS: Final = {"fp4": "fp4", "int4": "int4", "fp8": "fp8", "int8": "int8", "fp16": "fp16", "bf16": "bf16"}


def fit_of_service(service: Json, view: ClusterView, settings: Settings, _: Sequence[str]) -> Workload | None:
    """What a service asks for; None without its template, or with 0 replicas."""
    resolved = resolve_service(service, view, choose=settings.chooses_template)
    resolution, template = resolved.template, resolved.template.template
    spec = template.spec if template is not None else resolution.spec
    if spec is None or at(service, "spec", "replicas") == 0:
        return None
    profile = mapping(template.object, "status", "profile", "metadata") if template is not None else {}
    selector = {**mapping(spec, "gpuSelector"), **mapping(service, "spec", "overrides", "gpuSelector")}
    count, model = whole(profile, "gpu_count") or whole(selector, "count") or 0, text(selector, "model")
    asked = amount(at(service, "spec", "resources", "limits", GPU) or 0)
    if count < 1 or not model or (asked and asked != count):
        return None
    made = _pod(resolved.resources, count, devices_of(model))
    pod = ServedPod(made, lambda path: _origin(service, path), is_part=True)  # KServe fills in defaults
    names = items(template.object, "status", "modelSources") if template is not None else []
    precision = trimmed(profile, "precision") or trimmed(spec, "precision")
    weights = _weights([text(source, "name") for source in names], precision)
    load = GpuLoad("spec.templateRef", 0, count, GPU, weights, usable=_USABLE, device=accelerator(gpu_model(model)))
    config = resolved.config.spec if resolved.config is not None else {}
    owners = (mapping(service, "spec"), spec, config)
    variables = {text(variable, "name") for owner in owners for variable in items(owner, "env")}
    given = mapping(template.object, "status", "profile", "engine_args") if template is not None else {}
    if variables & _OF_ENGINE or keeps_outside([f"--{name}" for name in given], variables):
        load = load._replace(silent="a variable or the profile changes what the engine loads")
    return Workload([pod], [load])


_OF_ENGINE: Final = frozenset(
    [
        *("AIM_ENGINE", "AIM_ENGINE_ARGS", "AIM_GPU_COUNT", "AIM_GPU_MODEL", "AIM_MODEL_ID", "AIM_PRECISION"),
        "AIM_PROFILE_ID",
    ]
)
"""Variables that give arguments to the engine, or another model or precision to the image."""


def _pod(resources: Json, count: int, devices: list[str]) -> Json:
    parts = {part: {GPU: count, **mapping(resources, part)} for part in ("requests", "limits")}
    pod: Json = {"containers": [{"name": "kserve-container", "resources": parts}]}
    if devices:
        device = {"key": f"{GPU}.device-id", "operator": "In", "values": devices}
        required = {"nodeSelectorTerms": [{"matchExpressions": [device]}]}
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return pod


def _origin(service: Json, path: str) -> str:
    resource = path.removeprefix("resources:")
    own = mapping(service, "spec", "resources")
    part = next((part for part in ("requests", "limits") if resource in mapping(own, part)), "")
    return f"spec.resources.{part}[{resource}]" if part else "spec.templateRef"


def _weights(names: list[str], precision: str) -> Bound | None:
    """The weights of the one model that the template has discovered."""
    model = model_of_repository(names[0]) if len(names) == 1 else None
    if model is None or not model.canonical or precision not in _PRECISIONS:
        return None
    return of_repository(model, [_PRECISIONS[precision]])
