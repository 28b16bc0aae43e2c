"""Pictures of a terminal, each drawn from what a command really prints: ``python -m tools.pictures.terminal``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from typing import Final

from tools.pictures.sources import FOLDER

COLUMNS: Final = 80
_CELL: Final = (8.4, 19)
"""Width and height of a character, in pixels, at 14 px."""
_PAD: Final = 14
_SGR: Final = re.compile(r"\033\[([\d;]*)m")
_CLASSES: Final = {"1": "b", "2": "d", "31;1": "r", "32": "g", "33": "y", "36": "c"}
_STYLE: Final = (
    "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#1c2330}.b{font-weight:700}"
    ".page{fill:#f5f7fa;stroke:#d6dbe3}"
    ".d{fill:#566072}.r{fill:#b3261e;font-weight:700}.g{fill:#1b6b3a}.y{fill:#7a5200}.c{fill:#0b57b0}"
    "@media(prefers-color-scheme:dark){text{fill:#e4e8ef}.page{fill:#12161d;stroke:#333c4a}.d{fill:#a3adbd}"
    ".r{fill:#ff8a80}.g{fill:#7bd49b}.y{fill:#f0b84a}.c{fill:#8ab8ff}}"
)
SCENES: Final = {"check": ("check", "--view", "models.yaml", "services.yaml")}
"""Name of the picture and of the folder with its files → the arguments of the command."""

Piece = tuple[str, str]
"""Characters, and the class of their colour."""


def drawn(name: str) -> str:
    """The picture of a scene, from a run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(FOLDER / name, folder, dirs_exist_ok=True)
        environment = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONPATH": str(FOLDER.parents[1])}
        command = [sys.executable, "-m", "webhook", *SCENES[name], "--color=always"]
        done = subprocess.run(  # noqa: S603 - this interpreter and this package
            command,
            cwd=folder,
            env=environment,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    shown = f"\033[2m$\033[0m \033[1mmodelgate {' '.join(SCENES[name])}\033[0m\n{done.stdout}"
    return _picture([row for line in shown.splitlines() for row in _rows(line)], SCENES[name])


def _picture(rows: list[list[Piece]], command: tuple[str, ...]) -> str:
    (wide, high), count = _CELL, len(rows)
    width, height = COLUMNS * wide + 2 * _PAD, count * high + 2 * _PAD
    texts = "\n".join(
        f"<text y='{_PAD + (number + 0.75) * high:.0f}'>{_spans(row)}</text>" for number, row in enumerate(rows)
    )
    label = escape(f"What modelgate {' '.join(command)} prints")
    size = f"viewBox='0 0 {width:.0f} {height:.0f}' width='{width:.0f}'"
    page = f"<rect class='page' x='.5' y='.5' width='{width - 1:.0f}' height='{height - 1:.0f}' rx='8'/>"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' aria-label='{label}'>"
    return f"{head}<style>{_STYLE}</style>{page}\n{texts}\n</svg>\n"


def _spans(row: list[Piece]) -> str:
    """Each piece at the place of its columns, in any font."""
    spans, column = [], 0
    for text, style in row:
        x, length = _PAD + column * _CELL[0], len(text) * _CELL[0]
        column += len(text)
        if text.strip():
            place = f"x='{x:.1f}' textLength='{length:.1f}' lengthAdjust='spacingAndGlyphs' xml:space='preserve'"
            spans.append(f"<tspan class='{style}' {place}>{escape(text)}</tspan>")
    return "".join(spans)


def _rows(line: str) -> Iterator[list[Piece]]:
    """The rows of a terminal that a line takes."""
    row, room = list[Piece](), COLUMNS
    for text, style in _pieces(line):
        rest = text
        while len(rest) > room:
            row.append((rest[:room], style))
            yield row
            rest, row, room = rest[room:], [], COLUMNS
        row.append((rest, style))
        room -= len(rest)
    yield row


def _pieces(line: str) -> Iterator[Piece]:
    parts, style = _SGR.split(line), ""
    for number, part in enumerate(parts):
        if number % 2:
            style = _CLASSES.get(part, "")
        elif part:
            yield part, style


if __name__ == "__main__":
    for each in SCENES:
        FOLDER.joinpath(f"{each}.svg").write_text(drawn(each), encoding="utf-8")
