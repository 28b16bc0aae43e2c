"""The codes that a user means who has written one that does not exist."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_WRONG: Final = 2
"""Letters that may be wrong in a code, of which each has five."""
_SHOWN: Final = 3


def similar(code: str, codes: Collection[str]) -> list[str]:
    """The codes that differ in the fewest letters, the nearest numbers first; none if all are very different."""
    written = code.upper()[:20]
    distances = {one: _distance(written, one.upper()) for one in codes}
    least = min(distances.values(), default=_WRONG + 1)
    near = [one for one, distance in distances.items() if distance == least <= _WRONG]
    return sorted(near, key=lambda one: (abs(_number(one) - _number(written)), one))[:_SHOWN]


def _distance(one: str, other: str) -> int:
    """The letters to add, remove or change to make one of the other: Levenshtein's distance."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        above, row = row, [number]
        for place, other_letter in enumerate(other):
            row.append(min(row[-1] + 1, above[place + 1] + 1, above[place] + (letter != other_letter)))
    return row[-1]


def _number(code: str) -> int:
    """The number in a code, of which a written one may have too few or too many digits."""
    return int(f"{''.join(filter(str.isdecimal, code))}000"[:3])
