"""The bars that the gate is held to, and the table of what a run has measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HEAD = ("| part | what is measured | figure | bar | verdict | note |", "|---|---|---|---|---|---|")
MARKS = ("<!-- hostile: begin -->\n", "<!-- hostile: end -->\n")


@dataclass(frozen=True)
class Row:
    """One figure. ``bar`` is what it must not exceed; ``met`` is None for a figure without a bar."""

    part: str
    name: str
    figure: float
    unit: str = ""
    bar: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.bar is None else self.figure <= self.bar

    @property
    def verdict(self) -> str:
        return {None: "", True: "met", False: "NOT MET"}[self.met]


@dataclass
class Report:
    """All figures of a run, and the parts that could not run, with the reason."""

    rows: list[Row] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def add(
        self, part: str, name: str, figure: float, unit: str = "", bar: float | None = None, note: str = ""
    ) -> None:
        row = Row(part, name, round(figure, 2), unit, bar if bar is None else round(bar, 2), note)
        self.rows.append(row)
        print(_line(row), flush=True)

    def skip(self, part: str, why: str) -> None:
        self.skipped.append((part, why))
        print(f"{part:12} skipped: {why}", flush=True)

    @property
    def missed(self) -> list[Row]:
        return [row for row in self.rows if row.met is False]

    def write(self, path: Path) -> None:
        """The report as JSON: ``rows`` with their verdicts, and ``skipped``."""
        rows = [{**asdict(row), "met": row.met} for row in self.rows]
        path.write_text(json.dumps({"rows": rows, "skipped": self.skipped}, indent=1) + "\n")


def read(path: Path) -> Report:
    """A report that ``write`` has written."""
    found = json.loads(path.read_text())
    rows = [Row(**{key: value for key, value in row.items() if key != "met"}) for row in found["rows"]]
    return Report(rows, [(part, why) for part, why in found["skipped"]])


def publish(report: Report, page: Path, *, whole: bool = True) -> None:
    """Write the figures of a report between the marks of a page. Parts that it has not measured stay as they are.

    A report that is not ``whole`` has some figures of its parts; the others stay, too.
    """
    before, rest = page.read_text().split(MARKS[0])
    table, after = rest.split(MARKS[1])
    lines = [line for line in table.splitlines() if line.startswith("| ") and line not in HEAD]
    new = [*_page(report)]
    cells = 1 if whole else 2
    measured = {_cells(line, cells) for line in new}
    rows = [line for line in lines if _cells(line, cells) not in measured] + new
    parts = {part: place for place, part in reversed([*enumerate(_cells(line, 1) for line in (*lines, *new))])}
    rows.sort(key=lambda line: parts[_cells(line, 1)])
    page.write_text(before + MARKS[0] + "\n" + "\n".join([*HEAD, *rows]) + "\n\n" + MARKS[1] + after)


def _cells(line: str, count: int) -> tuple[str, ...]:
    """The first cells of a row: its part, and the name of its figure."""
    return tuple(cell.strip() for cell in line.split("|")[1 : 1 + count])


def _page(report: Report) -> Iterator[str]:
    for row in report.rows:
        figure = _figure(row.figure, row.unit)
        yield f"| {row.part} | {row.name} | {figure} | {_bar(row)} | {row.verdict} | {row.note} |"
    for part, why in report.skipped:
        yield f"| {part} | not run | | | skipped | {why} |"


def _line(row: Row) -> str:
    bar = f"≤ {_bar(row)}" if row.bar is not None else ""
    figure = _figure(row.figure, row.unit)
    return f"{row.part:12} {row.name:58} {figure:>14} {bar:>14} {row.verdict:8} {row.note}".rstrip()


def _figure(value: Any, unit: str) -> str:
    return f"{value:g} {unit}".rstrip()


def _bar(row: Row) -> str:
    return "" if row.bar is None else _figure(row.bar, row.unit)
