"""What is near to a file: by the folders that both are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

__all__ = ["nearest"]

T = TypeVar("T")


def nearest(folder: Path, others: Sequence[T], file_of: Callable[[T], Path]) -> list[T]:
    """The others whose files have the most folders in common with a folder; above those in other folders below these,
    the ones that are in such a folder itself.
    """
    if len(others) < 2:
        return list(others)
    ranks = [_distance(folder.parts, file_of(other).parent.parts) for other in others]
    return [other for other, rank in zip(others, ranks, strict=True) if rank == min(ranks)]


def _distance(mine: Sequence[str], theirs: Sequence[str]) -> tuple[int, bool]:
    pairs = enumerate(zip(mine, theirs, strict=False))
    common = next((at for at, (one, other) in pairs if one != other), min(len(mine), len(theirs)))
    return -common, common < len(theirs)
