"""llm-d: what the rules of its kind may know beyond an object's text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.fact import Fact
from webhook.facts.llmd.shape import shape_of

__all__ = ["FACTS", "shape_of"]

_STRING: Final = {"type": "string"}


def _shape(autoscaling: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    spec = autoscaling.get("spec")
    shape = shape_of(spec if isinstance(spec, dict) else {})
    return {"name": shape.name, "fields": shape.fields, "instead": shape.instead, "later": shape.later}


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "VariantAutoscaling": {
        "shape": Fact(
            _shape,
            {"type": "object", "properties": dict.fromkeys(("name", "fields", "instead", "later"), _STRING)},
            raw=True,
        ),
    }
}
