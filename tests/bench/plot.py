"""Tables of the page as pictures: a bar for each figure, and a line from the smallest to the largest sample.

``--publish`` draws it of the page that it has written, so that a test can tell whether they are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.report import PAGE

__all__ = ["CREATES", "MANY_CLIENTS", "PLOTS", "Plot"]

_CELL: Final = re.compile(r"([\d.,]+)(?: \(([\d.,]+) to ([\d.,]+)\))?")

_BARS, _RIGHT, _TOP = 314, 46, 56
_BAR, _ROW = 13, 40
_STYLE: Final = """\
text{font:14px sans-serif;fill:#1f2328}.b{fill:#fff}.p50{fill:#3b6fb6}.p99{fill:#a9c4e8}line{stroke:#1f2328}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.b{fill:#0d1117}.p50{fill:#6ea8fe}.p99{fill:#35568a}line{stroke:#e6edf3}}
"""


class _Figure(NamedTuple):
    """The text of a median, with the samples around it."""

    text: str
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, cell: str) -> _Figure:
        found = _CELL.fullmatch(cell)
        if found is None:
            raise ValueError(f"{cell!r} is not a figure")
        median, least, most = (float((text or found[1]).replace(",", "")) for text in found.groups())
        return cls(found[1], median, least, most)


class Plot(NamedTuple):
    """The picture of a table: the columns of its median and of its 99th percentile."""

    name: str
    table: str
    columns: tuple[str, str]
    left: int
    """Pixels for the names of the rows."""

    @property
    def path(self) -> Path:
        return PAGE.parent / "pictures" / f"{self.name}.svg"

    def drawn(self, page: str) -> str:
        """Its figures on the page."""
        return _drawn(self, dict(_figures(page, self)))


CREATES: Final = Plot("creates", "Creates through the API server", ("create p50 ms", "create p99 ms"), 160)
MANY_CLIENTS: Final = Plot("clients", "Many clients", ("p50 ms", "p99 ms"), 250)
PLOTS: Final = (CREATES, MANY_CLIENTS)


def _drawn(plot: Plot, figures: dict[str, Sequence[_Figure]]) -> str:
    scale = _BARS / max(each.most for row in figures.values() for each in row)
    width = plot.left + _BARS + _RIGHT
    height = _TOP + _ROW * len(figures) + 8
    said = "; ".join(f"{name}: {row[0].text} and {row[1].text}" for name, row in figures.items())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}">',
        f"<title>{plot.table}: median and 99th percentile in milliseconds</title>",
        f"<desc>{escape(said)}</desc><style>{_STYLE}</style>",
        f'<rect class="b" width="{width}" height="{height}"/>',
        *_legend(plot),
        *(
            part
            for number, (name, row) in enumerate(figures.items())
            for part in _row(plot.left, number, name, row, scale)
        ),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _figures(page: str, plot: Plot) -> Iterator[tuple[str, Sequence[_Figure]]]:
    """The name and the figures of each row of the table."""
    table = page.partition(f"### {plot.table}\n")[2].partition("\n### ")[0]
    head, *rows = re.findall(r"^\| (.*) \|$", table, re.MULTILINE)
    places = [head.split(" | ").index(each) for each in plot.columns]
    for row in rows:
        cells = row.split(" | ")
        yield cells[0], [_Figure.of(cells[place]) for place in places]


def _legend(plot: Plot) -> Iterator[str]:
    yield f'<text x="12" y="22" font-weight="bold">{plot.table}, ms</text>'
    for place, (name, meaning) in enumerate((("p50", "median"), ("p99", "99th percentile"))):
        x = plot.left + 90 * place
        yield f'<rect class="{name}" x="{x}" y="34" width="12" height="12"/><text x="{x + 18}" y="45">{meaning}</text>'


def _row(left: int, number: int, name: str, row: Sequence[_Figure], scale: float) -> Iterator[str]:
    top = _TOP + _ROW * number
    yield f'<text x="{left - 10}" y="{top + _BAR + 7}" text-anchor="end">{escape(name)}</text>'
    for place, (kind, each) in enumerate(zip(("p50", "p99"), row, strict=True)):
        y = top + 3 + place * (_BAR + 2)
        middle, (least, most) = y + _BAR / 2, (left + scale * value for value in (each.least, each.most))
        yield f'<rect class="{kind}" x="{left}" y="{y}" width="{scale * each.median:.1f}" height="{_BAR}"/>'
        yield f'<line x1="{least:.1f}" x2="{most:.1f}" y1="{middle}" y2="{middle}"/>'
        yield f'<text x="{most + 8:.1f}" y="{y + _BAR - 2}">{each.text}</text>'
