"""The report of a check: findings with their places, and the formats in which they are printed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from webhook.cli.report.report import Report
from webhook.library.findings import Severity

__all__ = ["BY_FILE", "FORMATS", "rendered"]

FORMATS: Final = ("json", "sarif", "junit", "github", "gitlab", "markdown", "html")
BY_FILE: Final = ("github", "gitlab")
"""Formats that annotate lines of files: they have nothing to say about the objects of a cluster."""


def rendered(report: Report, form: str, failing: Collection[Severity]) -> Iterator[str]:
    """The report in a format, as lines or as one text; findings of a severity in ``failing`` are failures."""
    # Each is loaded when it is asked for: together they take 10 ms, and most reports are text.
    if form == "junit":
        from webhook.cli.report import junit  # noqa: PLC0415

        yield junit.render(report, failing)
    elif form == "sarif":
        from webhook.cli.report import sarif  # noqa: PLC0415

        yield sarif.render(report)
    elif form == "markdown":
        from webhook.cli.report import markdown  # noqa: PLC0415

        yield from markdown.render(report)
    elif form == "html":
        from webhook.cli.report import page  # noqa: PLC0415

        yield page.render(report)
    else:
        from webhook.cli.report import machine  # noqa: PLC0415

        if form == "github":
            yield from machine.github(report)
        else:
            yield machine.gitlab(report) if form == "gitlab" else machine.render(report)
