"""What the names of files give away: the shards of a split model, and the quantization."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

__all__ = ["first_shard", "missing_shards", "quantization_named", "quantization_of"]

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


def missing_shards(files: Iterable[str]) -> str:
    """The shards that are missing of the split files among some files, as a message lists them; "" if none is."""
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
    first = [*islice(missing, _SHOWN)]
    # Counted without a walk: names may claim a billion shards.
    there = ((int(total), numbers) for (_, total, _), numbers in groups.items())
    others = sum(total - sum(1 <= number <= total for number in numbers) for total, numbers in there) - len(first)
    return f"{', '.join(first)} and {others} more" if others else ", ".join(first)


def first_shard(name: str) -> str:
    """The name of the first shard, if a file is a later one of a split model; "" otherwise."""
    found = _SHARD.fullmatch(name)
    if found is None or int(found["number"]) < 2:
        return ""
    return f"{found['prefix']}-00001-of-{found['total']}{found['suffix']}"


def quantization_of(name: str) -> str:
    """The quantization that the name of a file tells; "" if it tells none, or several."""
    named = {_spelt(found) for found in _QUANTIZATION.finditer(name)}
    return named.pop() if len(named) == 1 else ""


def quantization_named(text: str) -> str:
    """The quantization that a text is, as :func:`quantization_of` spells it; "" if it is not one."""
    found = _QUANTIZATION.fullmatch(text)
    return "" if found is None else _spelt(found)


def _spelt(found: re.Match[str]) -> str:
    return found["name"].upper().replace("FP", "F")
