"""Helm charts in a tree: the dependencies of one, and the operator's own chart, copied there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.objects import items_at, mapping_at, value_at
from webhook.library.pins.operators import split_image
from webhook.library.pins.search import CHART
from webhook.library.pins.values import Values, set_values
from webhook.manifests.documents import Document


def read_chart(
    document: Document, collector: Collector, user: Document | None = None, layers: Sequence[Values] = ()
) -> None:
    """Collect the pins of a Chart.yaml: of the chart itself, and of its dependencies.

    With a ``user``, this document installs the chart, with values in ``layers`` above those of the chart.
    """
    chart, operators, file = document.value, collector.operators, collector.file_of(document)
    values = [*collector.file_values(file.with_name("values.yaml")), *layers]
    deploy = partial(
        collector.deploy, where=user or document, patches=user is not None, deployment=collector.tree.name(file)
    )
    if api := operators.of_chart(chart.get("name")):
        deploy(api, _own(api, document, collector), layers=values)
    for index, item in items_at(chart, "dependencies"):
        if api := operators.of_chart(item.get("name")):
            path = ("dependencies", index, "version")
            release = PlacedRelease(operators.of_chart_version(api, item.get("version")), document, path)
            release = locked(api, item["name"], release, collector)
            deploy(api, release, layers=_below(item, values, collector))


def read_folder(folder: Path, user: Document, layers: Sequence[Values], collector: Collector) -> None:
    """Collect the pins of a chart in a folder of the tree that a document installs."""
    for document in collector.tree.read(folder / CHART)[:1]:
        read_chart(document, collector, user, layers)


def _own(api: str, document: Document, collector: Collector) -> PlacedRelease:
    """The release of a chart of the operator: by its version, else by that of the application."""
    written = collector.operators.of_chart_version(api, document.value.get("version"))
    own = collector.operators.of_tag(api, document.value.get("appVersion"))
    if own.release and not written.release:
        return PlacedRelease(own, document, ("appVersion",))
    return PlacedRelease(written, document, ("version",))


def locked(api: str, chart: object, release: PlacedRelease, collector: Collector) -> PlacedRelease:
    """A release; where it is a range, the one in the lock file beside it: Chart.lock, helmfile.lock."""
    if release.written.release:
        return release
    file = collector.file_of(release.document)
    for lock in collector.tree.read(file.with_name(f"{file.name.partition('.')[0]}.lock"))[:1]:
        for at, item in items_at(lock.value, "dependencies"):
            written = collector.operators.of_chart_version(api, item.get("version"))
            if item.get("name") == split_image(str(chart)).name and written.release:
                return PlacedRelease(written, lock, ("dependencies", at, "version"))
    return release


def read_k3s(document: Document, collector: Collector) -> None:
    """Collect the pin of a HelmChart of k3s."""
    operators, layers = collector.operators, collector.values(document, "spec", "valuesContent")
    if api := operators.of_chart(value_at(document.value, "spec", "chart")):
        path = ("spec", "version")
        release = PlacedRelease(operators.of_chart_version(api, value_at(document.value, *path)), document, path)
        layers += set_values(document, ("spec", "set"), mapping_at(document.value, "spec", "set").items())
        collector.deploy(api, release, document, layers)


def _below(item: dict[str, Any], values: list[Values], collector: Collector) -> list[Values]:
    """The values of a dependency: those that the chart has under its alias, or its name."""
    key = str(item.get("alias") or item.get("name"))
    return [part for layer in values for part in collector.inner_values(layer, key)]
