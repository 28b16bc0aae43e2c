"""Every way of deploying, and the objects that are read together; the operator's own Deployment is read here."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from webhook.admission.errors import Problem
from webhook.facts.nodes import name_of
from webhook.library.pins import argo, charts, flux, included, kustomize, terraform
from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.included import Units
from webhook.library.pins.objects import group_of, items_at
from webhook.library.pins.operators import Operators, split_image
from webhook.library.pins.pin import Pin, release_of
from webhook.library.pins.settings import container_settings
from webhook.library.pins.tree import CHART, Tree
from webhook.manifests.documents import Document
from webhook.manifests.reading import KUSTOMIZATIONS

_Reader = Callable[[Document, Collector], None]

_CONTAINERS: Final = ("spec", "template", "spec", "containers")


def read_deployment(document: Document, collector: Collector) -> None:
    """Collect the pins of a Deployment: of each container that runs an operator."""
    for index, container in items_at(document.value, *_CONTAINERS):
        if api := collector.operators.of_image(container.get("image")):
            at = (*_CONTAINERS, index)
            release = PlacedRelease(release_of(split_image(container["image"]).tag), document, (*at, "image"))
            given = container_settings(collector.operators.packs[api], document, *at)
            collector.deploy(api, release, document, given=given, deployment="")


_READERS: Final[Mapping[tuple[str, str], _Reader]] = {
    ("argoproj.io", "Application"): argo.read_application,
    ("argoproj.io", "ApplicationSet"): argo.read_application,
    ("apps", "Deployment"): read_deployment,
    ("helm.cattle.io", "HelmChart"): charts.read_k3s,
}
"""What reads an object by itself, by the group and the kind; those of Flux are read together."""


def collect(
    objects: Sequence[Document],
    programs: Sequence[tuple[Path, str]],
    operators: Operators,
    tree: Tree,
    remarks: list[Problem],
) -> tuple[list[Pin], Units | None]:
    """The pins of objects and of texts of Terraform; with the units of the tree, where it matters which pin counts."""
    collector = Collector(operators, tree, remarks)
    for document in objects:
        if not collector.is_full and (reader := _reader_of(document)):
            reader(document, collector)
    flux.read_flux(_of_flux(objects, operators, tree), collector)
    for file, text in programs:
        terraform.read_terraform(file, text, collector)
    if not _differ(collector.pins):
        return collector.pins, None
    tree.search(_may_include)
    return collector.pins, Units([*objects, *tree.documents], tree)


def _reader_of(document: Document) -> _Reader | None:
    """What reads a document by itself."""
    value, name = document.value, document.source.rpartition("/")[2]
    if name in KUSTOMIZATIONS:
        return kustomize.read_kustomization
    if name == CHART:
        return charts.read_chart
    if charts.is_helmfile(document):
        return charts.read_helmfile
    return _READERS.get((group_of(value), str(value.get("kind"))))


def _of_flux(objects: Sequence[Document], operators: Operators, tree: Tree) -> list[Document]:
    """The objects of Flux, with those of other files and the patches that are about those of an operator."""
    names = {name_of(document.value) for document in objects if flux.is_operators(document, operators)}
    whole = [*objects, *_naming(names, flux.WORDS, tree)]
    patches = [patch for document in whole for patch in _patches_in(document)]
    maps = {name for document in (*whole, *patches) for name in flux.maps_of(document, names)}
    return [*whole, *_naming(maps, (b"ConfigMap", b"configMapGenerator"), tree), *patches]


def _patches_in(document: Document) -> Iterable[Document]:
    if document.source.endswith(KUSTOMIZATIONS):
        return kustomize.patches_in(document)
    return kustomize.patches_in(document, "spec") if document.value.get("kind") == "Kustomization" else ()


def _naming(names: Collection[str], words: Sequence[bytes], tree: Tree) -> list[Document]:
    """The documents of files with one of the words and one of the names."""
    texts = [re.escape(name.encode(errors="replace")) for name in sorted(names) if name]
    if not texts:
        return []
    pattern = re.compile(b"|".join(texts))
    return tree.search(lambda _, text: any(map(text.__contains__, words)) and pattern.search(text) is not None)


def _differ(pins: Sequence[Pin]) -> bool:
    """Whether it matters which pin of an API counts."""
    first = dict[str, Pin]()
    for pin in pins:
        other = first.setdefault(pin.api, pin)
        if (pin.release, pin.settings) != (other.release, other.settings):
            return True
    return False


def _may_include(file: Path, text: bytes) -> bool:
    return file.name in KUSTOMIZATIONS or any(map(text.__contains__, included.WORDS))
