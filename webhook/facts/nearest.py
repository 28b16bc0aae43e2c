"""The names that a misspelt one may mean."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Final

__all__ = ["is_typo", "nearest"]

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
