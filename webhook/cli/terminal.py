"""What fits a person at a terminal: tables that fold, and how far a long run is.

In a file or a pipe, a row of a table is one line of any length, and nothing is said of the run.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Final, TextIO, TypeVar

_GAP: Final = "  "
_NARROW: Final = 12
"""A column is not made narrower than this."""

Paint = Callable[[int, Sequence[str], str], str]
"""The number of a column, its row, and the padded cell → the cell in colour."""


def terminal_width(stream: TextIO | None = None) -> int | None:
    """The columns of the terminal that a stream is, or None."""
    stream = sys.stdout if stream is None else stream
    return shutil.get_terminal_size().columns if stream.isatty() else None


def aligned(
    rows: Sequence[Sequence[str]], width: int | None = None, least: Sequence[int] = (), paint: Paint | None = None
) -> Iterator[str]:
    """The lines of a table. ``least`` are widths of columns; ``width`` is that of the terminal, in which cells fold."""
    columns = [max(map(len, cells)) for cells in zip_longest(*rows, fillvalue="")]
    columns = [max(each) for each in zip_longest(columns, least[: len(columns)], fillvalue=0)]
    room = None if width is None else width - len(_GAP) * (len(columns) - 1)
    while room is not None and sum(columns) > room and max(columns) > _NARROW:
        columns[columns.index(max(columns))] -= 1
    for row in rows:
        folded = [(len(cell) > size and wrap(cell, size)) or [cell] for cell, size in zip(row, columns, strict=True)]
        for cells in zip_longest(*folded, fillvalue=""):
            padded = [cell.ljust(size) for cell, size in zip(cells, columns, strict=True)]
            if paint is not None:
                padded = [paint(number, row, cell) for number, cell in enumerate(padded)]
            yield _GAP.join(padded).rstrip()


_BAR: Final = 24
"""Characters of a bar."""


def bar(share: float) -> str:
    """A bar that is full by this share; ``|`` is where the whole ends, if the share is more than 1."""
    if share > 1:
        end = max(1, int(_BAR / share))
        return f"[{'#' * end}|{'#' * (_BAR - end - 1)}]"
    width = round(_BAR * share)
    return f"[{'#' * width}{'.' * (_BAR - width)}]"


T = TypeVar("T")

_PAUSE: Final = 0.2
"""Seconds between two lines: more are not read."""
_PATIENCE: Final = 1.0
"""Seconds without a line: most runs are over by then."""


def progress(items: Sequence[T], what: str) -> Iterator[T]:
    """The items; while they are used, "what: 1,200 of 10,000" is shown, and removed at the end."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield from items
        return
    due, shown = time.monotonic() + _PATIENCE, False
    for number, item in enumerate(items):
        if time.monotonic() >= due:
            print(f"\r\033[K{what}: {number:,} of {len(items):,}", end="", file=stream, flush=True)
            due, shown = time.monotonic() + _PAUSE, True
        yield item
    if shown:
        print("\r\033[K", end="", file=stream, flush=True)
