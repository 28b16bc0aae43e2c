"""Manifests in files and folders: every object, every problem of every file, and folders whose files change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from webhook.admission.errors import CatalogError, DocumentError, Problem
from webhook.manifests.documents import Document
from webhook.manifests.files import Boundary, Contents, content
from webhook.manifests.reading import Reading, read_paths

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["LARGEST", "Watched", "content_of", "entries", "files", "read_all", "scan"]

LARGEST: Final = 32 << 20
"""Bytes of a file in a user's folder: ten times the largest definition, which a cluster could not hold (1.5 MiB)."""
EVERYTHING: Final = Reading(strict=True)


def entries(folder: Traversable) -> list[Traversable]:
    """The entries of a folder, sorted by name."""
    return sorted(folder.iterdir(), key=lambda item: item.name)


def content_of(file: Traversable, *, trusted: bool = False) -> bytes:
    """The content of an entry; one that is ``trusted`` may be anywhere.

    Raises:
        OSError: as :func:`webhook.manifests.files.content`, of a file that is not within an archive.
    """
    return content(file) if isinstance(file, Path) and not trusted else file.read_bytes()


def files(folder: Path) -> list[Path]:
    """The files below a folder, sorted, following links within it; for a file, the file itself.

    A mounted ConfigMap has each file twice: by a link (of the file or of its folder), and in a hidden folder
    (``..data``), which is skipped.

    Raises:
        OSError: a folder cannot be read.
    """
    return [folder] if folder.is_file() else sorted(path for path in _below(folder) if path.is_file())


def _below(folder: Path) -> Iterator[Path]:
    seen: set[str] = set()
    boundary = Boundary(folder)
    for here, folders, names in os.walk(folder, onerror=_unreadable, followlinks=True):
        real = os.path.realpath(here)
        inside = [name for name in folders if name[:2] != ".." and boundary.has(Path(here, name))]
        folders[:] = [] if real in seen else sorted(inside)
        named = (Path(here, name) for name in names if real not in seen and name[:2] != "..")
        yield from (path for path in named if boundary.has(path))
        seen.add(real)


def _unreadable(error: OSError) -> None:
    raise error


def read_all(paths: Sequence[Path | Contents]) -> list[Document]:
    """Every object of files and of the manifests in folders; ``-`` is standard input.

    Raises:
        DocumentError: with the problems of all files.
    """
    found, problems = scan(paths)
    if problems:
        raise DocumentError(problems)
    return found


def scan(paths: Sequence[Path | Contents]) -> tuple[list[Document], list[Problem]]:
    """As :func:`read_all`, but return the problems instead of raising them, beside the objects that can be read."""
    read = read_paths(paths, EVERYTHING)
    return read.documents, read.problems


T = TypeVar("T")


class Watched(Generic[T]):
    """What ``load`` makes of folders, whenever one of them has changed.

    A ConfigMap that is mounted as a folder changes by one symlink, and so does a set of files replaced by a rename. A
    folder that is written file by file may be seen half done. So a set is used only if two polls in a row, and a third
    check after loading, find the same content.
    """

    def __init__(self, folders: Sequence[Path], load: Callable[[], T]) -> None:
        self._folders = folders
        self._load = load
        self._seen = ""
        self._tried = ""

    def first(self) -> T:
        """Load for the first time.

        Raises:
            LoadError: with every problem.
        """
        self._tried = self._seen = self._digest()
        return self._load()

    def changed(self) -> T | None:
        """A new set, else None. A set with an error is tried once.

        Raises:
            LoadError: with every problem.
            OSError, UnicodeDecodeError: a file cannot be read.
        """
        seen, self._seen = self._seen, self._digest()
        if self._seen == self._tried or self._seen != seen:
            return None
        self._tried = self._seen
        new = self._load()
        if self._digest() == self._tried:
            return new
        self._tried = ""  # it changed during loading: what was loaded may mix two sets
        return None

    def again(self) -> None:
        """Load at the next look in any case."""
        self._tried = ""

    def _digest(self) -> str:
        found = hashlib.sha256()
        try:
            for folder in self._folders:
                root = Path(os.path.realpath(folder, strict=True))
                for file in files(root):
                    state = file.stat()  # what is larger is refused when it is loaded
                    content = file.read_bytes() if state.st_size <= LARGEST else str(state.st_mtime_ns).encode()
                    found.update(f"{file.relative_to(root)}\0{state.st_size}\0".encode() + content)
                found.update(b"\0")
        except OSError as error:
            self._tried = ""  # when it is readable again, load it in any case
            raise CatalogError([Problem(error.filename, "", f"cannot be read: {error.strerror}")]) from None
        return found.hexdigest()
