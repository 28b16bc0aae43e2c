"""The list of all codes: each with what it does, of what, and what it says, by API and kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from tools.site.told import Told, badge, plain
from webhook.cli.rule import without_rule
from webhook.library.findings import CODES

_SHOWN: Final = 160
"""Characters to show of a message: OM405 lists every runtime."""

_HEAD: Final = """\
# Codes

Each finding has a code. `modelgate rule CODE` prints what its page says. A rule denies, warns, or sets a default.
Some that warn deny with `--profile=strict`.

<div class="mg-filter"></div>
"""
_COLUMNS: Final = "| code and effect | field, and what the rule says, for example |\n|---|---|"
_OTHERS: Final = "## Findings without a rule\n\n| code | meaning |\n|---|---|"


def codes_page(pages: Mapping[str, Sequence[Told]]) -> str:
    """The text of the page."""
    return "\n".join([_HEAD, *_apis([forms[0] for forms in pages.values()]), _OTHERS, *_others()]) + "\n"


def _apis(told: Sequence[Told]) -> Iterator[str]:
    for operator, of_api in groupby(told, lambda each: each.operator):
        yield f"## {operator}\n"
        kinds = sorted(of_api, key=lambda each: (each.found.names, each.code))
        for names, rules in groupby(kinds, lambda each: each.found.names):
            yield f"### {names}\n\n{_COLUMNS}"
            yield from map(_row, rules)
            yield ""


def _row(told: Told) -> str:
    effect = badge(told.effect) + (f' <span class="mg-strict">strict: {badge("denies")}</span>' if told.strict else "")
    text = told.summary
    says = plain(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
    return f"| [{told.code}]({told.code.lower()}.md) {effect} | {told.field}: {says} |"


def _others() -> Iterator[str]:
    yield from (f"| `{code}` | {plain(text)} |" for code, text in CODES.items())
    for code, (head, _, *lines) in without_rule().items():
        about = "retired" if head.endswith(": retired") else " ".join(lines)
        yield f"| [{code}]({code.lower()}.md) | {plain(about)} |"
