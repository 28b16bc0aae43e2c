"""The report of a check: findings with their places, and the formats in which they are printed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module
from typing import Final

from webhook.cli.report.report import Report
from webhook.library.findings import Severity

_RENDERERS: Final = {
    "json": ("machine", "render"),
    "sarif": ("sarif", "render"),
    "junit": ("junit", "render"),
    "github": ("machine", "github"),
    "gitlab": ("machine", "gitlab"),
    "markdown": ("markdown", "render"),
    "html": ("page", "render"),
}
"""Format → a module here and its function, which gives lines or one text. A module is loaded when it is asked for:
together they take 10 ms, and most reports are text.
"""
FORMATS: Final = tuple(_RENDERERS)
BY_FILE: Final = ("github", "gitlab")
"""Formats that annotate lines of files: they have nothing to say about the objects of a cluster."""


def rendered(report: Report, form: str, failing: Collection[Severity]) -> Iterator[str]:
    """The report in a format, as lines or as one text; findings of a severity in ``failing`` are failures."""
    module, name = _RENDERERS[form]
    render = getattr(import_module(f"{__name__}.{module}"), name)
    made = render(report, failing) if form == "junit" else render(report)
    yield from [made] if isinstance(made, str) else made
