"""Flux: HelmRelease and HelmChart, with the chart from an OCI, Helm or Git repository; and Kustomization of a source.

A source is found by its kind and name, the nearest by folder of several: the namespace is often set by a kustomization.
An object without a chart, or a source without an address, is a patch of one with the same kind and name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook.facts.nodes import name_of
from webhook.library.pins.charts import read_folder
from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.kustomize import generated_files, read_images
from webhook.library.pins.objects import Layers, Values, group_of, items_at, mapping_at, set_values, value_at
from webhook.library.pins.operators import Operators
from webhook.library.pins.tree import nearest
from webhook.manifests.documents import Document

_SAME: Final = 100
"""Objects of one kind and name: an environment has one, so that this is for more than any repository has."""
_SOURCES: Final = ("OCIRepository", "GitRepository", "HelmChart")
WORDS: Final = (b"HelmRelease", b"OCIRepository", b"kustomize.toolkit.fluxcd.io", b"ConfigMap")
"""A file with an object that uses a source, changes one or gives it values has one of these words."""
_GROUPS: Final = ("helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "")
_WHOLE: Final = {
    "HelmRelease": (("spec", "chart", "spec", "chart"), ("spec", "chartRef")),
    "Kustomization": (("spec", "sourceRef"),),
    "HelmChart": (("spec", "chart"),),
}
"""A field of an object that is not a patch, by its kind; of others it is the address."""
_REFERENCES: Final = {
    "OCIRepository": ("semver", "tag", "digest"),
    "GitRepository": ("name", "semver", "tag", "commit", "branch"),
}
"""How a source says what is taken: the first that is written counts. A digest or commit beside a tag is that of it."""


class _Use(NamedTuple):
    """A source, and the document whose folder says where it is used."""

    source: Layers
    where: Document


def read_flux(objects: Sequence[Document], collector: Collector) -> None:
    """Collect the pins of Flux's objects."""
    _Flux(objects, collector).read()


class _Flux:
    def __init__(self, objects: Sequence[Document], collector: Collector) -> None:
        self._collector = collector
        self._named = defaultdict[tuple[str, str], list[Document]](list)
        self._generated = defaultdict[tuple[str, str], list[Path]](list)
        for document in objects:
            if group_of(document.value) in _GROUPS:
                self._add(str(document.value.get("kind")), name_of(document.value), document)
            for name, key, path in generated_files(document):
                self._generated[name, key].append(collector.file_of(document).parent / path)
        layers = {named: self._layered(objects) for named, objects in self._named.items()}
        self._layers = {named: same for named, same in layers.items() if named[0] not in _SOURCES or self._is_any(same)}
        self._used = set[int]()

    def _add(self, kind: str, name: str, document: Document) -> None:
        same = self._named[kind, name]
        if len(same) == _SAME:
            why = f"not read for the release of an operator: more than {_SAME} objects of this kind and name"
            self._collector.remark(document, ("metadata", "name"), why)
        if len(same) <= _SAME:
            same.append(document)

    def _is_any(self, sources: Sequence[Layers]) -> bool:
        """Whether one of the sources is that of an operator."""
        return any(is_operators(source.documents[0], self._collector.operators) for source in sources)

    def read(self) -> None:
        for layers in self._of_kind("HelmRelease"):
            self._release(layers)
        for layers in self._of_kind("Kustomization"):
            kind, name = layers.at("spec", "sourceRef", "kind"), layers.at("spec", "sourceRef", "name")
            for use in self._uses(kind, name, layers):
                self._deploy(use, layers, ())
            read_images(layers.last, self._collector, "spec")
        for kind in _SOURCES:
            for layers in self._of_kind(kind):
                if id(layers.last) not in self._used:
                    self._deploy(_Use(layers, layers.last), layers, ())

    def _of_kind(self, kind: str) -> list[Layers]:
        return [layers for (of, _), objects in self._layers.items() if of == kind for layers in objects]

    def _layered(self, objects: Sequence[Document]) -> list[Layers]:
        """Each whole object, and each patch over the nearest whole one."""
        whole = [document for document in objects if _is_whole(document)]
        patches = [document for document in objects if not _is_whole(document)] if whole else []
        file_of = self._collector.file_of
        patched = [Layers([nearest(file_of(patch).parent, whole, file_of)[0], patch]) for patch in patches]
        return [*(Layers([document]) for document in whole), *patched]

    def _release(self, layers: Layers) -> None:
        """A HelmRelease: the version is beside the name of the chart, or in the source that it refers to."""
        values = [*self._values_from(layers)]
        for document in layers.documents:
            values += self._collector.values(document, "spec", "values")
        if layers.at("spec", "chartRef") is None:
            self._of_chart(layers, ("spec", "chart", "spec"), layers, values)
            return
        kind, name = layers.at("spec", "chartRef", "kind"), layers.at("spec", "chartRef", "name")
        for use in self._uses(kind, name, layers):
            self._deploy(use, layers, values)

    def _of_chart(self, layers: Layers, at: tuple[str, ...], user: Layers, values: Sequence[Values]) -> None:
        """A chart with its version, or a folder of a Git repository that has the chart."""
        reference = layers.at(*at, "sourceRef")
        if value_at(reference, "kind") == "GitRepository":
            for use in self._uses("GitRepository", value_at(reference, "name"), layers):
                self._deploy(use, user, values)
            for root in self._collector.tree.roots:
                read_folder(root / str(layers.at(*at, "chart")), user.last, values, self._collector)
        elif api := self._collector.operators.of_chart(layers.at(*at, "chart")):
            path = (*at, "version")
            written = self._collector.operators.of_chart_version(api, layers.at(*path))
            release = PlacedRelease(written, layers.writer(*path), path)
            self._collector.deploy(api, release, user.last, values, patches=user.is_patched)

    def _uses(self, kind: Any, name: Any, user: Layers) -> list[_Use]:
        """The nearest sources of this kind and name, and their patches; only the nearest of all for a patched user."""
        sources = [] if self._collector.is_full else self._layers.get((str(kind), str(name)), [])
        self._used.update(id(source.last) for source in sources)
        if user.is_patched:
            return [_Use(source, user.last) for source in self._nearest(user, sources)[:1]]
        bases = self._nearest(user, [source for source in sources if not source.is_patched])
        uses = [_Use(source, source.last if len(bases) > 1 else user.last) for source in bases]
        return [*uses, *(_Use(source, source.last) for source in sources if source.is_patched)]

    def _nearest(self, user: Layers, sources: Sequence[Layers]) -> list[Layers]:
        return nearest(
            self._collector.file_of(user.last).parent, sources, lambda source: self._collector.file_of(source.last)
        )

    def _deploy(self, use: _Use, user: Layers, values: Sequence[Values]) -> None:
        """What a source has is deployed, if it is an operator."""
        kind = str(use.source.last.value.get("kind"))
        if kind == "HelmChart":
            self._of_chart(use.source, ("spec",), user, values)
            return
        operators = self._collector.operators
        address = use.source.at("spec", "url")
        if api := operators.of_repository(address) or operators.of_chart(address):
            release = self._reference(kind, use.source, api)
            is_patched = use.source.is_patched or user.is_patched
            name = name_of(user.last.value)
            self._collector.deploy(api, release, use.where, values, patches=is_patched, deployment=name)

    def _reference(self, kind: str, source: Layers, api: str) -> PlacedRelease:
        """The release that a source takes."""
        reference, operators = source.at("spec", "ref"), self._collector.operators
        key = next((key for key in _REFERENCES[kind] if value_at(reference, key)), "tag")
        path = ("spec", "ref", key)
        of_text = operators.of_chart_version if kind == "OCIRepository" else operators.of_tag
        return PlacedRelease(of_text(api, source.at(*path)), source.writer(*path), path)

    def _values_from(self, layers: Layers) -> Iterator[Values]:
        """The values of ConfigMaps in the tree; those of Secrets are not read."""
        for document in layers.documents:
            for _, item in items_at(document.value, "spec", "valuesFrom"):
                if item.get("kind") == "ConfigMap":
                    yield from self._of_map(item, document)

    def _of_map(self, item: dict[str, Any], document: Document) -> Iterator[Values]:
        key, target = str(item.get("valuesKey", "values.yaml")), item.get("targetPath")
        maps = self._named.get(("ConfigMap", str(item.get("name"))), [])
        if not maps and not target:
            for file in self._generated.get((str(item.get("name")), key), ()):
                yield from self._collector.file_values(file)
        for near in nearest(self._collector.file_of(document).parent, maps, self._collector.file_of)[:1]:
            if isinstance(target, str) and target:
                yield from set_values(near, ("data", key), [(target, value_at(near.value, "data", key))])
            else:
                yield from self._collector.values(near, "data", key)


def is_operators(document: Document, operators: Operators) -> bool:
    """Whether an object has the chart of an operator, or is a source of one."""
    if group_of(document.value) not in _GROUPS:
        return False
    spec = mapping_at(document.value, "spec")
    chart = spec.get("chart")
    charts = (spec.get("url"), value_at(chart, "spec", "chart") if isinstance(chart, dict) else chart)
    return any(map(operators.of_chart, charts)) or bool(operators.of_repository(spec.get("url")))


def maps_of(document: Document, names: Collection[str]) -> Iterator[str]:
    """The maps from which a HelmRelease takes values that has one of the names, or refers to one."""
    if name_of(document.value) in names or value_at(document.value, "spec", "chartRef", "name") in names:
        for _, item in items_at(document.value, "spec", "valuesFrom"):
            if item.get("kind") == "ConfigMap" and isinstance(item.get("name"), str):
                yield item["name"]


def _is_whole(document: Document) -> bool:
    """Whether an object says what it is about; a patch does not."""
    paths = _WHOLE.get(str(document.value.get("kind")), (("spec", "url"),))
    return any(value_at(document.value, *path) is not None for path in paths)
