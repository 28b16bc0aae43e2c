"""The texts of the pictures: those written by hand, and the one that shows what `explain` says."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import fill
from typing import Final

from modelgate import Gate

FOLDER: Final = Path(__file__).parents[2] / "docs" / "pictures"
MARK: Final = "<!-- of the text with SHA-256 {} -->\n"
_WIDTH: Final = 44
"""Characters of a line in a box."""


def sources() -> dict[str, str]:
    """Name → text of D2."""
    written = {file.stem: file.read_text() for file in sorted(FOLDER.glob("*.d2"))}
    return {**written, "runtime": _runtimes(FOLDER / "runtime.yaml")}


def _runtimes(file: Path) -> str:
    """The choice among runtimes, as the library explains it."""
    *_, service = file.read_text().split("\n---\n")
    (table,) = (table for table in Gate(view=file).explain(service).tables if table.of)
    lines = ["direction: right", f"model: {_quoted(f'model {table.of}')}"]
    for number, (rank, name, kind, score, reason) in enumerate(table.rows):
        chosen = reason == "selected"
        said = f"{rank}. score {score}" if score else "not possible"
        box, why = f"{name}\n{kind}", fill(f"{said}: {reason}", _WIDTH, break_long_words=False, break_on_hyphens=False)
        lines.append(f"r{number}: {_quoted(box)} {{style.stroke-width: {4 if chosen else 2}}}")
        lines.append(f"why{number}: {_quoted(why)} {{shape: text}}")
        lines.append(f"model -> r{number}{'' if score else ': {style.stroke-dash: 4}'}")
        lines.append(f"r{number} -- why{number}: {{style.opacity: 0}}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
