"""What is deployed together: a unit is a folder that kustomize builds, or that Flux or Argo CD applies as it is.

A kustomization includes the files and folders that it names. A folder without one includes everything below it. An
object of Flux or Argo CD includes the folder whose path it has. What a unit includes is in all units that include it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from webhook.library.pins import argo, kustomize
from webhook.library.pins.objects import group_of, value_at
from webhook.library.pins.tree import Tree
from webhook.manifests.documents import Document
from webhook.manifests.reading import KUSTOMIZATIONS

WORDS: Final = (b"kustomize.toolkit.fluxcd.io", b"argoproj.io")
"""A file that applies a folder has one of these words."""


_AROUND: Final = 50
"""Units that include a file or a unit, beyond which no others are looked for."""


class Units:
    """The units of a tree, by their folders."""

    def __init__(self, documents: Iterable[Document], tree: Tree) -> None:
        self._kustomized = set[Path]()
        self._applied_by = defaultdict[Path, list[Path]](list)
        self._listed_by = defaultdict[Path, list[Path]](list)
        for document in documents:
            file = tree.file_of(document.source)
            if file.name in KUSTOMIZATIONS:
                self._kustomized.add(file.parent)
                for name in (file.name, *kustomize.files_of(document)):
                    self._add(self._listed_by, _joined(file.parent, name), file.parent)
            for path in _applied(document):
                for root in tree.roots:
                    self._add(self._applied_by, _joined(root, path), file)
        where = {file.parent for files in self._applied_by.values() for file in files}
        self._outer = dict[frozenset[Path], frozenset[Path]]()
        self._above_folder = dict[Path, frozenset[Path]]()
        self._whole = frozenset({*self._applied_by, *where} - self._kustomized)

    @staticmethod
    def _add(paths: defaultdict[Path, list[Path]], key: Path, path: Path) -> None:
        if len(paths[key]) < _AROUND:
            paths[key].append(path)

    def around(self, file: Path) -> frozenset[Path]:
        """The units that include a file."""
        direct = self._directly(file)
        if direct not in self._outer:
            self._outer[direct] = self._all_of(direct)
        return self._outer[direct]

    def _all_of(self, direct: frozenset[Path]) -> frozenset[Path]:
        """Units, with those that include them."""
        units, new = set[Path](), set(direct)
        while new and len(units) < _AROUND:
            level = sorted(new)[: _AROUND - len(units)]
            units.update(level)
            new = {outer for unit in level for outer in self._above(unit)} - units
        return frozenset(units)

    def _directly(self, file: Path) -> frozenset[Path]:
        folder = file.parent
        if folder not in self._above_folder:
            self._above_folder[folder] = self._whole & {folder, *folder.parents}
        return self._above_folder[folder].union(self._listed_by.get(file, ()))

    def _above(self, unit: Path) -> Iterator[Path]:
        yield from self._directly(unit)
        for file in self._applied_by.get(unit, ()):
            yield from self._directly(file)


def _joined(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder / path))


def _applied(document: Document) -> Iterator[str]:
    """The paths of folders that an object of Flux or Argo CD applies."""
    kind, group = document.value.get("kind"), group_of(document.value)
    paths: Sequence[object] = ()
    if kind == "Kustomization" and group == "kustomize.toolkit.fluxcd.io":
        paths = [value_at(document.value, "spec", "path") or "."]
    elif kind in argo.KINDS and group == "argoproj.io":
        paths = [source.get("path") for _, source in argo.sources_of(document)]
    yield from (path.lstrip("/") for path in paths if isinstance(path, str) and path)
