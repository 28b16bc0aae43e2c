"""The pins of a repository, and those that count for a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from webhook.admission.errors import Problem
from webhook.catalog import Pack
from webhook.library.pins import argo, charts, deployment, flux, helmfile, kustomize, terraform
from webhook.library.pins.collector import Collector
from webhook.library.pins.near import nearest
from webhook.library.pins.objects import group_of, name_of
from webhook.library.pins.operators import Operators
from webhook.library.pins.pin import Pin, Pinned
from webhook.library.pins.tree import Tree
from webhook.manifests.documents import Document
from webhook.manifests.reading import KUSTOMIZATIONS

__all__ = ["Pins"]

_Reader = Callable[[Document, Collector], None]

_READERS: Final[Mapping[tuple[str, str], _Reader]] = {
    ("argoproj.io", "Application"): argo.read_application,
    ("argoproj.io", "ApplicationSet"): argo.read_application,
    ("apps", "Deployment"): deployment.read_deployment,
    ("helm.cattle.io", "HelmChart"): charts.read_k3s,
}
"""What reads an object by itself, by the group and the kind; those of Flux are read together."""
_KINDS: Final = flux.KINDS | {kind for _, kind in _READERS}
_WORDS: Final = (*(kind.encode() for kind in sorted(_KINDS - {"ConfigMap", "Kustomization"})), b"releases:")
"""A file that may deploy an operator has one of these words, beside a name of the operator."""
_BY_NAME: Final = frozenset({*KUSTOMIZATIONS, charts.FILE})


class Pins:
    """What a repository deploys of operators. ``remarks`` are pins that name no release, values that are not those of
    a chart, and files that are not read.
    """

    def __init__(self, pins: Sequence[Pin], remarks: Sequence[Problem] = ()) -> None:
        self.pins = tuple(pins)
        self.remarks = tuple(remarks)

    @classmethod
    def read(cls, packs: Mapping[str, Pack], documents: Sequence[Document], roots: Sequence[Path]) -> Pins:
        """The pins in ``documents``, whose files are not read again, and in the other files below ``roots``."""
        remarks = list[Problem]()
        operators, tree = Operators(packs), Tree(documents, roots, remarks)
        collector = Collector(operators, tree, remarks)
        objects = [each for each in documents if each.value.get("kind") in _KINDS]
        objects += tree.search(partial(_may_deploy, operators))
        for document in objects:
            if reader := _reader_of(document):
                reader(document, collector)
        flux.read_flux(_of_flux(objects, operators, tree), collector)
        for file in tree.files:
            if file.suffix == terraform.SUFFIX and b"helm_release" in (text := tree.content(file)):
                terraform.read_terraform(file, text.decode(errors="replace"), collector)
        return cls(collector.pins, remarks)

    def of(self, file: Path) -> Mapping[str, Pinned]:
        """What is deployed for the objects of a file, by API."""
        by_api = dict[str, list[Pin]]()
        for pin in self.pins:
            by_api.setdefault(pin.api, []).append(pin)
        return {api: _pinned(nearest(file, pins, lambda each: each.file)) for api, pins in by_api.items()}


def _may_deploy(operators: Operators, file: Path, text: bytes) -> bool:
    """Whether a file may deploy an operator: by its name, or its words, and by a name of an operator in it."""
    is_one = file.name in _BY_NAME or any(map(text.__contains__, _WORDS))
    return is_one and file.suffix != terraform.SUFFIX and operators.named_in(text)


def _reader_of(document: Document) -> _Reader | None:
    """What reads a document by itself."""
    value, name = document.value, document.source.rpartition("/")[2]
    if name in KUSTOMIZATIONS:
        return kustomize.read_kustomization
    if name == charts.FILE:
        return charts.read_chart
    if helmfile.is_helmfile(document):
        return helmfile.read_helmfile
    return _READERS.get((group_of(value), str(value.get("kind"))))


def _of_flux(objects: Sequence[Document], operators: Operators, tree: Tree) -> list[Document]:
    """The objects of Flux, with those of other files and the patches that are about those of an operator."""
    names = {name_of(each.value) for each in objects if flux.is_operators(each, operators)}
    every = [*objects, *(_naming(names, flux.WORDS, tree) if names else ())]
    patches = [part for each in every if each.source.endswith(KUSTOMIZATIONS) for part in kustomize.patches_in(each)]
    maps = {name for each in (*every, *patches) for name in flux.maps_of(each, names)}
    every += _naming(maps, (b"ConfigMap",), tree) if maps else ()
    return [*every, *patches]


def _naming(names: Collection[str], words: Sequence[bytes], tree: Tree) -> Iterator[Document]:
    """The documents of files with one of the words and one of the names."""
    pattern = re.compile(b"|".join(re.escape(each.encode()) for each in sorted(names)))
    return tree.search(lambda _, text: any(map(text.__contains__, words)) and pattern.search(text) is not None)


def _pinned(pins: Sequence[Pin]) -> Pinned:
    """What several pins say that are equally near."""
    named = [each for each in pins if each.release] or list(pins)
    places = tuple(dict.fromkeys(each.place for each in named))
    settings = {name: value for each in named for name, value in each.settings.items()}
    releases = sorted({each.release for each in named})
    if len(releases) == 1 and releases[0]:
        return Pinned(releases[0], settings, places)
    if len(releases) == 1:
        return Pinned("", settings, places, "; ".join(dict.fromkeys(f"{each.why} ({each.place})" for each in named)))
    several = ", ".join(dict.fromkeys(f"{each.release} ({each.place})" for each in named))
    return Pinned("", settings, places, f"several releases are deployed: {several}")
