"""The status of a template, as the services that use it inherit it."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.facts.aim.lookup import Found
from webhook.facts.nodes import items, trimmed

__all__ = ["Health", "health_of"]


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
