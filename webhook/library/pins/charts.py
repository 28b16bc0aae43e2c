"""Helm charts in a tree: the dependencies of one, and the operator's own chart, copied there."""

from __future__ import annotations

from typing import Any, Final

from webhook.library.pins.collector import Collector, Release
from webhook.library.pins.objects import items_at
from webhook.library.pins.values import Values
from webhook.manifests.documents import Document

__all__ = ["FILE", "read_chart"]

FILE: Final = "Chart.yaml"


def read_chart(document: Document, collector: Collector) -> None:
    """Collect the pins of a Chart.yaml: of the chart itself, and of its dependencies."""
    chart, operators = document.value, collector.operators
    values = collector.file_values(collector.file_of(document).with_name("values.yaml"))
    if api := operators.of_chart(chart.get("name")):
        collector.deploy(api, _own(api, document, collector), document, values)
    for index, item in items_at(chart, "dependencies"):
        if api := operators.of_chart(item.get("name")):
            release = _dependency(api, index, item, document, collector)
            collector.deploy(api, release, document, _below(item, values, collector))


def _own(api: str, document: Document, collector: Collector) -> Release:
    """The release of a chart of the operator: by its version, else by that of the application."""
    written = collector.operators.of_chart_version(api, document.value.get("version"))
    own = collector.operators.of_tag(api, document.value.get("appVersion"))
    if own.release and not written.release:
        return Release(own, document, ("appVersion",))
    return Release(written, document, ("version",))


def _dependency(api: str, index: int, item: dict[str, Any], document: Document, collector: Collector) -> Release:
    """The release of a dependency; where that is a range, the one that Chart.lock has."""
    operators, path = collector.operators, ("dependencies", index, "version")
    written = operators.of_chart_version(api, item.get("version"))
    locks = [] if written.release else collector.tree.read(collector.file_of(document).with_name("Chart.lock"))
    for lock in locks[:1]:
        for at, locked in items_at(lock.value, "dependencies"):
            release = operators.of_chart_version(api, locked.get("version"))
            if locked.get("name") == item.get("name") and release.release:
                return Release(release, lock, ("dependencies", at, "version"))
    return Release(written, document, path)


def _below(item: dict[str, Any], values: list[Values], collector: Collector) -> list[Values]:
    """The values of a dependency: those that the chart has under its alias, or its name."""
    key = str(item.get("alias") or item.get("name"))
    return [part for each in values for part in collector.values(each.document, key)]
