"""llm-d: the facts of its kind, and what they read.

The shapes that share ``llmd.ai/v1alpha1`` differ only in the fields of a VariantAutoscaling.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind, Unwatched
from webhook.facts.aim import gpu_model, models_on_nodes
from webhook.facts.fact import BOOLEAN, STRING, STRINGS, Fact, Knowledge, fields
from webhook.facts.fit import GpuLoad, Workload
from webhook.facts.memory import accelerator, model_of_repository, of_repository
from webhook.facts.nodes import mapping, text, whole
from webhook.facts.settings import Settings
from webhook.golang import strconv
from webhook.golang.errors import GoError

_NEWER: Final = ("scaleTargetRef", "variantCost", "minReplicas", "maxReplicas")
_SHAPES: Final = (
    ("the oldest", ("modelName", "serviceClass", "acceleratorType"), "modelID, accelerator and variantProfile"),
    (
        "an older",
        ("modelProfile",),
        "one object for each accelerator, with accelerator and variantProfile, or set releases.llmd if 0.4 runs",
    ),
    (
        "a newer",
        _NEWER,
        "variantID, accelerator, sloClassRef and variantProfile, or set releases.llmd if 0.5.0 or later runs",
    ),
)
"""(name, the fields that only this shape has, what to use instead)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a specification.

    ``name`` is "" for the shape with one variant. For another shape, ``fields`` are the fields that identify it, and
    ``instead`` is what to use. ``later`` are fields of a later form of the shape with one variant, or "".
    """

    name: str = ""
    fields: str = ""
    instead: str = ""
    later: str = ""


def shape_of(spec: Mapping[str, Any]) -> Shape:
    """Return the shape of a specification as the user wrote it."""
    if spec.get("variantID") is not None:
        return Shape(later=_named(spec, _NEWER))
    for name, names, instead in _SHAPES:
        if found := _named(spec, names):
            return Shape(name, found, instead)
    return Shape()


def _named(spec: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return ", ".join(name for name in names if name in spec)


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


def fit_of_variant(variant: dict[str, Any], view: ClusterView, settings: Settings, _: Sequence[str]) -> Workload | None:
    """What a variant says that its pods use: another object makes them."""
    name, field = text(variant, "spec", "accelerator"), "spec.accelerator"
    if not name:
        return None
    model = model_of_repository(text(variant, "spec", "modelID"))
    count = whole(variant, "spec", "acceleratorCount") or 1
    weights = of_repository(model, chosen_elsewhere=True) if model is not None and model.canonical else None
    load = GpuLoad(field, -1, count, "", weights, device=accelerator(name))
    there = None if settings.nodes == "off" else _models(view)
    return Workload(loads=[load] if count > 0 else [], accelerator=(field, gpu_model(name)), on_nodes=there)


def _models(view: ClusterView) -> frozenset[str] | None:
    try:
        return models_on_nodes(view)
    except Unwatched:
        return None


KNOWLEDGE: Final = Knowledge(
    FACTS, watched=frozenset([Kind("llmd.ai", "VariantAutoscaling")]), fits={"VariantAutoscaling": fit_of_variant}
)
