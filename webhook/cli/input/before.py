"""The earlier version of the files that are checked: other files, or the same ones at a commit of Git."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.admission.errors import DocumentError
from webhook.catalog import Catalog
from webhook.cli.input.pins import deployed_by, pins_of
from webhook.library.pins import Pinned
from webhook.library.unknown import Substitutions, prepared
from webhook.manifests.documents import Document
from webhook.manifests.reading import KUSTOMIZATIONS, Manifests, Reading, read_paths

if TYPE_CHECKING:
    from webhook.cli.input.repository import Commit, Entry

_SUFFIXES: Final = (".yaml", ".yml", ".json", ".tf", ".gotmpl", ".lock", *KUSTOMIZATIONS)


class Earlier(NamedTuple):
    """Objects of earlier files. ``pinned`` is what was deployed for them at a commit, by API, for each file."""

    documents: list[Document]
    pinned: Mapping[tuple[str, Path | None], Mapping[str, Pinned]] = {}

    def deployed(self, document: Document) -> Mapping[str, Pinned]:
        return self.pinned.get((document.source, document.built), {})


def earlier(old: Sequence[Path]) -> list[Document]:
    """The objects of earlier files.

    Raises:
        DocumentError: one cannot be read.
    """
    read = read_paths(old, Reading(lenient=True))
    if read.problems:
        raise DocumentError(read.problems)
    return read.documents


def at_commit(
    commit: Commit,
    paths: Sequence[Path],
    read: Callable[[Sequence[Path]], Manifests],
    substitute: Mapping[str, str],
    *,
    whole: bool,
    catalog: Catalog | None,
) -> Earlier:
    """The objects that ``paths`` had at a commit, read as they are now; what cannot be read there is not there.

    A copy of their files is read, or of the ``whole`` repository, since a kustomization can name any file of it. With a
    ``catalog``, what the commit deploys of its operators is read, too; any file may say it.

    Raises:
        SettingsError: a path is not in the repository of the current folder, or Git cannot read the commit.
    """
    asked = [path for path in paths if str(path) != "-"]
    targets = [path.resolve() for path in asked]  # a link may have led there at the commit, too
    asked += [path for path in targets if commit.repository.place(path) is not None]
    entries = commit.files(*asked)
    packs = catalog.packs.values() if catalog else ()
    has_pins = commit.mentions([name for pack in packs for name in (*pack.charts, *pack.repositories, *pack.images)])
    if whole or has_pins:
        entries += commit.files(commit.repository.top)
    wanted = dict.fromkeys(each for each in entries if whole or each.path.endswith(_SUFFIXES))
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name).resolve()
        _write(commit, wanted, copy)
        there = dict.fromkeys(copy / place for each in asked if (place := commit.repository.place(each)) is not None)
        given = read([each for each in there if each.exists()])
        values = Substitutions.of(given.documents, copy, substitute)
        given.documents = [prepared(document, values.values(document.applied)) for document in given.documents]
        deployed = deployed_by(pins_of(given.documents, [copy], catalog) if catalog and has_pins else None)
        found, pinned = dict[object, Document](), dict[tuple[str, Path | None], Mapping[str, Pinned]]()
        for each in given.documents:
            source = f"{commit.name}:{os.path.relpath(each.source, copy)}"
            built = each.built and Path(os.path.relpath(each.built, copy))
            found[source, built, each.line, each.at] = replace(each, source=source, built=built)
            if deployed is not None and (source, built) not in pinned:
                pinned[source, built] = {
                    api: replace(pin, places=tuple(f"{commit.name}:{place}" for place in pin.places))
                    for api, pin in deployed(each).items()
                }
    return Earlier([*found.values()], pinned)


def _write(commit: Commit, entries: Iterable[Entry], folder: Path) -> None:
    for name, content in commit.read(entries):
        file = folder / name.removeprefix(f"{commit.name}:")
        if ".." not in file.parts:
            with suppress(OSError):  # a name that is too long, or that is also that of a folder
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
