"""Choose a template for a service that names none: what AIM does from release 0.2 on, here on demand only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.facts.aim.gpus import gpu_model
from webhook.facts.aim.lookup import Found
from webhook.facts.aim.nodes import at, text

__all__ = ["Choice", "select"]

TYPES: Final = ("optimized",)
GPUS: Final = ("MI325X", "MI300X", "MI250X", "MI210")
METRICS: Final = ("latency", "throughput")
PRECISIONS: Final = ("fp4", "int4", "fp8", "int8", "fp16", "bf16", "fp32")
"""Each in order of preference; what is not listed comes last."""

_PROFILE: Final = ("status", "profile", "metadata")


@dataclass(frozen=True, slots=True)
class Choice:
    """The template, or the reason why none was chosen."""

    template: Found | None = None
    error: str = ""


def select(
    templates: Iterable[Found], image: str, overrides: dict[str, Any], gpus: frozenset[str] | None = None
) -> Choice:
    """The best available template of an image that fits the overrides; a tie is an error, never a guess.

    ``gpus`` are the models that nodes of the cluster have; None where that is not known.
    """
    of_image = [template for template in templates if text(template.spec, "aimImageName") == image]
    if not of_image:
        return Choice(error=f'No templates found for image "{image}"')
    available = [template for template in of_image if text(template.object, "status", "status") == "Available"]
    if not available:
        return Choice(error="Waiting for templates to become Available")
    fitting = [each for each in available if _tuned(each) and _fits(each, overrides) and _runs(each, gpus)]
    if not fitting:
        return Choice(error=f'No available templates match the service requirements for image "{image}"')
    nearest = [template for template in fitting if not template.cluster_scoped] or fitting
    ranks = [_rank(template) for template in nearest]
    first = min(ranks)
    best = [template for template, rank in zip(nearest, ranks, strict=True) if rank == first]
    if len(best) > 1:
        return Choice(error=f'Multiple templates ({len(best)}) satisfy image "{image}"')
    return Choice(best[0])


def _tuned(template: Found) -> bool:
    """Not one whose profile says to be a preview or not optimized. Those of the document's release say nothing."""
    return _type(template) in {"", *TYPES}


def _fits(template: Found, overrides: dict[str, Any]) -> bool:
    wishes = (
        (text(overrides, "metric"), _metric(template)),
        (text(overrides, "precision"), _precision(template)),
        (gpu_model(text(overrides, "gpuSelector", "model")), _gpu(template)),
    )
    if any(wish and wish != has for wish, has in wishes):
        return False
    count, has = at(overrides, "gpuSelector", "count"), _gpu_count(template)
    return not count or not has or count == has


def _runs(template: Found, gpus: frozenset[str] | None) -> bool:
    """Whether some node has its GPU; one that is in use all the time counts, too."""
    return gpus is None or not (gpu := _gpu(template)) or gpu in gpus


def _rank(template: Found) -> tuple[int, int, int, int]:
    return (
        _place(TYPES, _type(template)),
        _place(GPUS, _gpu(template)),
        _place(METRICS, _metric(template)),
        _place(PRECISIONS, _precision(template)),
    )


def _place(order: Sequence[str], value: str) -> int:
    return order.index(value) if value in order else len(order)


def _type(template: Found) -> str:
    return text(template.object, *_PROFILE, "type")


def _metric(template: Found) -> str:
    return text(template.object, *_PROFILE, "metric") or text(template.spec, "metric")


def _precision(template: Found) -> str:
    return text(template.object, *_PROFILE, "precision") or text(template.spec, "precision")


def _gpu(template: Found) -> str:
    return gpu_model(text(template.spec, "gpuSelector", "model") or text(template.object, *_PROFILE, "gpu"))


def _gpu_count(template: Found) -> Any:
    return at(template.object, *_PROFILE, "gpu_count") or at(template.spec, "gpuSelector", "count")
