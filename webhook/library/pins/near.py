"""What is near to a file: by the folders that both are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
Rank = tuple[int, bool]


def distance(folder: Path, file: Path) -> Rank:
    """How far a file is from a folder: the fewer folders both are in, the farther. Of those that are equally far, a
    file that is in such a folder itself is nearer than one below it.
    """
    mine, theirs = folder.parts, file.parent.parts
    pairs = enumerate(zip(mine, theirs, strict=False))
    common = next((at for at, (one, other) in pairs if one != other), min(len(mine), len(theirs)))
    return -common, common < len(theirs)


def closest(items: Sequence[T], rank_of: Callable[[T], Rank]) -> list[T]:
    """The items with the lowest rank."""
    if len(items) < 2:
        return list(items)
    ranks = list(map(rank_of, items))
    lowest = min(ranks)
    return [item for item, rank in zip(items, ranks, strict=True) if rank == lowest]


def nearest(folder: Path, items: Sequence[T], file_of: Callable[[T], Path]) -> list[T]:
    """The items whose files are the nearest to a folder."""
    return closest(items, lambda item: distance(folder, file_of(item)))
