"""Tables of text that fit a terminal. In a file or a pipe, a row is one line of any length."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Final, TextIO

__all__ = ["aligned", "terminal_width"]

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
