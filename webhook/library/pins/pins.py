"""The pins of a repository, and those that count for a file."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from webhook.admission.errors import Problem
from webhook.catalog import Pack
from webhook.library.pins import argo, charts, deployment, flux, helmfile, included, kustomize, terraform
from webhook.library.pins.collector import Collector
from webhook.library.pins.included import Units
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

    def __init__(self, pins: Sequence[Pin], remarks: Sequence[Problem] = (), units: Units | None = None) -> None:
        self.pins = tuple(pins)
        self.remarks = tuple(remarks)
        self._by_api = defaultdict[str, list[Pin]](list)
        for pin in pins:
            self._by_api[pin.api].append(pin)
        self._units = units
        self._around = {pin.file: units.around(pin.file) if units else frozenset[Path]() for pin in pins}

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
        units = None
        if _differ(collector.pins):
            tree.search(_may_include)
            units = Units([*objects, *tree.documents], tree)
        return cls(collector.pins, remarks, units)

    def of(self, file: Path) -> Mapping[str, Pinned]:
        """What is deployed for the objects of a file, by API."""
        whole = Path(os.path.realpath(file.parent), file.name)
        around = self._units.around(whole) if self._units else frozenset[Path]()
        return {api: _pinned(self._near(whole, around, pins)) for api, pins in self._by_api.items()}

    def _near(self, file: Path, around: frozenset[Path], pins: Sequence[Pin]) -> Sequence[Pin]:
        """The pins of an API that count for a file: of the smallest units with both, else the nearest by folder."""
        units = [_unpatched([pin for pin in pins if unit in self._around[pin.file]]) for unit in around]
        files = [frozenset(pin.place for pin in unit) for unit in units if unit]
        smallest = [unit for unit in units if unit and not any(each < {pin.place for pin in unit} for each in files)]
        return [pin for unit in smallest or [_unpatched(pins)] for pin in nearest(file, unit, lambda each: each.file)]


def _differ(pins: Sequence[Pin]) -> bool:
    """Whether it matters which pin of an API counts."""
    said = defaultdict[str, list[tuple[str, Mapping[str, object]]]](list)
    for pin in pins:
        said[pin.api].append((pin.release, pin.settings))
    return any(each != of_api[0] for of_api in said.values() for each in of_api)


def _may_include(file: Path, text: bytes) -> bool:
    return file.name in KUSTOMIZATIONS or any(map(text.__contains__, included.WORDS))


def _unpatched(pins: Sequence[Pin]) -> list[Pin]:
    """The pins without those of deployments that others patch."""
    patched = {pin.deployment for pin in pins if pin.patches}
    return [pin for pin in pins if pin.patches or pin.deployment not in patched]


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


def _naming(names: Collection[str], words: Sequence[bytes], tree: Tree) -> list[Document]:
    """The documents of files with one of the words and one of the names."""
    pattern = re.compile(b"|".join(re.escape(each.encode()) for each in sorted(names)))
    return tree.search(lambda _, text: any(map(text.__contains__, words)) and pattern.search(text) is not None)


def _pinned(pins: Sequence[Pin]) -> Pinned:
    """What several pins say that are equally near. Those that name no release count only where no other one does."""
    named = [each for each in pins if each.release] or list(pins)
    places = tuple(dict.fromkeys(each.place for each in named))
    if len({each.release for each in named}) > 1:
        several = ", ".join(dict.fromkeys(f"{each.release} ({each.place})" for each in named))
        return Pinned("", _agreed(named), places, f"several releases are deployed: {several}")
    why = "; ".join(dict.fromkeys(f"{each.why} ({each.place})" for each in named if each.why))
    return Pinned(named[0].release, _agreed(named), places, why)


def _agreed(pins: Sequence[Pin]) -> Mapping[str, object]:
    """The settings of pins, without those of which they have different values."""
    given = [(name, value) for pin in pins for name, value in pin.settings.items()]
    return {name: value for name, value in given if all(value == other for key, other in given if key == name)}
