"""Files: where they are, whatever links lead to them, whether they are files, and those that are not on the disk."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from errno import EINVAL
from pathlib import Path
from typing import Final

_KERNEL: Final = ("/proc", "/sys")
"""Their files have no size, some never end, and their links lead everywhere."""
_PIPES: Final = ("/dev/fd/", "/proc/self/fd/")
"""How a shell names the output of a program, as in ``--view <(kubectl get …)``."""
_IRREGULAR: Final = "Not a regular file"


def top_of(folder: Path) -> Path | None:
    """The nearest folder, this one or above it, with a ``.git``: the top of a working tree of Git."""
    return next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)


class Boundary:
    """How far links lead from a folder: within its repository; within the folder itself if it is in none."""

    def __init__(self, folder: Path) -> None:
        """The boundary of a folder.

        Raises:
            OSError: it is a folder of the kernel, or a link that leads out of a repository.
        """
        _check(folder)
        real = folder.resolve()
        self._top = top_of(real) or real

    def has(self, path: Path) -> bool:
        """Whether a path is in it, after every link is followed."""
        real = os.path.realpath(path)
        return Path(real).is_relative_to(self._top) and not _is_kernels(real)


def content(path: Path, *, pipe: bool = False) -> bytes:
    """The content of a regular file, or of what a shell names below /dev/fd; ``pipe`` allows a named pipe, too.

    Raises:
        OSError: it cannot be read, or it is a device, a named pipe or a file of the kernel, which may never end, or a
            link that leads out of a repository.
    """
    pipe = str(path).startswith(_PIPES) or (pipe and stat.S_ISFIFO(os.lstat(path).st_mode))
    if not pipe:
        _check(path)
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():  # to open a device may already do something
            raise OSError(EINVAL, _IRREGULAR, str(path))
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if pipe else os.O_NONBLOCK))
    with os.fdopen(file, "rb") as opened:
        mode = os.fstat(file).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(EINVAL, "Is a directory", str(path))
        is_pipe = pipe and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
        if not is_pipe and not stat.S_ISREG(mode):
            raise OSError(EINVAL, _IRREGULAR, str(path))
        return opened.read()


def _check(path: Path) -> None:
    """Refuse a path that is the kernel's, or that a link of a repository leads out of it.

    Raises:
        OSError: it is so.
    """
    real = os.path.realpath(path)
    if _is_kernels(real):
        raise OSError(EINVAL, _IRREGULAR, str(path))
    top = top_of(Path(os.path.abspath(path)).parent)  # noqa: PTH100 - it follows no link
    if top is not None and not Path(real).is_relative_to(top.resolve()):
        raise OSError(EINVAL, "A link that leads out of its repository: name its target instead", str(path))


def _is_kernels(path: str) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in _KERNEL)


@dataclass(frozen=True, slots=True)
class Contents:
    """``files`` are names and contents; ``name`` is that of the folder, or of the file."""

    name: str
    files: tuple[tuple[str, bytes], ...]

    def __str__(self) -> str:
        return self.name
