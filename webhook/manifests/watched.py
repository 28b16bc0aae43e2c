"""A folder that is loaded again when its files change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from webhook.admission.errors import CatalogError, Problem
from webhook.manifests import folders

__all__ = ["Watched"]

T = TypeVar("T")


class Watched(Generic[T]):
    """What ``load`` makes of a folder, whenever the folder has changed.

    A ConfigMap that is mounted as a folder changes by one symlink, and so does a set of files replaced by a rename. A
    folder that is written file by file may be seen half done. So a set is used only if two polls in a row, and a third
    check after loading, find the same content.
    """

    def __init__(self, folder: Path, load: Callable[[], T]) -> None:
        self._folder = folder
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
            root = Path(os.path.realpath(self._folder, strict=True))
            for file in folders.files(root):
                found.update(f"{file.relative_to(root)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
        except OSError as error:
            self._tried = ""  # when it is readable again, load it in any case
            raise CatalogError([Problem(error.filename, "", f"cannot be read: {error.strerror}")]) from None
        return found.hexdigest()
