"""The README of each chart, from its description and the comments of its values: ``python -m tools.charts.readme``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
CHARTS: Final = {
    "chart": "helm install modelgate chart/ --namespace modelgate-system --create-namespace --wait",
    "chart-crds": "helm install modelgate-crds chart-crds/ --set apis.llmkube=true",
}
"""Folder → how the chart is installed."""
_KEY: Final = re.compile(r"^( *)([A-Za-z]+):(.*)$")


def readme(chart: Path, install: str) -> str:
    """The page as Markdown."""
    described = yaml.safe_load((chart / "Chart.yaml").read_text())
    text = (chart / "values.yaml").read_text()
    head = f"# {described['name']}\n\n{described['description']}.\n\n    {install}\n\n"
    rows = "".join(f"| {path} | {default} | {about} |\n" for path, default, about in _rows(text))
    made = "This page is made from `values.yaml` by `python -m tools.charts.readme`.\n"
    return f"{head}## Values\n\n| value | default | meaning |\n|---|---|---|\n{rows}\n{made}"


def _rows(text: str) -> Iterator[tuple[str, str, str]]:
    """Path, default and comment of each value, and of each section with a comment."""
    values = yaml.safe_load(text)
    path: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        if line.strip().startswith("#"):
            comment.append(line.strip().removeprefix("#").removeprefix(" "))
        elif found := _KEY.match(line):
            path = [*path[: len(found[1]) // 2], found[2]]
            value = _at(values, path)
            if not (isinstance(value, dict) and value and not found[3].strip()):
                default = json.dumps(value, ensure_ascii=False)
                yield f"`{'.'.join(path)}`", f"`{default}`", _plain(comment)
            elif comment:
                yield f"`{'.'.join(path)}.…`", "", _plain(comment)
            comment = []
        elif not line.strip():
            comment = []


def _at(values: Any, path: list[str]) -> Any:
    for key in path:
        values = values[key]
    return values


def _plain(comment: list[str]) -> str:
    """A comment on one line of a table; examples are left to values.yaml."""
    return " ".join(line for line in comment if not line.startswith("  ")).replace("|", "\\|")


def main() -> int:
    for name, install in CHARTS.items():
        (ROOT / name / "README.md").write_text(readme(ROOT / name, install))
    return 0


if __name__ == "__main__":
    sys.exit(main())
