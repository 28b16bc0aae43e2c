"""The findings of a scan: as a table, a few hundred rows at a time, or as reports of OpenReports.

There is one report for each object, the same that the reconciler keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TextIO

from reconciler import NORMALISED, Condition, owned, report
from webhook.cli.dumping import dumped
from webhook.cli.output import printable
from webhook.cli.report.text import Style
from webhook.cli.scan.judging import Judged
from webhook.cli.terminal import aligned
from webhook.cluster import APIResource
from webhook.library.findings import Severity

_ROWS: Final = 200
"""Rows for which the widths of the columns are computed together: memory does not grow with the cluster."""
_COLOURS: Final = {str(Severity.ERROR): "red", str(Severity.WARNING): "yellow"}


class _Row(NamedTuple):
    object: str
    stamp: str
    severity: str
    code: str
    finding: str


_HEAD: Final = _Row("OBJECT", "STAMP", "SEVERITY", "CODE", "FINDING")


def lines(judged: Iterable[Judged], style: Style, *, verbose: bool, width: int | None = None) -> Iterator[str]:
    """A row for each finding, folded to a width; ``verbose``: also one for each object without findings."""
    widths, block = [0] * (len(_HEAD) - 1), [_HEAD]
    for row in _rows(judged, verbose=verbose):
        block.append(row)
        if len(block) >= _ROWS:
            yield from _aligned(block, widths, style, width)
            block = []
    if block != [_HEAD]:
        yield from _aligned(block, widths, style, width)


def _rows(judged: Iterable[Judged], *, verbose: bool) -> Iterator[_Row]:
    for each in judged:
        title, stamp = printable(each.report.title), each.report.stamp
        for found in each.report.findings:
            yield _Row(title, stamp, str(found.severity), found.code, printable(found.text_with_helps))
        if verbose and not each.report.findings:
            yield _Row(title, stamp, "-", "-", "-")


def _aligned(rows: list[_Row], widths: list[int], style: Style, width: int | None = None) -> Iterator[str]:
    """The rows with columns at least as wide as ``widths``, which grow."""
    for column in range(len(widths)):
        widths[column] = max(widths[column], *(len(row[column]) for row in rows))

    def painted(number: int, row: Sequence[str], cell: str) -> str:
        colour = _COLOURS.get(row[2]) if number == 2 else None
        return style.paint(colour, cell) if colour else cell

    yield from aligned(rows, width, widths, painted)


_GROUP: Final = ("openreports.io", "v1alpha1")
_REPORT: Final = APIResource(*_GROUP, "reports", "Report")
_CLUSTER_REPORT: Final = APIResource(*_GROUP, "clusterreports", "ClusterReport", False)


def write_reports(judged: Iterable[Judged], file: TextIO) -> None:
    """Write a YAML document for each object with findings."""
    for each in judged:
        found = _report(each)
        if found is not None:
            file.write(dumped(found))


def _report(each: Judged) -> dict[str, Any] | None:
    obj = each.value
    resource = _REPORT if obj["metadata"].get("namespace") else _CLUSTER_REPORT
    condition = Condition(NORMALISED, each.verdict.clean, "", "")
    found = report(resource, obj, each.verdict, condition, each.rules, datetime.now(UTC))
    return None if found is None else owned(found, obj)
