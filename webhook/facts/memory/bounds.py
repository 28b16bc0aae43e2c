"""A bound in bytes, with where it comes from, and the compiled tables that most bounds are read from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

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


TABLES: Final[dict[str, Any]] = orjson.loads(Path(__file__).with_name("tables.json").read_bytes())
"""The document that ``python -m tools.fit`` writes."""
