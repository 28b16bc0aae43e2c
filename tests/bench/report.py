"""What benchmarks found: tables of raw samples, as Markdown and as JSON, with the machine and the versions."""

from __future__ import annotations

import json
import os
import platform
import ssl
import statistics
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["PAGE", "Row", "Table", "document", "machine", "markdown", "published"]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
_PACKAGES = ("uvicorn", "uvloop", "httptools", "orjson", "starlette", "cryptography")


@dataclass(frozen=True, slots=True)
class Row:
    """One line: samples by column, in the unit of the column. A text stands for itself."""

    name: str
    cells: Mapping[str, Sequence[float] | str]


@dataclass(frozen=True, slots=True)
class Table:
    """``columns`` are names with their units; ``note`` says what is measured, and how."""

    title: str
    note: str
    columns: Sequence[str]
    rows: list[Row] = field(default_factory=list)

    def markdown(self) -> str:
        head = f"| what | {' | '.join(self.columns)} |\n|---|{'---|' * len(self.columns)}"
        cells = ([row.name, *(_cell(row.cells.get(name, ())) for name in self.columns)] for row in self.rows)
        lines = (f"| {' | '.join(each)} |" for each in cells)
        return "\n".join([f"### {self.title}", "", self.note, "", head, *lines, ""])

    def raw(self) -> dict[str, Any]:
        rows = [
            {
                "name": row.name,
                "cells": {name: cell if isinstance(cell, str) else _summary(cell) for name, cell in row.cells.items()},
            }
            for row in self.rows
        ]
        return {"title": self.title, "note": self.note, "columns": list(self.columns), "rows": rows}


def _cell(cell: Sequence[float] | str) -> str:
    if isinstance(cell, str):
        return cell
    if not cell:
        return "-"
    middle = _number(statistics.median(cell))
    return middle if len(cell) == 1 else f"{middle} ({_number(min(cell))} to {_number(max(cell))})"


def _number(value: float) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def _summary(cell: Sequence[float]) -> dict[str, Any]:
    if not cell:
        return {"samples": []}
    return {"min": min(cell), "median": statistics.median(cell), "max": max(cell), "samples": list(cell)}


def machine() -> dict[str, str]:
    """Where and with what it was measured."""
    cpu = next((line.partition(":")[2] for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "CPU": f"{cpu.strip() or platform.processor()}, {len(os.sched_getaffinity(0))} cores for the benchmark",
        "memory": f"{int(memory) / 2**20:.1f} GiB",
        "kernel": platform.release(),
        "Python": f"{platform.python_version()}, {ssl.OPENSSL_VERSION}",
        "packages": ", ".join(f"{name} {version(name)}" for name in _PACKAGES),
        "modelgate": f"{version('modelgate')}, commit {commit}",
        "load before": f"{os.getloadavg()[0]:.2f}",
    }


def _lines(path: str) -> Iterable[str]:
    place = Path(path)
    return place.read_text().splitlines() if place.exists() else ()


def document(where: Mapping[str, str], tables: Sequence[Table]) -> str:
    """The report as JSON, with every sample."""
    return json.dumps({"machine": dict(where), "tables": [each.raw() for each in tables]}, indent=1)


def markdown(where: Mapping[str, str], tables: Sequence[Table]) -> str:
    """The report as Markdown: median (smallest to largest)."""
    about = "\n".join(f"- {name}: {value}" for name, value in where.items())
    return "\n".join([about, "", *(each.markdown() for each in tables)])


def published(page: str, section: str, text: str) -> str:
    """The page with the text between the comments that mark its section."""
    start, end = f"<!-- {section}: start -->", f"<!-- {section}: end -->"
    before, first, rest = page.partition(start)
    _, second, after = rest.partition(end)
    if not first or not second:
        raise ValueError(f"{PAGE.name} has no section between {start} and {end}")
    return f"{before}{start}\n\n{text.strip()}\n\n{end}{after}"
