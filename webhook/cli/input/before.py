"""The earlier version of the files that are checked: other files, or the same ones at a commit of Git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from webhook.admission.errors import DocumentError, Problem, SettingsError
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.reading import Reading, read_paths

__all__ = ["earlier"]

_SUFFIXES = (".yaml", ".yml", ".json")


def earlier(old: Sequence[Path], revision: str | None, paths: Sequence[Path]) -> list[Document]:
    """The objects of the files ``old``, and those of ``paths`` at a commit.

    Raises:
        DocumentError: a file of ``old`` cannot be read.
        SettingsError: Git does not know the commit, or a path is in no repository.
    """
    read = read_paths(old, Reading(lenient=True))
    if read.problems:
        raise DocumentError(read.problems)
    found = [*read.documents]
    if revision is not None:
        for path in paths:
            found += [] if str(path) == "-" else _committed(path, revision)
    return found


def _committed(path: Path, revision: str) -> Iterator[Document]:
    """The objects of a file or folder at a commit; what cannot be read there is not there."""
    folder, wanted = (path, ".") if path.is_dir() else (path.parent, path.name)
    commit = _git(folder, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"])
    if not commit:
        raise SettingsError([Problem("--git", "", f"{folder}: Git knows no commit {revision!r} there")])
    names = _git(folder, ["ls-tree", "-r", "-z", "--name-only", commit.decode().strip(), "--", wanted])
    for name in names.decode(errors="surrogateescape").split("\0"):
        if name.endswith(_SUFFIXES):
            content = _git(folder, ["show", f"{commit.decode().strip()}:./{name}"])
            for document in documents.decode(content, f"{revision}:{name}").documents:
                if all(isinstance(document.value.get(each), str) for each in ("apiVersion", "kind")):
                    yield document


def _git(folder: Path, arguments: Sequence[str]) -> bytes:
    """The output of Git; nothing if it fails.

    Raises:
        SettingsError: Git is not installed.
    """
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False).stdout  # noqa: S603 - Git, without a shell
    except FileNotFoundError:
        raise SettingsError([Problem("--git", "", "git is not installed")]) from None
