"""The formats for programs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from webhook.cli.report import cisystems, junit, machine, sarif
from webhook.cli.report.finding import Report, Severity

__all__ = ["BY_FILE", "FORMATS", "rendered"]

FORMATS: Final = ("json", "sarif", "junit", "github", "gitlab")
BY_FILE: Final = ("github", "gitlab")
"""Formats that annotate lines of files: they have nothing to say about the objects of a cluster."""


def rendered(report: Report, form: str, failing: Collection[Severity]) -> Iterator[str]:
    """The report in a format, as lines or as one text; findings of a severity in ``failing`` are failures."""
    if form == "github":
        yield from cisystems.github(report)
    elif form == "junit":
        yield junit.render(report, failing)
    else:
        yield {"json": machine.render, "sarif": sarif.render, "gitlab": cisystems.gitlab}[form](report)
