"""A folder that only one user can write to, for files that are trusted as that user's own programs are."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

__all__ = ["PrivateFolder", "user_cache"]

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class PrivateFolder:
    """A folder with mode 0700, made when it is first written to. Symbolic links are not followed.

    What another user owns, or could have changed, counts as absent. No method raises for it: a file is found or not,
    and written or not.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str, limit: int) -> bytes | None:
        """The content of a file of up to ``limit`` bytes; None if there is none that can be trusted."""
        with contextlib.suppress(OSError), self._opened() as folder:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(file, "rb") as opened:
                found = os.fstat(file)
                if stat.S_ISREG(found.st_mode) and _is_own(found) and found.st_size <= limit:
                    return opened.read()
        return None

    def write(self, name: str, content: bytes) -> bool:
        """Write a file as a whole, or not at all: a reader finds the old content or the new."""
        with contextlib.suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._opened():
                return self._replaced(name, content)
        return False

    def _replaced(self, name: str, content: bytes) -> bool:
        file, part = tempfile.mkstemp(dir=self.path, prefix=".")  # mode 0600
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(content)
            Path(part).replace(self.path / name)
        except OSError:
            with contextlib.suppress(OSError):
                Path(part).unlink()
            raise
        return True

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not _is_own(os.fstat(folder)):
                raise PermissionError(f"{self.path} belongs to another user, or others may write to it")
            yield folder
        finally:
            os.close(folder)


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE


def user_cache(environment: Mapping[str, str]) -> PrivateFolder | None:
    """``modelgate`` in the folder that the XDG Base Directory Specification names; None without a home."""
    named = Path(environment.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return PrivateFolder(named / "modelgate")
    home = Path(environment.get("HOME", ""))
    return PrivateFolder(home / ".cache" / "modelgate") if home.is_absolute() else None
