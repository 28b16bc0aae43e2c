"""llm-d: what the rules of its kind may know beyond an object's text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fact
from webhook.facts.llmd.shape import shape_of

__all__ = ["FACTS", "shape_of"]

_STRING: Final = {"type": "string"}
_KIND: Final = Kind("llmd.ai", "VariantAutoscaling")


def _shape(autoscaling: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    spec = autoscaling.get("spec")
    shape = shape_of(spec if isinstance(spec, dict) else {})
    return {"name": shape.name, "fields": shape.fields, "instead": shape.instead, "later": shape.later}


def _same_variant(autoscaling: dict[str, Any], view: ClusterView) -> list[str]:
    """Other VariantAutoscalings of the namespace with the same variantID, which is to identify one."""
    (namespace, name), variant = _key(autoscaling), _variant(autoscaling)
    if not variant:
        return []
    others = view.list(_KIND, namespace)
    return [key[1] for each in others if (key := _key(each))[1] != name and _variant(each) == variant]


def _key(obj: dict[str, Any]) -> tuple[str, str]:
    metadata = obj.get("metadata")
    found = metadata if isinstance(metadata, dict) else {}
    namespace, name = found.get("namespace"), found.get("name")
    return (namespace if isinstance(namespace, str) else "", name if isinstance(name, str) else "")


def _variant(obj: dict[str, Any]) -> str:
    spec = obj.get("spec")
    variant = spec.get("variantID") if isinstance(spec, dict) else None
    return variant if isinstance(variant, str) else ""


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "VariantAutoscaling": {
        "shape": Fact(
            _shape,
            {"type": "object", "properties": dict.fromkeys(("name", "fields", "instead", "later"), _STRING)},
            raw=True,
        ),
        "sameVariant": Fact(_same_variant, {"type": "array", "items": _STRING}),
    }
}
