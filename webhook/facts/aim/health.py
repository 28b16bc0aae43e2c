"""What the status of a template means for the services that use it."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.facts.aim.lookup import Found
from webhook.facts.aim.nodes import items, text

__all__ = ["Health", "health_of"]


@dataclass(frozen=True, slots=True)
class Health:
    """``status`` is "" where none is known, ``because`` is what the operator says of a failure.

    ``sources``: whether discovery has found models, without which a template that is available serves nothing.
    """

    status: str = ""
    because: str = ""
    sources: bool = False


def health_of(template: Found | None) -> Health:
    if template is None:
        return Health()
    conditions = items(template.object, "status", "conditions")
    failures = (each for each in conditions if text(each, "type") == "Failure" and text(each, "status") == "True")
    because = next((text(failure, "message") for failure in failures), "")
    sources = any(text(source, "sourceUri") for source in items(template.object, "status", "modelSources"))
    return Health(text(template.object, "status", "status"), because, sources)
