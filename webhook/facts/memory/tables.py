"""The compiled tables: what the labels of nodes and the names of models mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson

TABLES: Final[dict[str, Any]] = orjson.loads(Path(__file__).with_name("tables.json").read_bytes())
"""The document that ``python -m tools.fit`` writes."""
