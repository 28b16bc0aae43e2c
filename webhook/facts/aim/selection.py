"""Select a template for a service that names none, as AIM does from release 0.2 on. Here it is an opt-in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from webhook.facts.aim.resources import gpu_model
from webhook.facts.nodes import Referent, at, mapping, trimmed

TYPES: Final = ("optimized",)
GPUS: Final = ("MI325X", "MI300X", "MI250X", "MI210")
METRICS: Final = ("latency", "throughput")
PRECISIONS: Final = ("fp4", "int4", "fp8", "int8", "fp16", "bf16", "fp32")
"""Each in order of preference. Unlisted values come last."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The selected template, or the reason why no template was selected."""

    template: Referent | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Offer:
    """The properties of a template. The profile takes precedence over the spec, except for the GPU model."""

    template: Referent
    type: str
    gpu: str
    gpus: Any
    metric: str
    precision: str

    @property
    def rank(self) -> tuple[int, ...]:
        """Lower is better."""
        said = ((TYPES, self.type), (GPUS, self.gpu), (METRICS, self.metric), (PRECISIONS, self.precision))
        return tuple(order.index(value) if value in order else len(order) for order, value in said)


def select(
    templates: Iterable[Referent], image: str, overrides: dict[str, Any], gpus: frozenset[str] | None = None
) -> Choice:
    """Select the best available template of an image that fits the overrides. A tie is an error.

    ``gpus`` are the GPU models on the nodes of the cluster, or None if they are unknown.
    """
    of_image = [template for template in templates if trimmed(template.spec, "aimImageName") == image]
    if not of_image:
        return Choice(error=f'No templates found for image "{image}"')
    available = [template for template in of_image if trimmed(template.object, "status", "status") == "Available"]
    if not available:
        return Choice(error="Waiting for templates to become Available")
    offers = [_offer(template) for template in available]
    fitting = [offer for offer in offers if _tuned(offer) and _fits(offer, overrides) and _runs(offer, gpus)]
    if not fitting:
        return Choice(error=f'No available templates match the service requirements for image "{image}"')
    nearest = [offer for offer in fitting if not offer.template.cluster_scoped] or fitting
    ranks = [offer.rank for offer in nearest]
    if (best := ranks.count(min(ranks))) > 1:
        return Choice(error=f'Multiple templates ({best}) satisfy image "{image}"')
    return Choice(nearest[ranks.index(min(ranks))].template)


def _offer(template: Referent) -> _Offer:
    spec, profile = template.spec, mapping(template.object, "status", "profile", "metadata")
    return _Offer(
        template,
        trimmed(profile, "type"),
        gpu_model(trimmed(spec, "gpuSelector", "model") or trimmed(profile, "gpu")),
        at(profile, "gpu_count") or at(spec, "gpuSelector", "count"),
        trimmed(profile, "metric") or trimmed(spec, "metric"),
        trimmed(profile, "precision") or trimmed(spec, "precision"),
    )


def _tuned(offer: _Offer) -> bool:
    """Whether the profile is optimized. Profiles of the document's release do not have a type and are accepted."""
    return offer.type in {"", *TYPES}


def _fits(offer: _Offer, overrides: dict[str, Any]) -> bool:
    wishes = (
        (trimmed(overrides, "metric"), offer.metric),
        (trimmed(overrides, "precision"), offer.precision),
        (gpu_model(trimmed(overrides, "gpuSelector", "model")), offer.gpu),
    )
    if any(wish and wish != said for wish, said in wishes):
        return False
    count = at(overrides, "gpuSelector", "count")
    return not count or not offer.gpus or count == offer.gpus


def _runs(offer: _Offer, gpus: frozenset[str] | None) -> bool:
    """Whether a node has the GPU model of the template, even if its GPUs are in use."""
    return gpus is None or not offer.gpu or offer.gpu in gpus
