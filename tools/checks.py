"""``python -m tools.checks``: write docs/checks.md, what the Go webhooks of operators check, and what checks it here.

``docs/checks.yaml`` is the list, by pack, file and function of upstream: each check with its code, with ``schema``
where the definition refuses the same, or with ``nothing`` and the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from webhook.cli.output import say

LIST: Final = Path(__file__).parents[1] / "docs" / "checks.yaml"
PAGE: Final = LIST.with_suffix(".md")
_BEFORE: Final = """# Checks of Go webhooks

An operator checks its objects with code in Go. What of it is data in the packs that are not built in? Each check is
one that an object can fail. *Definition* means that the API server refuses the same by the schema or its rules.
`modelgate rule CODE` explains a code.
"""


class Check(NamedTuple):
    """A check of upstream: in which function, what it refuses or fills in, and the code, ``schema`` or ``nothing``."""

    pack: str
    file: str
    function: str
    text: str
    by: str
    reason: str = ""

    @property
    def is_data(self) -> bool:
        return self.by != "nothing"


def read() -> dict[str, Any]:
    """The list: pack → its title, repository, release and checks."""
    value: dict[str, Any] = yaml.safe_load(LIST.read_text())
    return value


def checks() -> Iterator[Check]:
    """All checks, in the order of the list."""
    for pack, part in read().items():
        for file, functions in part["checks"].items():
            for function, listed in functions.items():
                for ((by, said),) in (each.items() for each in listed):
                    text, reason = said if isinstance(said, list) else (said, "")
                    yield Check(pack, file, function, text, by, reason)


def page() -> str:
    """The page."""
    listed, parts = list(checks()), read()
    data = sum(each.is_data for each in listed)
    yes = f"\n{data} of {len(listed)} checks are data: {100 * data / len(listed):.1f} %.\n"
    table = [_line("operator", "release", "checks", "rules", "definition", "not data"), _line(*["---"] * 6)]
    sections = []
    for pack, part in parts.items():
        mine = [each for each in listed if each.pack == pack]
        counts = [sum(each.by in names for each in mine) for names in ({"schema"}, {"nothing"})]
        rules = len(mine) - sum(counts)
        table.append(_line(part["title"], part["release"], len(mine), rules, *counts))
        sections.append(f"\n## {part['title']}\n\n{part['repository']} at {part['release']}.\n\n" + _section(mine))
    return _BEFORE + yes + "\n" + "".join(table) + "".join(sections)


def _section(listed: list[Check]) -> str:
    """The tables of the files of one operator."""
    parts = []
    for file, mine in groupby(listed, key=lambda each: each.file):
        lines = [_line("function", "what it checks", "here"), _line(*["---"] * 3)]
        lines += [_line(f"`{each.function}`", each.text, _here(each)) for each in mine]
        parts.append(f"`{file}`:\n\n" + "".join(lines))
    return "\n".join(parts)


def _here(check: Check) -> str:
    return {"schema": "definition", "nothing": check.reason}.get(check.by, check.by)


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    say(f"{PAGE.name} is written")
