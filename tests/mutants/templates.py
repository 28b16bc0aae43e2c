"""The mutants of a template of the chart: a condition of Helm or of CEL, a comparison, an item of a list, a number."""

from __future__ import annotations

import ast
import contextlib
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.mutate import Mutant

_TURNED: Final = {
    " && ": " || ",
    " || ": " && ",
    " == ": " != ",
    " != ": " == ",
    " <= ": " < ",
    " > 0": " >= 0",
    ".all(": ".exists(",
    ".exists(": ".all(",
    " 3600": " 3601",
    "[Deny]": "[Audit]",
    "failurePolicy: Fail": "failurePolicy: Ignore",
}
_WORDS: Final = re.compile("|".join(map(re.escape, _TURNED)))
_CONDITION: Final = re.compile(r"(?:(?<=\{\{- if )|(?<=\{\{ if )).*?(?= ?-?\}\})")
_LIST: Final = re.compile(r"(?<=(?:resources|perations): \[)[^]]+,[^]]+")
_FOR_READERS: Final = re.compile(r"\s*(?:#|\{\{/\*|message: )")


@dataclass(frozen=True)
class TemplateMutant(Mutant):
    """``text`` is the whole template with the change."""

    text: str = ""


def template_mutants(path: Path) -> Iterator[TemplateMutant]:
    """All mutants of a template, each named by the start of its line."""
    lines = path.read_text().splitlines(keepends=True)
    names: Counter[tuple[str, str, str]] = Counter()
    for index, line in enumerate(lines):
        for start, end, after in _changes(line):
            words = line.strip()[:60], line[start:end], after
            text = "".join([*lines[:index], line[:start], after, line[end:], *lines[index + 1 :]])
            yield TemplateMutant(path, words[0], index + 1, *words[1:], _no_tree, names[words], text)
            names[words] += 1


def _changes(line: str) -> Iterator[tuple[int, int, str]]:
    """What may be changed of a line: from where to where, and the text that replaces it."""
    if _FOR_READERS.match(line):
        return
    for found in _WORDS.finditer(line):
        yield *found.span(), _TURNED[found[0]]
    for found in _CONDITION.finditer(line):
        yield from ((*found.span(), word) for word in ("true", "false"))
    for found in _LIST.finditer(line):
        items = found[0].split(", ")
        yield from ((*found.span(), ", ".join(items[:i] + items[i + 1 :])) for i in range(len(items)))


def _no_tree() -> ast.Module:
    raise TypeError("a template has no syntax tree")


@contextlib.contextmanager
def template_in_use(mutant: TemplateMutant) -> Iterator[None]:
    """Let the tests of this process render a copy of the chart with the change."""
    from tests.chart import helm  # noqa: PLC0415 - the other rooms need no chart

    with tempfile.TemporaryDirectory() as folder:
        chart = Path(folder, "chart")
        shutil.copytree(helm.CHART, chart)
        (chart / mutant.path.relative_to("chart")).write_text(mutant.text)
        helm.rendered.__wrapped__.__kwdefaults__["chart"] = chart
        yield
