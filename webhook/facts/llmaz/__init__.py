"""llmaz: what the rules of its kind may know beyond an object's text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.fact import Fact
from webhook.facts.llmaz.moment import moment_error

__all__ = ["FACTS", "moment_error"]


def _created_at(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    spec = model.get("spec")
    text = spec.get("createdAt") if isinstance(spec, dict) else None
    return {"error": moment_error(text) if isinstance(text, str | list) else ""}


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "OpenModel": {
        "createdAt": Fact(_created_at, {"type": "object", "properties": {"error": {"type": "string"}}}),
    }
}
