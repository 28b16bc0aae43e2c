"""Helm charts in a tree: dependencies of one, the operator's own chart, copied there, and releases of a helmfile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.objects import Values, items_at, mapping_at, set_values, value_at
from webhook.library.pins.operators import split_image
from webhook.library.pins.tree import CHART
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


def is_helmfile(document: Document) -> bool:
    """Whether a document has releases of charts, and no kind."""
    return "kind" not in document.value and any("chart" in item for _, item in items_at(document.value, "releases"))


def read_helmfile(document: Document, collector: Collector) -> None:
    """Collect the pins of the releases of a helmfile."""
    operators = collector.operators
    for index, item in items_at(document.value, "releases"):
        api, layers = operators.of_chart(item.get("chart")), [*_values_of_release(index, item, document, collector)]
        if item.get("installed") is False:
            continue
        if str(item.get("chart")).startswith("."):
            read_folder(collector.file_of(document).parent / item["chart"], document, layers, collector)
        elif api:
            path = ("releases", index, "version")
            release = PlacedRelease(operators.of_chart_version(api, item.get("version")), document, path)
            release = locked(api, item["chart"], release, collector)
            collector.deploy(api, release, document, layers)


def _values_of_release(index: int, item: dict[str, Any], document: Document, collector: Collector) -> Iterator[Values]:
    """The values of a release: files beside the helmfile and maps, in their order, then what is set."""
    at, here = ("releases", index, "values"), collector.file_of(document).parent
    values = value_at(item, "values")
    for place, value in enumerate(values if isinstance(values, list) else ()):
        if isinstance(value, str):
            yield from collector.file_values(here / value)
        else:
            yield from collector.values(document, *at, place)
    pairs = ((pair.get("name"), pair.get("value")) for _, pair in items_at(item, "set"))
    yield from set_values(document, ("releases", index, "set"), pairs)
