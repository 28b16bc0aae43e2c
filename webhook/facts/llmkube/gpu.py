"""GPUs of an LLMKube Model: the resource that makes its accelerator ready, and the split of its layers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["LayerSplit", "accelerator_resource", "parse_layer_split"]

_RESOURCES: Final = {"rocm": "amd.com/gpu", "intel": "gpu.intel.com/i915", "vulkan": "devic.es/dri-render"}
_RANGE: Final = re.compile(r"\s*\+?([0-9]+)\s*-\s*\+?([0-9]+)\s*\Z")
_INT64: Final = 2**63 - 1
_DIGITS: Final = 19  # of _INT64; Python's int raises ValueError for thousands of digits


def accelerator_resource(accelerator: str, resource_name: str = "") -> str:
    """Return the extended resource whose presence on a node makes the accelerator ready, or "" if none is needed.

    For vulkan that of the API document, for Intel's GPUs, too.
    """
    if accelerator in {"", "cpu", "metal"}:
        return ""
    if resource_name.strip():
        return resource_name.strip()
    return _RESOURCES.get(accelerator, "nvidia.com/gpu")


@dataclass(frozen=True, slots=True)
class LayerSplit:
    """Ranges of layers, one per GPU.

    ``error`` names an invalid range; the operator then silently splits evenly. ``overlaps`` are
    pairs of ranges that share a layer. ``gaps`` are ranges of layers that no GPU has.
    """

    error: str = ""
    overlaps: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def parse_layer_split(ranges: Sequence[str]) -> LayerSplit:
    """Parse ``["0-15", "16-31"]``: first and last layer, both inclusive, with optional spaces around them."""
    parsed = [_range(text) for text in ranges]
    spans = [span for span in parsed if span]
    if len(spans) < len(parsed):
        return LayerSplit(error=f"not a range of layers: {ranges[parsed.index(None)]!r}")
    ordered = sorted(spans)
    return LayerSplit(overlaps=tuple(_overlaps(ordered)), gaps=tuple(_gaps(ordered)))


def _range(text: str) -> tuple[int, int] | None:
    """Parse one range, or return None. The operator splits at the first hyphen and parses two int64 with Go's Atoi."""
    match = _RANGE.match(text)
    if match is None:
        return None
    start, end = match.groups()
    if len(start) < _DIGITS and len(end) < _DIGITS:
        first, last = int(start), int(end)
        return (first, last) if first <= last else None
    digits = [number.lstrip("0") or "0" for number in match.groups()]
    if max(map(len, digits)) > _DIGITS:
        return None
    first, last = map(int, digits)
    return (first, last) if first <= last <= _INT64 else None


def _overlaps(ordered: Sequence[tuple[int, int]]) -> Iterator[str]:
    first, last = 0, -1  # the range with the highest end so far
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
