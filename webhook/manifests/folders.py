"""Manifests in files and folders: every object, and every problem of every file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from webhook.admission.errors import DocumentError, Problem
from webhook.manifests import documents
from webhook.manifests.documents import Document

__all__ = ["entries", "files", "read_all", "scan"]

_SUFFIXES: Final = {".yaml", ".yml", ".json"}


def entries(folder: Traversable) -> list[Traversable]:
    """The entries of a folder, sorted by name."""
    return sorted(folder.iterdir(), key=lambda item: item.name)


def files(folder: Path) -> list[Path]:
    """The files below a folder, sorted, following links; for a file, the file itself.

    A mounted ConfigMap has each file twice: by a link (of the file or of its folder), and in a hidden folder
    (``..data``), which is skipped.

    Raises:
        OSError: a folder cannot be read.
    """
    return [folder] if folder.is_file() else sorted(path for path in _below(folder) if path.is_file())


def _below(folder: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for here, folders, names in os.walk(folder, onerror=_unreadable, followlinks=True):
        real = os.path.realpath(here)
        folders[:] = [] if real in seen else sorted(name for name in folders if name[:2] != "..")
        yield from (Path(here, name) for name in names if real not in seen and name[:2] != "..")
        seen.add(real)


def _unreadable(error: OSError) -> None:
    raise error


def read_all(paths: Sequence[Path]) -> list[Document]:
    """Every object of files and of the manifests in folders; ``-`` is standard input.

    Raises:
        DocumentError: with the problems of all files.
    """
    found, problems = scan(paths)
    if problems:
        raise DocumentError(problems)
    return found


def scan(paths: Sequence[Path]) -> tuple[list[Document], list[Problem]]:
    """As :func:`read_all`, but return the problems instead of raising them, beside the objects that can be read."""
    found: list[Document] = []
    problems: list[Problem] = []
    for path in _manifests(paths):
        readable, unreadable = _standard_input() if str(path) == "-" else documents.scan_file(path)
        problems += unreadable
        for document in readable:
            headless = list(_headless(document))
            problems += headless
            found += [] if headless else [document]
    return found, problems


def _standard_input() -> tuple[list[Document], list[Problem]]:
    """Read standard input as bytes, because the locale may decode it wrongly."""
    if sys.stdin is None:
        return [], [Problem("stdin", "", "cannot be read: it is closed")]
    return documents.decode(sys.stdin.buffer.read(), "stdin")


def _manifests(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (item for item in files(path) if item.suffix in _SUFFIXES)
        else:
            yield path


def _headless(document: Document) -> Iterator[Problem]:
    """Problems of a document without apiVersion or kind."""
    for field in ("apiVersion", "kind"):
        if not isinstance(document.value.get(field), str):
            where = f"{document.source}:{document.line}"
            yield Problem(where, field, "Required value")
