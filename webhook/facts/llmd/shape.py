"""Tell the shapes that share ``llmd.ai/v1alpha1`` apart: they differ only in the fields of a VariantAutoscaling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Shape", "shape_of"]

_NEWER: Final = ("scaleTargetRef", "variantCost", "minReplicas", "maxReplicas")
_SHAPES: Final = (
    ("the oldest", ("modelName", "serviceClass", "acceleratorType"), "modelID, accelerator and variantProfile"),
    ("an older", ("modelProfile",), "one object for each accelerator, with accelerator and variantProfile"),
    ("a newer", _NEWER, "variantID, accelerator, sloClassRef and variantProfile"),
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
    for name, fields, instead in _SHAPES:
        if found := _named(spec, fields):
            return Shape(name, found, instead)
    return Shape()


def _named(spec: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    return ", ".join(field for field in fields if field in spec)
