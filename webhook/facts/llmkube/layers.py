"""Ranges of the layers of a model, one for each GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_RANGE: Final = re.compile(r"\s*\+?([0-9]+)\s*-\s*\+?([0-9]+)\s*\Z")
_INT64: Final = 2**63 - 1
_DIGITS: Final = 19  # of _INT64; Python's int raises ValueError for thousands of digits


class LayerSplit(NamedTuple):
    """Ranges of layers, one per GPU.

    ``error`` names an invalid range; the operator then silently splits evenly. ``overlaps`` are
    pairs of ranges that share a layer. ``gaps`` are ranges of layers that no GPU has.
    """

    error: str
    overlaps: list[str]
    gaps: list[str]


def parse_layer_split(ranges: Sequence[str]) -> LayerSplit:
    """Parse ``["0-15", "16-31"]``: first and last layer, both inclusive, with optional spaces around them."""
    spans, overlaps, gaps = [], [], []
    for given in ranges:
        if (span := layer_range(given)) is None:
            return LayerSplit(f"not a range of layers: {given!r}", [], [])
        spans.append(span)
    first, last = 0, -1  # the range with the highest end so far
    for start, end in sorted(spans):
        if start <= last:
            overlaps.append(f"{first}-{last} and {start}-{end}")
        elif start > last + 1:
            gaps.append(f"{last + 1}-{start - 1}")
        if end > last:
            first, last = start, end
    return LayerSplit("", overlaps, gaps)


def layer_range(text: str) -> tuple[int, int] | None:
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
