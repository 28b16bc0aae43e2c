"""kustomize: charts that it inflates, the operator's manifests from afar, and the tags that it gives to images."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.objects import items_at, mapping_at, nested, value_at
from webhook.library.pins.pin import Named, release_of
from webhook.manifests.composer import YamlError, compose
from webhook.manifests.documents import Document

_RESOURCES: Final = ("resources", "bases", "components")
_REVISION: Final = (
    re.compile(r"/releases/download/([^/?#]+)/"),
    re.compile(r"/(?:raw/|archive/|tree/|blob/)?refs/tags/([^/?#]+?)(?:\.tar\.gz|\.zip|/|$)"),
    re.compile(r"[?&](?:ref|version)=([^&#]+)"),
    re.compile(r"^https?://raw\.githubusercontent\.com/[^/]+/[^/]+/([^/?#]+)/"),
)
"""Where the address of a resource has a tag: of a release's file, of a file at a tag, of a repository."""
_PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")


def read_kustomization(document: Document, collector: Collector) -> None:
    """Collect the pins of a kustomization."""
    _charts(document, collector)
    _remote(document, collector)
    read_images(document, collector)


def _charts(document: Document, collector: Collector) -> None:
    operators, here = collector.operators, collector.file_of(document).parent
    for index, item in items_at(document.value, "helmCharts"):
        if api := operators.of_chart(item.get("name")):
            path = ("helmCharts", index, "version")
            release = PlacedRelease(operators.of_chart_version(api, item.get("version")), document, path)
            more = item.get("additionalValuesFiles")
            files = [item.get("valuesFile"), *(more if isinstance(more, list) else ())]
            layers = [part for name in files if name for part in collector.file_values(here / str(name))]
            layers += collector.values(document, "helmCharts", index, "valuesInline")
            collector.deploy(api, release, document, layers)


def _remote(document: Document, collector: Collector) -> None:
    for path, address in resources_of(document):
        api = collector.operators.of_address(address)
        if api:
            release = PlacedRelease(_revision(api, address, collector), document, path)
            collector.deploy(api, release, document, deployment="")


def _revision(api: str, address: str, collector: Collector) -> Named:
    """The release of the files at an address."""
    for pattern in _REVISION:
        if match := pattern.search(address):
            return collector.operators.of_tag(api, match[1])
    return Named(why=f'"{address[:100]}" has no tag')


def read_images(document: Document, collector: Collector, *at: str) -> None:
    """Collect the tags that a kustomization, or an object of Flux, gives to images: they count more than others."""
    for index, item in items_at(document.value, *at, "images"):
        api = collector.operators.of_image(item.get("newName") or item.get("name"))
        key = next((key for key in ("newTag", "digest") if item.get(key)), "")
        if api and key:
            release = PlacedRelease(release_of(item[key]), document, (*at, "images", index, key))
            collector.deploy(api, release, document, patches=True, deployment="")


def resources_of(document: Document) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The resources that a kustomization names, each with its place."""
    for key in _RESOURCES:
        items = document.value.get(key)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, str):
                yield (key, index), item


def files_of(document: Document) -> Iterator[str]:
    """The files and folders that a kustomization names: resources and patches."""
    yield from (name for _, name in resources_of(document) if "://" not in name)
    for key in _PATCHES:
        items = document.value.get(key)
        for item in items if isinstance(items, list) else ():
            name = value_at(item, "path") if isinstance(item, dict) else item
            if isinstance(name, str) and "\n" not in name:
                yield name


def generated_files(document: Document) -> Iterator[tuple[str, str, str]]:
    """The files from which a kustomization makes ConfigMaps: name of the map, key, and path."""
    for _, item in items_at(document.value, "configMapGenerator"):
        files = item.get("files")
        for text in files if isinstance(files, list) else ():
            key, sign, path = str(text).partition("=")
            yield str(item.get("name")), key if sign else PurePath(key).name, path if sign else key


def patches_in(document: Document, *at: str) -> Iterator[Document]:
    """The patches in the text of a kustomization, or in an object of Flux, as parts of objects at its line."""
    for key in _PATCHES:
        items = value_at(document.value, *at, key)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            text = item if isinstance(item, str) else value_at(item, "patch")
            if isinstance(text, str) and ":" in text:
                line = document.line_of(*at, key, index)
                for value in _parts(text, mapping_at(item, "target")):
                    yield Document(document.source, line, value)


def _parts(text: str, target: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects that a patch is part of: its target, if it has one. That of JSON 6902 sets values at paths."""
    try:
        composed = compose(text)
    except YamlError:  # kustomize says so
        return
    value = composed.value if composed else None
    name = {"metadata": {"name": target.get("name")}}
    if isinstance(value, dict):
        yield {**value, "kind": target.get("kind", value.get("kind")), **name} if target.get("name") else value
    elif isinstance(value, list):
        steps = [step for step in value if isinstance(step, dict) and step.get("op") in {"add", "replace"}]
        pairs = [(str(step.get("path", "")).strip("/").split("/"), step.get("value")) for step in steps]
        head = {"apiVersion": f"{target.get('group', '')}/", "kind": target.get("kind")}
        yield {**nested(pairs), **head, **name}
