"""What must be reached: each bar beside the figure that is measured for it, one line each."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.bench.report import Row, Table

__all__ = ["IN_PROCESS", "MANY_CLIENTS", "THROUGH_API_SERVER", "Bar", "beside"]

NOTE = (
    "The medians of the tables below, beside what they must be. A bar that is missed by less than the spread of its "
    "rounds is met, and the table says so. One that was not measured has no figure."
)


@dataclass(frozen=True, slots=True)
class Bar:
    """``limit`` is the most that a cell may be, or the ``least``."""

    table: str
    row: str
    column: str
    limit: float
    least: bool = False

    def __str__(self) -> str:
        return f"{self.table}: {self.row}, {self.column}"

    @property
    def text(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.limit:g}"

    def verdict(self, rounds: Sequence[float]) -> str:
        """Whether the median of the rounds meets the bar, or misses it by less than the rounds differ."""
        figure = statistics.median(rounds)
        missed = self.limit - figure if self.least else figure - self.limit
        if missed <= 0:
            return "yes"
        return "within the spread" if missed < max(rounds) - min(rounds) else "no"


def _calls(title: str, *limits: tuple[str, float]) -> list[Bar]:
    return [Bar(title, row, "whole call µs", limit) for row, limit in limits]


IN_PROCESS: Sequence[Bar] = (
    *_calls(
        "Stages",
        ("mutate: sparse Model", 65),
        ("validate: sparse Model", 80),
        ("mutate: full Model", 70),
        ("validate: full Model", 120),
        ("validate: Model with 14 findings", 200),
        ("validate: refused InferenceService, 15 KB", 1_500),
        ("mutate: InferenceService, 200 x 200 in view", 400),
        ("validate: InferenceService, 200 x 200 in view", 400),
    ),
    *_calls("Cold calls", ("mutate: sparse Model", 300), ("validate: sparse Model", 500)),
    Bar("Server", "/mutate sparse Model, 10 connections", "requests/s", 4_000, least=True),
    Bar("Server", "/validate sparse Model, 10 connections", "requests/s", 4_000, least=True),
    Bar("Start of the command line", "check one.yaml", "CPU s", 0.4),
    Bar("Start of the command line", "check one.yaml, in the image", "CPU s", 0.35),
    Bar("Start of the command line", "check of 1,000 documents", "CPU s", 2),
    Bar("Start of the server", "modelgate serve", "ready s", 1),
    Bar("Unrelated admission policies", "1,000 policies", "mutate ÷ none", 1.05),
    Bar("Unrelated admission policies", "1,000 policies", "validate ÷ none", 1.05),
    Bar("Unrelated objects in view", "100,000 objects", "mutate ÷ fewest", 1.1),
    Bar("Unrelated objects in view", "100,000 objects", "validate ÷ fewest", 1.1),
)

_RATIOS = "In relation to the Go webhook"
THROUGH_API_SERVER: Sequence[Bar] = (
    Bar(_RATIOS, "modelgate", "create p50 ms", 1.06),
    Bar(_RATIOS, "modelgate", "dry run p50 ms", 1.06),
    Bar(_RATIOS, "modelgate", "create p99 ms", 1.1),
    Bar(_RATIOS, "modelgate", "dry run p99 ms", 1.1),
    Bar(_RATIOS, "modelgate", "CPU ms/create", 0.7),
    Bar(_RATIOS, "modelgate", "creates/s", 0.97, least=True),
    Bar("Creates through the API server", "modelgate", "RSS MiB", 120),
)

_MANY = "Many clients, in relation"
MANY_CLIENTS: Sequence[Bar] = (
    Bar(_MANY, "modelgate, 200 clients", "p99 ÷ nothing", 1.25),
    *(Bar(_MANY, f"modelgate, {count} clients", "creates/s ÷ Go", 1, least=True) for count in (50, 200, 500)),
    *(Bar("Many clients", f"modelgate, {count} clients", "failed", 0) for count in (50, 200, 500)),
)


def beside(bars: Iterable[Bar], tables: Iterable[Table]) -> Table:
    """A table of the bars, each with its figure."""
    cells = {
        (table.title, row.name, column): cell
        for table in tables
        for row in table.rows
        for column, cell in row.cells.items()
    }
    found = Table("Bars", NOTE, ("bar", "measured", "met"))
    for bar in bars:
        cell = cells.get((bar.table, bar.row, bar.column), ())
        shown: dict[str, Sequence[float] | str] = {"bar": bar.text}
        if cell and not isinstance(cell, str):
            shown |= {"measured": cell, "met": bar.verdict(cell)}
        found.rows.append(Row(str(bar), shown))
    return found
