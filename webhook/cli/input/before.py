"""The earlier version of the files that are checked: other files, or the same ones at a commit of Git."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webhook.admission.errors import DocumentError
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.reading import Reading, read_paths

if TYPE_CHECKING:
    from webhook.cli.input.repository import Commit

__all__ = ["earlier"]

_SUFFIXES: Final = (".yaml", ".yml", ".json")


def earlier(old: Sequence[Path], commit: Commit | None, paths: Sequence[Path]) -> list[Document]:
    """The objects of the files ``old``, and those of ``paths`` at a commit.

    Raises:
        DocumentError: a file of ``old`` cannot be read.
        SettingsError: a path is not in the repository of the current folder, or Git cannot read the commit.
    """
    read = read_paths(old, Reading(lenient=True))
    if read.problems:
        raise DocumentError(read.problems)
    found = [*read.documents]
    if commit is not None:
        found += _committed([path for path in paths if str(path) != "-"], commit)
    return found


def _committed(paths: Sequence[Path], commit: Commit) -> Iterator[Document]:
    """The objects of files and folders at a commit; what cannot be read there is not there."""
    targets = [path.resolve() for path in paths]  # a link may have led there at the commit, too
    targets = [path for path in targets if commit.repository.place(path) is not None]
    entries = dict.fromkeys(each for each in commit.files(*paths, *targets) if each.path.endswith(_SUFFIXES))
    for name, content in commit.read(entries):
        for document in documents.decode(content, name).documents:
            if all(isinstance(document.value.get(each), str) for each in ("apiVersion", "kind")):
                yield document
