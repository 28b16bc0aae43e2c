"""The resources of one replica of a service."""

from __future__ import annotations

from typing import Any, Final

from webhook.facts.aim.lookup import Found
from webhook.facts.aim.nodes import at, mapping

__all__ = ["GPU", "effective_resources", "profile_gpus"]

GPU: Final = "amd.com/gpu"


def effective_resources(
    service: dict[str, Any], template: dict[str, Any], image: dict[str, Any], gpus: int = 0
) -> dict[str, Any]:
    """Return the first resources block of the service, template and image, as a whole.

    ``gpus`` is the number that discovery found for the profile. It is filled in if the block does not name GPUs.
    """
    blocks = (at(spec, "resources") for spec in (service, template, image))
    chosen: dict[str, Any] = next((block for block in blocks if isinstance(block, dict)), {})
    if gpus < 1:
        return chosen
    return {**chosen, **{part: {GPU: gpus, **mapping(chosen, part)} for part in ("requests", "limits")}}


def profile_gpus(template: Found | None) -> int:
    """The number of GPUs of a template's discovered profile, 0 if it is unknown."""
    value = at(template.object, "status", "profile", "metadata", "gpu_count") if template else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
