"""Choose a template for a service that names none: what AIM does from release 0.2 on, here on demand only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.facts.aim.lookup import Found
from webhook.facts.aim.nodes import text

__all__ = ["Choice", "gpu_model", "select"]

GPUS: Final = ("MI325X", "MI300X", "MI250X", "MI210")
METRICS: Final = ("latency", "throughput")
PRECISIONS: Final = ("fp4", "int4", "fp8", "int8", "fp16", "bf16", "fp32")
"""Each in order of preference; what is not listed comes last."""

_VENDORS: Final = frozenset({"AMD", "NVIDIA", "TESLA", "RTX", "INSTINCT"})
_MODEL: Final = re.compile(r"[A-Z]*\d+[A-Z]*\Z")


@dataclass(frozen=True, slots=True)
class Choice:
    """The template, or the reason why none was chosen."""

    template: Found | None = None
    error: str = ""


def select(templates: Iterable[Found], image: str, overrides: dict[str, Any]) -> Choice:
    """The best available template of an image that fits the overrides; a tie is an error, never a guess."""
    of_image = [template for template in templates if text(template.spec, "aimImageName") == image]
    if not of_image:
        return Choice(error=f'No templates found for image "{image}"')
    available = [template for template in of_image if text(template.object, "status", "status") == "Available"]
    if not available:
        return Choice(error="Waiting for templates to become Available")
    fitting = [template for template in available if _fits(template, overrides)]
    if not fitting:
        return Choice(error=f'No available templates match the service requirements for image "{image}"')
    own = [template for template in fitting if not template.cluster_scoped]
    ranked = sorted(own or fitting, key=_rank)
    best = [template for template in ranked if _rank(template) == _rank(ranked[0])]
    if len(best) > 1:
        return Choice(error=f'Multiple templates ({len(best)}) satisfy image "{image}"')
    return Choice(best[0])


def gpu_model(name: str) -> str:
    """The model in the name of a GPU: ``Instinct MI300X``, ``mi300x`` and ``MI300X (rev 2)`` are MI300X."""
    words = [word for word in re.split(r"[-\s/:]+", name.upper().replace("_", "-")) if word not in _VENDORS]
    return next(filter(_MODEL.match, words), words[0] if words else "")


def _fits(template: Found, overrides: dict[str, Any]) -> bool:
    asked = (text(overrides, "metric"), text(overrides, "precision"))
    said = (_metric(template), _precision(template))
    if any(wish and value and wish != value for wish, value in zip(asked, said, strict=True)):
        return False
    gpu, has = gpu_model(text(overrides, "gpuSelector", "model")), _gpu(template)
    return not gpu or not has or gpu == has


def _rank(template: Found) -> tuple[int, int, int]:
    return (
        _place(GPUS, _gpu(template)),
        _place(METRICS, _metric(template)),
        _place(PRECISIONS, _precision(template)),
    )


def _place(order: Sequence[str], value: str) -> int:
    return order.index(value) if value in order else len(order)


def _metric(template: Found) -> str:
    return text(template.object, "status", "profile", "metadata", "metric") or text(template.spec, "metric")


def _precision(template: Found) -> str:
    return text(template.object, "status", "profile", "metadata", "precision") or text(template.spec, "precision")


def _gpu(template: Found) -> str:
    profile = text(template.object, "status", "profile", "metadata", "gpu")
    return gpu_model(text(template.spec, "gpuSelector", "model") or profile)
