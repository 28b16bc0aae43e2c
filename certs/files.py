"""Several files of one directory, replaced as one.

The layout is the kubelet's for mounted Secrets: ``tls.crt`` is a link to ``..data/tls.crt``, and ``..data`` a link to
the directory that holds the current set. Replacing that one link replaces every file at the same moment. A reader that
resolves ``..data`` once never pairs a new certificate with an old key.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

_DATA = "..data"


def read(directory: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The existing files among ``names``, all of one set. Plain files, put there by hand, are read as well."""
    names = tuple(names)
    while True:
        source = _current(directory)
        found = {name: content for name in names if (content := _content((source or directory) / name)) is not None}
        if _current(directory) == source:  # else the set was replaced, and removed, during the read
            return found


def replace(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` as the new set, and remove the old one. Only the owner can read it: one file is a key."""
    old, new = _current(directory), _stage(directory, files)
    _link(new.name, directory / _DATA)
    _name(directory, files)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def create(directory: Path, files: Mapping[str, bytes]) -> bool:
    """Write ``files`` unless there is a set already; False, without a change, if another writer was first."""
    new = _stage(directory, files)
    try:
        (directory / _DATA).symlink_to(new.name)
    except FileExistsError:
        shutil.rmtree(new)
        return False
    _name(directory, files)
    return True


def _current(directory: Path) -> Path | None:
    try:
        return directory / os.readlink(directory / _DATA)  # noqa: PTH115 - a third of the time of Path.readlink
    except (FileNotFoundError, NotADirectoryError):
        return None


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _stage(directory: Path, files: Mapping[str, bytes]) -> Path:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix="..", dir=directory))  # made with mode 0700
    for name, content in files.items():
        descriptor = os.open(new / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
    return new


def _name(directory: Path, files: Mapping[str, bytes]) -> None:
    """Link each name to the current set; a plain file of that name is replaced."""
    for name in files:
        target = f"{_DATA}/{name}"
        if not (directory / name).is_symlink() or (directory / name).readlink() != Path(target):
            _link(target, directory / name)


def _link(target: str, link: Path) -> None:
    """Point ``link`` to ``target`` atomically: a rename replaces an existing file, a symlink call does not."""
    temporary = Path(tempfile.mkdtemp(prefix="..", dir=link.parent))
    (temporary / "link").symlink_to(target)
    (temporary / "link").replace(link)
    temporary.rmdir()
