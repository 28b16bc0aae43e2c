"""The resources of one replica of a service."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from webhook.facts.aim.lookup import Found
from webhook.facts.nodes import at, mapping
from webhook.golang import quantity
from webhook.golang.errors import GoError

__all__ = ["GPU", "amount", "effective_resources", "profile_gpus"]

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


_LONGEST: Final = 100
"""Characters of a quantity that is read: the largest one has 19 digits, the finest 9 behind the point."""


@lru_cache(maxsize=1024)
def _number(text: str) -> Decimal | str:
    try:
        return quantity.parse(text).amount if len(text) <= _LONGEST else text
    except GoError:
        return text


def amount(value: Any) -> Any:
    """The number that a quantity means, to compare it with others; ``value`` itself if it is not a quantity."""
    return _number(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else value
