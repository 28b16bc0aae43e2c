"""The compiled tables, read once: what the labels of nodes and the names of models mean."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson

Table = dict[str, Any]


@cache
def tables() -> Table:
    """The document that ``python -m tools.fit`` writes."""
    read: Table = orjson.loads(Path(__file__).with_name("tables.json").read_bytes())
    return read
