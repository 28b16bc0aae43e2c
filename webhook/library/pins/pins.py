"""The pins of a repository, those that count for a file, and the files that may have one: most trees have none."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from webhook.admission.errors import Problem
from webhook.catalog import Pack
from webhook.library.pins.operators import Operators
from webhook.library.pins.pin import Pin, Pinned
from webhook.library.pins.tree import CHART, Tree, closest, distance
from webhook.manifests.documents import Document
from webhook.manifests.reading import KUSTOMIZATIONS

Around = Callable[[Path], frozenset[Path]]
"""The units of which a file is a part: see :class:`webhook.library.pins.included.Units`."""


_DEPLOYING: Final = frozenset(
    {"Application", "ApplicationSet", "Deployment", "GitRepository", "HelmChart", "HelmRelease", "OCIRepository"}
)
_BESIDE: Final = frozenset({"ConfigMap", "Kustomization"})
"""Kinds of objects beside these: values, and what applies a source."""
_WORDS: Final = (*(kind.encode() for kind in sorted(_DEPLOYING)), b"releases:")
"""A file that may deploy an operator has one of these words, beside a name of the operator."""
_TERRAFORM: Final = ".tf"


class Pins:
    """What a repository deploys of operators. ``remarks`` are values that are not those of a chart, and files that are
    not read. Why the release for a file is not known, :meth:`of` says.
    """

    def __init__(
        self, pins: Sequence[Pin], remarks: Sequence[Problem] = (), around: Around = lambda _: frozenset()
    ) -> None:
        self.pins = tuple(pins)
        self.remarks = tuple(remarks)
        self._around = around
        self._folders = dict[Path, Path]()
        self._answers = dict[tuple[Path, frozenset[Path]], Mapping[str, Pinned]]()
        self._by_api = defaultdict[str, list[Pin]](list)
        self._by_unit = defaultdict[tuple[str, Path], list[Pin]](list)
        for pin in pins:
            self._by_api[pin.api].append(pin)
            for unit in around(pin.file):
                self._by_unit[pin.api, unit].append(pin)

    @classmethod
    def read(cls, packs: Mapping[str, Pack], documents: Sequence[Document], roots: Sequence[Path]) -> Pins:
        """The pins in ``documents``, whose files are not read again, and in the other files below ``roots``."""
        remarks = list[Problem]()
        operators, tree = Operators(packs), Tree(documents, roots, remarks)
        objects, programs = candidates(documents, operators, tree)
        if not objects and not programs:
            return cls((), remarks)
        from webhook.library.pins.readers import collect  # noqa: PLC0415 - takes 15 ms; most trees deploy nothing

        pins, units = collect(objects, programs, operators, tree, remarks)
        return cls(pins, remarks, units.around) if units else cls(pins, remarks)

    def of(self, file: Path) -> Mapping[str, Pinned]:
        """What is deployed for the objects of a file, by API."""
        folder = self._folders.get(file.parent)
        if folder is None:
            folder = self._folders[file.parent] = Path(os.path.realpath(file.parent))
        around = self._around(folder / file.name)
        if (folder, around) not in self._answers:
            self._answers[folder, around] = {api: _pinned(self._near(api, folder, around)) for api in self._by_api}
        return self._answers[folder, around]

    def _near(self, api: str, folder: Path, around: frozenset[Path]) -> Sequence[Pin]:
        """The pins of an API that count for a file: of the smallest units with both, else the nearest by folder."""
        inside = (self._by_unit.get((api, unit), []) for unit in around)
        groups = {frozenset(map(id, group)): group for group in map(_unpatched, inside) if group}
        smallest = [group for ids, group in groups.items() if not any(others < ids for others in groups)]
        pins = self._by_api[api]
        ranks = {id(pin): distance(folder, pin.file) for pin in pins} if len(pins) > 1 else {}
        return [pin for group in smallest or [_unpatched(pins)] for pin in closest(group, lambda pin: ranks[id(pin)])]


def _unpatched(pins: Sequence[Pin]) -> list[Pin]:
    """The pins without those of deployments that others patch."""
    patched = {pin.deployment for pin in pins if pin.patches}
    return [pin for pin in pins if pin.patches or pin.deployment not in patched]


def _pinned(pins: Sequence[Pin]) -> Pinned:
    """What several pins say that are equally near. Those that name no release count only where no other one does."""
    named = sorted((pin for pin in pins if pin.release), key=lambda pin: pin.place) or list(pins)
    places, (settings, disputed) = tuple(dict.fromkeys(pin.place for pin in named)), _agreed(named)
    if len({pin.release for pin in named}) > 1:
        several = ", ".join(dict.fromkeys(f"{pin.release} ({pin.place})" for pin in named))
        return Pinned("", settings, places, f"several releases are deployed: {several}", disputed)
    why = "; ".join(dict.fromkeys(f"{pin.why} ({pin.place})" for pin in named if pin.why))
    return Pinned(named[0].release, settings, places, why, disputed)


def _agreed(pins: Sequence[Pin]) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """The settings of pins, and the names of those of which they have different values."""
    values = defaultdict[str, list[object]](list)
    for pin in pins:
        for name, value in pin.settings.items():
            values[name].append(value)
    agreed = {name: several[0] for name, several in values.items() if several.count(several[0]) == len(several)}
    return agreed, tuple(sorted(values.keys() - agreed))


def candidates(
    documents: Sequence[Document], operators: Operators, tree: Tree
) -> tuple[list[Document], list[tuple[Path, str]]]:
    """The objects that may deploy an operator, with those beside them, and the texts of Terraform; else nothing."""
    objects = [document for document in documents if document.value.get("kind") in _DEPLOYING]
    objects += tree.search(partial(_may_deploy, operators))
    programs = [
        (file, text.decode(errors="replace"))
        for file in tree.files
        if file.suffix == _TERRAFORM and b"helm_release" in (text := tree.content(file)) and operators.named_in(text)
    ]
    if objects or programs:
        objects += (document for document in documents if document.value.get("kind") in _BESIDE)
    return objects, programs


def _may_deploy(operators: Operators, file: Path, text: bytes) -> bool:
    """Whether a file may deploy an operator: by its name, or its words, and by a name of an operator in it."""
    is_one = file.name in {*KUSTOMIZATIONS, CHART} or any(map(text.__contains__, _WORDS))
    return is_one and file.suffix != _TERRAFORM and operators.named_in(text)
