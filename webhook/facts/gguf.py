"""What the names of files give away: the shards of a split model, and the quantization."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

__all__ = ["missing_shards", "quantization_named", "quantization_of"]

_SHARD: Final = re.compile(
    r"(?P<prefix>.*)-(?P<number>[0-9]{5})-of-(?P<total>[0-9]{5})(?P<suffix>\.(?:gguf|safetensors|bin))", re.IGNORECASE
)
"""The names of the parts of a split model: of llama.cpp, which finds the other parts by them, and of Hugging Face."""
_QUANTIZATION: Final = re.compile(
    r"(?:^|[-._/])(?P<name>(?:IQ|TQ|Q)[1-8](?:_[0-9A-Z]+)*|BF16|FP?16|FP?32|MXFP4)(?=[-.]|$)", re.IGNORECASE
)
_SHOWN: Final = 3
_MOST: Final = 10_000
"""Names that are looked at."""


def missing_shards(files: Iterable[str]) -> list[str]:
    """The first shards that are missing of the split files among some files."""
    groups: dict[tuple[str, str, str], set[int]] = {}
    for name in islice(files, _MOST):
        found = _SHARD.fullmatch(name)
        if found is not None:
            groups.setdefault((found["prefix"], found["total"], found["suffix"]), set()).add(int(found["number"]))
    missing = (
        f"{prefix}-{number:05}-of-{total}{suffix}"
        for (prefix, total, suffix), numbers in groups.items()
        for number in range(1, int(total) + 1)
        if number not in numbers
    )
    return list(islice(missing, _SHOWN))


def quantization_of(files: Iterable[str]) -> str:
    """The quantization that the names of files agree on; "" if there is none."""
    named = {_spelt(found) for name in islice(files, _MOST) for found in _QUANTIZATION.finditer(name)}
    return named.pop() if len(named) == 1 else ""


def quantization_named(text: str) -> str:
    """The quantization that a text is, as :func:`quantization_of` spells it; "" if it is not one."""
    found = _QUANTIZATION.fullmatch(text)
    return "" if found is None else _spelt(found)


def _spelt(found: re.Match[str]) -> str:
    return found["name"].upper().replace("FP", "F")
