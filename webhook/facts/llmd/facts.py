"""The facts of llm-d's kind."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fact
from webhook.facts.llmd.shape import shape_of
from webhook.facts.nodes import mapping, text
from webhook.facts.schemas import BOOLEAN, STRING, STRINGS, fields
from webhook.golang import strconv
from webhook.golang.errors import GoError

__all__ = ["FACTS"]

_KIND: Final = Kind("llmd.ai", "VariantAutoscaling")
_PARAMETERS: Final = (("decodeParms", ("alpha", "beta")), ("prefillParms", ("gamma", "delta")))


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


def _float32(written: str) -> float | None:
    """The number that ``strconv.ParseFloat(written, 32)`` reads; None for a text or a size that it refuses."""
    try:
        return float(struct.unpack("f", struct.pack("f", strconv.parse_float(written)))[0])
    except (GoError, OverflowError):
        return None


def _parameters(autoscaling: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    """The written values of the parameters that the controller cannot work with, and those that it reads as 0."""
    groups = (
        (mapping(autoscaling, "spec", "variantProfile", "perfParms", group), names) for group, names in _PARAMETERS
    )
    written = {each: _float32(each) for of, names in groups for each in map(of.get, names) if isinstance(each, str)}
    return {
        "unusable": [each for each, number in written.items() if number is None or not 0 <= number < math.inf],
        "zero": [each for each, number in written.items() if number == 0],
    }


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "VariantAutoscaling": {
        "shape": Fact(
            _shape,
            fields(**dict.fromkeys(("name", "fields", "instead", "later"), STRING)),
            raw=True,
        ),
        "sameVariant": Fact(_same_variant, BOOLEAN),
        "parameters": Fact(_parameters, fields(unusable=STRINGS, zero=STRINGS)),
    }
}
