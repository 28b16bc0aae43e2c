"""What an LLMKube Model asks of its GPUs: the extended resource, the number, and how the layers are spread.

The resource is that of the operator before 0.9.8, where ``runtime: rocm`` is the same as none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = [
    "LayerSplit",
    "accelerator_resource",
    "gpu_count",
    "gpu_resource",
    "parse_layer_split",
    "split_mode",
    "tensor_split",
]

_DRI_RENDER: Final = "devic.es/dri-render"
_BY_VENDOR: Final = {"amd": "amd.com/gpu", "intel": "gpu.intel.com/i915"}
_NVIDIA: Final = "nvidia.com/gpu"
_RANGE: Final = re.compile(r"\s*\+?([0-9]+)\s*-\s*\+?([0-9]+)\s*\Z")
_INT64: Final = 2**63 - 1
_DIGITS: Final = 19  # of _INT64; Python's int refuses thousands of digits with an error


def gpu_resource(vendor: str = "", runtime: str = "", resource_name: str = "") -> str:
    """The extended resource that pods request. ``accelerator`` has no part in it."""
    if resource_name.strip():
        return resource_name.strip()
    vendor, runtime = vendor.strip().lower(), runtime.strip().lower()
    if vendor == "amd" and runtime == "vulkan":
        return _DRI_RENDER
    return _BY_VENDOR.get(vendor, _NVIDIA)


def accelerator_resource(accelerator: str, vendor: str = "", resource_name: str = "") -> str:
    """The extended resource whose presence on a node makes the accelerator ready; "" where nothing is needed."""
    if accelerator in {"", "cpu", "metal"}:
        return ""
    if resource_name.strip():
        return resource_name.strip()
    match accelerator, vendor:
        case "cuda", _:
            return _NVIDIA
        case "rocm", _:
            return _BY_VENDOR["amd"]
        case ("intel", _) | (_, "intel"):
            return _BY_VENDOR["intel"]
    return _DRI_RENDER if accelerator == "vulkan" else _NVIDIA


def gpu_count(model: int, service: int = 0) -> int:
    """GPUs per pod: the Model's number before the InferenceService's. ``gpu.enabled`` has no part in it."""
    return max(model, 0) or max(service, 0)


def split_mode(strategy: str) -> str:
    """llama.cpp's ``--split-mode`` of a sharding strategy; pipeline, which it does not have, is layer."""
    return {"tensor": "row", "row": "row", "none": "none"}.get(strategy, "layer")


@dataclass(frozen=True, slots=True)
class LayerSplit:
    """Ranges of layers, one per GPU.

    ``ratios`` are what llama.cpp is given, in lowest terms; empty where a range cannot be read,
    and then ``error`` names it: the operator splits evenly and says nothing. ``overlaps`` are
    pairs of ranges that share a layer, ``gaps`` ranges of layers that no GPU has.
    """

    ratios: tuple[int, ...] = ()
    error: str = ""
    overlaps: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def parse_layer_split(ranges: Sequence[str]) -> LayerSplit:
    """Read ``["0-15", "16-31"]``: first and last layer, both included, spaces around them allowed."""
    parsed = [_range(text) for text in ranges]
    spans = [span for span in parsed if span]
    if len(spans) < len(parsed):
        return LayerSplit(error=f"not a range of layers: {ranges[parsed.index(None)]!r}")
    sizes = [last - first + 1 for first, last in spans]
    divisor = math.gcd(*sizes) if sizes else 1
    ordered = sorted(spans)
    return LayerSplit(
        ratios=tuple(size // divisor for size in sizes),
        overlaps=tuple(_overlaps(ordered)),
        gaps=tuple(_gaps(ordered)),
    )


def tensor_split(count: int, ranges: Sequence[str]) -> tuple[int, ...]:
    """llama.cpp's ``--tensor-split`` for ``count`` GPUs: the ranges' ratios if there is one for each, else even."""
    ratios = parse_layer_split(ranges).ratios
    return ratios if len(ratios) == count else (1,) * count


def _range(text: str) -> tuple[int, int] | None:
    """First and last layer, or None. The operator cuts at the first hyphen and reads two int64 with Go's Atoi."""
    match = _RANGE.match(text)
    if match is None:
        return None
    digits = [number.lstrip("0") or "0" for number in match.groups()]
    if max(map(len, digits)) > _DIGITS:
        return None
    first, last = map(int, digits)
    return (first, last) if first <= last <= _INT64 else None


def _overlaps(ordered: Sequence[tuple[int, int]]) -> Iterator[str]:
    first, last = 0, -1  # of the range that reaches furthest so far
    for start, end in ordered:
        if start <= last:
            yield f"{first}-{last} and {start}-{end}"
        if end > last:
            first, last = start, end


def _gaps(ordered: Sequence[tuple[int, int]]) -> Iterator[str]:
    covered = -1
    for first, last in ordered:
        if first > covered + 1:
            yield f"{covered + 1}-{first - 1}"
        covered = max(covered, last)
