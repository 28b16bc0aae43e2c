"""Recorded children: whole objects as an operator made them, and what the API server refused of them.

A file names the release of its operator. Rows that are equal to those of the newest release are read from its file
beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.tables import read

FAMILY = "children/"

Case = dict[str, Any]


def is_children(document: Any) -> bool:
    """Whether a document is of this format."""
    return isinstance(document, Mapping) and {"release", "rows", "cases"} <= document.keys()


def children_cases(document: Mapping[str, Any], path: Path) -> Iterator[Case]:
    """A case for each row: the row, its ``api`` and its ``release`` ("" for the only one that is recorded)."""
    api = path.name.partition("-")[0].removesuffix(".json")
    release = str(document["release"]).removeprefix("v").partition(" ")[0] if api == "llmkube" else ""
    for row in (*document["cases"], *_equal(document, path)):
        op = f"{FAMILY}{api}" if "children" in row else f"{FAMILY}{api}-updates"
        yield {"id": row["id"], "op": op, "api": api, "release": release, "row": row}


def _equal(document: Mapping[str, Any], path: Path) -> Iterator[Case]:
    newest = path.with_name(f"{path.name.partition('-')[0]}-head.json")
    if document.get("equalToHead") and newest.exists():
        rows = {row["id"]: row for row in read(newest)["cases"]}
        yield from (rows[name] for name in document["equalToHead"] if name in rows)
