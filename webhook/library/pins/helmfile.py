"""helmfile: releases of charts, with their versions and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.library.pins.charts import locked, read_folder
from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.objects import items_at, value_at
from webhook.library.pins.values import Values, set_values
from webhook.manifests.documents import Document


def is_helmfile(document: Document) -> bool:
    """Whether a document has releases of charts, and no kind."""
    return "kind" not in document.value and any("chart" in item for _, item in items_at(document.value, "releases"))


def read_helmfile(document: Document, collector: Collector) -> None:
    """Collect the pins of the releases of a helmfile."""
    operators = collector.operators
    for index, item in items_at(document.value, "releases"):
        api, layers = operators.of_chart(item.get("chart")), [*_values(index, item, document, collector)]
        if item.get("installed") is False:
            continue
        if str(item.get("chart")).startswith("."):
            read_folder(collector.file_of(document).parent / item["chart"], document, layers, collector)
        elif api:
            path = ("releases", index, "version")
            release = PlacedRelease(operators.of_chart_version(api, item.get("version")), document, path)
            release = locked(api, item["chart"], release, collector)
            collector.deploy(api, release, document, layers)


def _values(index: int, item: dict[str, Any], document: Document, collector: Collector) -> Iterator[Values]:
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
