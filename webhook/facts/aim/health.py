"""Whether a service can run: the status of its template, and the Hugging Face token that some images need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from webhook.facts.aim.lookup import Found
from webhook.facts.nodes import at, items, text, trimmed

__all__ = ["Health", "health_of", "lacks_token"]


@dataclass(frozen=True, slots=True)
class Health:
    """``status`` is "" if it is unknown; ``because`` is the operator's message for a failure.

    ``sources``: whether discovery found models. An available template without models serves nothing.
    """

    status: str = ""
    because: str = ""
    sources: bool = False


def health_of(template: Found | None) -> Health:
    if template is None:
        return Health()
    conditions = items(template.object, "status", "conditions")
    failures = (each for each in conditions if trimmed(each, "type") == "Failure" and trimmed(each, "status") == "True")
    because = next((trimmed(failure, "message") for failure in failures), "")
    sources = any(trimmed(source, "sourceUri") for source in items(template.object, "status", "modelSources"))
    return Health(trimmed(template.object, "status", "status"), because, sources)


_NAMES: Final = frozenset({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"})
"""The variables in which huggingface_hub looks for a token."""


def lacks_token(image: Found | None, *specs: Any) -> bool:
    """Whether an image requires a token, and no ``env`` or ``caching.env`` of the specifications contains one."""
    if image is None or at(image.object, "status", "imageMetadata", "model", "hfTokenRequired") is not True:
        return False
    variables = [each for spec in specs for each in (*items(spec, "env"), *items(spec, "caching", "env"))]
    return not any(text(each, "name") in _NAMES for each in variables)
