"""The files of a repository that are not read yet, within bounds of number and size; and which of them are near.

The names of all files are listed once. The content of a file is looked through for words, and only what has them is
parsed. Links to folders, hidden folders and templates of charts are left out.
"""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from webhook.admission.errors import Problem
from webhook.manifests import documents, files
from webhook.manifests.documents import Document
from webhook.manifests.files import Boundary

T = TypeVar("T")
Rank = tuple[int, bool]

CHART: Final = "Chart.yaml"
_ENTRIES: Final = 20_000
"""Names of files and folders that are listed: the largest public GitOps repositories have fewer."""
_FILES: Final = 5_000
"""Files whose content is looked through: 0.2 s of CPU time."""
_SIZE: Final = 1 << 20
"""Bytes of a file: a ConfigMap of Kubernetes has no more."""
_PARSED: Final = 4 << 20
"""Bytes that are parsed in all, a few seconds of CPU time; a repository has a few kilobytes of pins."""
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".tf", ".gotmpl", ".lock")
_NAMES: Final = ("Kustomization",)
_EXPRESSION: Final = re.compile(rb"\{\{[^\n]{0,1000}?\}\}")
_CONTROL: Final = re.compile(rb"^[ \t]*\{\{[^\n]{0,1000}?\}\}[ \t]*$", re.MULTILINE)
_LEFT_OUT: Final = frozenset({"node_modules", "__pycache__"})


class Tree:
    """The files below ``roots``; those of ``given`` documents are not read again. ``remarks`` collects what is said."""

    def __init__(self, given: Sequence[Document], roots: Sequence[Path], remarks: list[Problem]) -> None:
        self._folders = dict[str, str]()
        self.roots = [Path(os.path.realpath(root)) for root in roots]
        self._boundaries = dict[Path, Boundary]()
        self._remarks = remarks
        self._parsed = dict[Path, list[Document]]()
        self._room = _PARSED
        read = {self.file_of(document.source) for document in given}
        self.files = [file for file in dict.fromkeys(self._listed()) if file not in read]
        if len(self.files) > _FILES:
            self._bound(f"pins are looked for in {_FILES} files of {len(self.files)}: those nearest to its top")
            del self.files[_FILES:]

    def file_of(self, source: str) -> Path:
        """The file of a document: its folder with every link followed."""
        folder, name = os.path.split(source)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return Path(self._folders[folder], name)

    def name(self, file: Path) -> str:
        """How places name a file: by its path from a root."""
        inside = (root for root in self.roots if file.is_relative_to(root))
        root = next(inside, None)
        return str(file) if root is None else file.relative_to(root).as_posix()

    def place(self, document: Document, *path: str | int) -> str:
        """File and line of a field."""
        return f"{self.name(self.file_of(document.source))}:{document.line_of(*path)}"

    @property
    def documents(self) -> list[Document]:
        """What is parsed so far."""
        return [document for parsed in self._parsed.values() for document in parsed]

    def search(self, wanted: Callable[[Path, bytes], bool]) -> list[Document]:
        """The documents of the files whose path and content are wanted, of those that are not parsed yet."""
        new = list[Document]()
        for file in self.files:
            if file not in self._parsed and wanted(file, text := self.content(file)):
                new += self._documents(file, text)
        return new

    def read(self, file: Path) -> list[Document]:
        """The documents of a file within the roots, by its name; none if it is not there or cannot be read."""
        try:
            path = self.file_of(str(file))
        except ValueError:  # no name of a file has NUL, or half of a surrogate pair
            return []
        if path not in self._parsed and not self._is_inside(path):
            return []
        return self._documents(path, b"" if path in self._parsed else self.content(path))

    def _is_inside(self, file: Path) -> bool:
        """Whether a file is in one of the roots, also where a link leads."""
        return any(file.is_relative_to(root) and self._boundary(root).has(file) for root in self.roots)

    def _boundary(self, root: Path) -> Boundary:
        if root not in self._boundaries:
            self._boundaries[root] = Boundary(root)
        return self._boundaries[root]

    def _documents(self, file: Path, text: bytes) -> list[Document]:
        if file not in self._parsed:
            self._room -= len(text)
            why = "" if self._room >= 0 else f"more than {_PARSED >> 20} MiB name an operator"
            if len(text) > _SIZE:
                why = f"larger than {_SIZE >> 20} MiB"
            if why:
                self._remarks.append(Problem(self.name(file), "", f"not read for the release of an operator: {why}"))
            scan = None if why else documents.decode(_plain(file, text), str(file))
            self._parsed[file] = [*scan.documents, *scan.repeating] if scan else []
        return self._parsed[file]

    def content(self, file: Path) -> bytes:
        """The content of a regular file, or its beginning, one byte more than the most; none if it cannot be read."""
        try:
            if file.is_symlink():
                return files.content(file)[: _SIZE + 1] if self._is_inside(file) else b""
            opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(opened, "rb") as stream:
                return stream.read(_SIZE + 1) if stat.S_ISREG(os.fstat(opened).st_mode) else b""
        except OSError:
            return b""

    def _listed(self) -> Iterable[Path]:
        """The files below the roots, the nearest to a root first."""
        folders = deque(map(str, self.roots))
        count, files = 0, list[Path]()
        while folders:
            folder = folders.popleft()
            for entry in _entries(folder):
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(_SUFFIXES) or entry.name in _NAMES:
                    files.append(Path(folder, entry.name))
            if count > _ENTRIES:
                self._bound(f"pins are looked for among {_ENTRIES} files: those nearest to its top")
                break
        return files

    def _bound(self, message: str) -> None:
        self._remarks.append(Problem(str(self.roots[0]), "", message))


def _plain(file: Path, text: bytes) -> bytes:
    """The text of a file. In a template of helmfile, a line with an expression alone is a comment, and any other
    expression is a variable.
    """
    is_template = file.suffix == ".gotmpl" or file.name.startswith("helmfile")
    return _EXPRESSION.sub(b"${expression}", _CONTROL.sub(b"#", text)) if is_template else text


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder and may have pins, in order; nothing, if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
    is_chart = any(entry.name == CHART for entry in inside)
    left_out = _LEFT_OUT | ({"templates"} if is_chart else set())
    return [entry for entry in inside if not entry.name.startswith(".") and entry.name not in left_out]


def distance(folder: Path, file: Path) -> Rank:
    """How far a file is from a folder: the fewer folders both are in, the farther. Of those that are equally far, a
    file that is in such a folder itself is nearer than one below it.
    """
    mine, theirs = folder.parts, file.parent.parts
    pairs = enumerate(zip(mine, theirs, strict=False))
    common = next((at for at, (one, other) in pairs if one != other), min(len(mine), len(theirs)))
    return -common, common < len(theirs)


def closest(items: Sequence[T], rank_of: Callable[[T], Rank]) -> list[T]:
    """The items with the lowest rank."""
    if len(items) < 2:
        return list(items)
    ranks = list(map(rank_of, items))
    lowest = min(ranks)
    return [item for item, rank in zip(items, ranks, strict=True) if rank == lowest]


def nearest(folder: Path, items: Sequence[T], file_of: Callable[[T], Path]) -> list[T]:
    """The items whose files are the nearest to a folder."""
    return closest(items, lambda item: distance(folder, file_of(item)))
