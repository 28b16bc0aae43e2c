"""A bound in bytes, with where it comes from."""

from __future__ import annotations

from typing import Final, NamedTuple

GIB: Final = 2**30


class Bound(NamedTuple):
    """A lower bound of what is needed, or an upper one of what there is.

    ``certain``: no setup is known in which it is wrong. ``source`` names the fact that it comes from.
    """

    bytes: int
    certain: bool
    source: str


def gib(number: float) -> str:
    """Bytes for people: ``35.6 GiB``, ``24 GiB``."""
    return f"{number / GIB:.1f}".removesuffix(".0") + " GiB"
