"""Facts for the rules of llmaz: values that take Python to compute from an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.fact import Fact
from webhook.facts.llmaz.moment import moment_error
from webhook.facts.nodes import at
from webhook.facts.schemas import STRING, fields

__all__ = ["FACTS", "moment_error"]


def _created_at(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    created = at(model, "spec", "createdAt")
    return {"error": moment_error(created) if isinstance(created, str | list) else ""}


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "OpenModel": {
        "createdAt": Fact(_created_at, fields(error=STRING)),
    }
}
