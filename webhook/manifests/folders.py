"""Manifests in files and folders: every object, and every problem of every file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webhook.admission.errors import DocumentError, Problem
from webhook.manifests.contents import Contents
from webhook.manifests.documents import Document
from webhook.manifests.links import Boundary, content
from webhook.manifests.reading import Reading, read_paths

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["content_of", "entries", "files", "read_all", "scan"]

EVERYTHING: Final = Reading(strict=True)


def entries(folder: Traversable) -> list[Traversable]:
    """The entries of a folder, sorted by name."""
    return sorted(folder.iterdir(), key=lambda item: item.name)


def content_of(file: Traversable, *, trusted: bool = False) -> bytes:
    """The content of an entry; one that is ``trusted`` may be anywhere.

    Raises:
        OSError: as :func:`webhook.manifests.links.content`, of a file that is not within an archive.
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
