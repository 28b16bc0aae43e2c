"""Argo CD: Application, and the template of an ApplicationSet, with one source or several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.library.pins.charts import read_folder
from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.objects import Values, items_at, mapping_at, set_values, value_at
from webhook.library.pins.operators import split_image
from webhook.library.pins.pin import Named, release_of
from webhook.manifests.documents import Document

KINDS: Final = frozenset({"Application", "ApplicationSet"})


def read_application(document: Document, collector: Collector) -> None:
    """Collect the pins of an application: of each source that is a chart of an operator, or its repository."""
    for at, source in sources_of(document):
        api, written = _release(source, collector)
        if api:
            layers = [*_values(at, source, document, collector)]
            collector.deploy(api, PlacedRelease(written, document, (*at, "targetRevision")), document, layers)
        elif isinstance(source.get("path"), str):
            for root in collector.tree.roots:
                read_folder(root / source["path"], document, [*_values(at, source, document, collector)], collector)
        for index, image in enumerate(value_at(source, "kustomize", "images") or ()):
            text = str(image).rpartition("=")[2]
            if image_api := collector.operators.of_image(text):
                release = PlacedRelease(
                    release_of(split_image(text).tag), document, (*at, "kustomize", "images", index)
                )
                collector.deploy(image_api, release, document, patches=True, deployment="")


def sources_of(document: Document) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """The sources of an application, each with its place."""
    spec = ("spec", "template", "spec") if document.value.get("kind") == "ApplicationSet" else ("spec",)
    if source := mapping_at(document.value, *spec, "source"):
        yield (*spec, "source"), source
    for index, source in items_at(document.value, *spec, "sources"):
        yield (*spec, "sources", index), source


def _release(source: dict[str, Any], collector: Collector) -> tuple[str, Named]:
    """The API of a source with what its revision says; an address of OCI may be that of a chart."""
    operators, address, revision = collector.operators, source.get("repoURL"), source.get("targetRevision")
    if api := operators.of_chart(source.get("chart") or (address if str(address).startswith("oci:") else None)):
        return api, operators.of_chart_version(api, revision)
    api = "" if source.get("chart") else operators.of_repository(address)
    return api, operators.of_tag(api, revision) if api else Named()


def _values(
    at: tuple[str | int, ...], source: dict[str, Any], document: Document, collector: Collector
) -> Iterator[Values]:
    """The values of a source, in the order in which Argo CD applies them."""
    files = value_at(source, "helm", "valueFiles")
    for name in files if isinstance(files, list) else ():
        mark, _, path = str(name).partition("/")
        inside = path if mark.startswith("$") else f"{source.get('path')}/{name}"
        yield from collector.root_values(inside)  # of this repository, or of another one that is not here
    yield from collector.values(document, *at, "helm", "values")
    yield from collector.values(document, *at, "helm", "valuesObject")
    pairs = ((item.get("name"), item.get("value")) for _, item in items_at(source, "helm", "parameters"))
    yield from set_values(document, (*at, "helm", "parameters"), pairs)
