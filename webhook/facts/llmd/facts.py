"""The facts of llm-d's kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fact
from webhook.facts.llmd.shape import shape_of
from webhook.facts.nodes import mapping, text
from webhook.facts.schemas import BOOLEAN, STRING, fields

__all__ = ["FACTS"]

_KIND: Final = Kind("llmd.ai", "VariantAutoscaling")


def _shape(autoscaling: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    shape = shape_of(mapping(autoscaling, "spec"))
    return {"name": shape.name, "fields": shape.fields, "instead": shape.instead, "later": shape.later}


def _same_variant(autoscaling: dict[str, Any], view: ClusterView) -> bool:
    """Whether another VariantAutoscaling of the namespace has the same variantID, which must be unique."""
    name, variant = text(autoscaling, "metadata", "name"), text(autoscaling, "spec", "variantID")
    if not variant:
        return False
    same = (
        text(each, "metadata", "name")
        for each in view.list(_KIND, text(autoscaling, "metadata", "namespace"))
        if text(each, "spec", "variantID") == variant
    )
    return any(other != name for other in same)


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "VariantAutoscaling": {
        "shape": Fact(
            _shape,
            fields(**dict.fromkeys(("name", "fields", "instead", "later"), STRING)),
            raw=True,
        ),
        "sameVariant": Fact(_same_variant, BOOLEAN),
    }
}
