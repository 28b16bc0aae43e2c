"""What names give away: the one that a misspelt name means, the shards of a split model, and the quantization; and the
names and labels that are made of others.

Which model a file or a repository has by its name, and how many bytes a quantization takes, is in ``facts/memory``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from hashlib import sha256
from itertools import islice
from typing import Final

_MIN_RATIO: Final = 0.8
"""difflib's ratio: one wrong letter in a name of five, two in a name of ten."""
_MOST: Final = 1_000
"""Names to compare: each takes up to 50 µs."""


def nearest(name: str, names: Iterable[str]) -> str:
    """The most similar of some names, "" if none is similar."""
    close = get_close_matches(name[:253], islice(names, _MOST), n=1, cutoff=_MIN_RATIO)
    return close[0] if close else ""


def is_typo(written: str, meant: str) -> bool:
    """Whether two names differ at most by letter case and by one letter: missing, added, wrong, or swapped."""
    one, other = written.lower(), meant.lower()
    if abs(len(one) - len(other)) > 1:
        return False
    while one and one[:1] == other[:1]:
        one, other = one[1:], other[1:]
    swapped = one[:2] == other[1::-1] and one[2:] == other[2:]
    return swapped or other in (one[1:], one) or one == other[1:] or one[1:] == other[1:]


_SHARD: Final = re.compile(
    r"(?P<prefix>.*)-(?P<number>[0-9]{5})-of-(?P<total>[0-9]{5})(?P<suffix>\.(?:gguf|safetensors|bin))", re.IGNORECASE
)
"""The names of the parts of a split model: of llama.cpp, which finds the other parts by them, and of Hugging Face."""
_QUANTIZATION: Final = re.compile(
    r"(?:^|[-._/])(?P<name>(?:IQ|TQ|Q)[1-8](?:_[0-9A-Z]+)*|BF16|FP?16|FP?32|MXFP4)(?=[-.]|$)", re.IGNORECASE
)
_SHOWN: Final = 3
_MOST_FILES: Final = 10_000
"""Names that are looked at."""


def missing_shards(files: Iterable[str]) -> str:
    """The shards that are missing of the split files among some files, as a message lists them; "" if none is."""
    groups: dict[tuple[str, str, str], set[int]] = {}
    for name in islice(files, _MOST_FILES):
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


LABEL: Final = 63
"""Characters of a label's value, and of the name of a Service or Pod."""

_HASH: Final = 8


def named(name: str, limit: int = LABEL) -> str:
    """The name as a DNS label; one that must be changed ends with a hash, so that two names never become one."""
    fitting = re.sub("[^a-z0-9-]+", "-", name.lower()).strip("-")
    if fitting == name and len(name) <= limit:
        return name
    digest = sha256(name.encode(errors="replace")).hexdigest()[:_HASH]
    return f"{fitting[: limit - _HASH - 1].strip('-')}-{digest}"


def label(value: str) -> str:
    """A valid value of a label, as AIM's operator makes it."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", value).strip("_.-")[:LABEL].strip("_.-") or "unknown"
