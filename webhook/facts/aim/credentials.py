"""The Hugging Face token that some images need to download their model."""

from __future__ import annotations

from typing import Any, Final

from webhook.facts.aim.lookup import Found
from webhook.facts.nodes import at, items, text

__all__ = ["lacks_token"]

_NAMES: Final = frozenset({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"})
"""The variables in which huggingface_hub looks for a token."""


def lacks_token(image: Found | None, *specs: Any) -> bool:
    """Whether an image requires a token, and no ``env`` or ``caching.env`` of the specifications contains one."""
    if image is None or at(image.object, "status", "imageMetadata", "model", "hfTokenRequired") is not True:
        return False
    variables = [each for spec in specs for each in (*items(spec, "env"), *items(spec, "caching", "env"))]
    return not any(text(each, "name") in _NAMES for each in variables)
