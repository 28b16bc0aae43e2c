"""An upstream with all its releases, compared with what is known of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final, NoReturn

from tools.follow.definitions import Defined, Reader, is_object
from tools.follow.history import Release, opened, releases
from tools.follow.judged import findings, under
from tools.follow.report import Step
from tools.follow.table import table_text
from tools.follow.upstream import Upstream, Watch
from tools.follow.watches import Watcher
from webhook.admission.errors import LoadError, Problem, SettingsError
from webhook.catalog import Catalog
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.policy.table import Table

TABLE: Final = "releases.json"


@dataclass(frozen=True, slots=True)
class Following:
    """``releases`` are those that can be read, the oldest first, with their ``definitions`` by name.

    ``known``: the releases of the table that is there. ``problems``: why other releases are left out. ``strangers`` are
    definitions that are neither followed nor among the others, each with its first release. ``described`` is the commit
    of which the rules are true, if that is not the newest release.
    """

    folder: Path
    what: Upstream
    known: Sequence[str]
    releases: Sequence[Release]
    definitions: Mapping[str, Mapping[str, Defined]]
    problems: Sequence[Problem]
    strangers: Mapping[str, str]
    described: Release | None = None
    watcher: Watcher = field(default_factory=Watcher)

    def table(self) -> str:
        """The text of the table with all releases."""
        digests = {
            release: {name: each.digest for name, each in found.items()} for release, found in self.definitions.items()
        }
        return table_text(digests)

    def steps(self, since: str | None) -> list[Step]:
        """The releases after one, or without it those that the table lacks, each with the one before it.

        Raises:
            SettingsError: there is no such release.
        """
        names = list(self.definitions)
        if since is not None and since not in names:
            _fail(f"--since {since}: use a release from {names[0]} to {names[-1]}")
        new = set(names[names.index(since) + 1 :]) if since else set(names) - set(self.known)
        pairs = [(before, release) for before, release in pairwise(names) if release in new]
        return [Step(*pair, *(self.definitions[each] for each in pair)) for pair in pairs]

    def looked_at(self, accepted: Collection[str]) -> list[Watch]:
        """The watches after the newest release; ``accepted`` are the functions that were looked at.

        Raises:
            SettingsError: nothing watches an accepted function, or a function to look at is not there.
        """
        watched = {each.function for each in self.what.watches}
        if strange := set(accepted) - watched:
            _fail(f"--looked {min(strange)}: use one of {', '.join(sorted(watched))}")
        return [
            self.watcher.looked_at(each, self.releases, self.described, accepted=each.function in accepted)
            for each in self.what.watches
        ]

    def lines(self, steps: Sequence[Step], watches: Sequence[Watch], catalog: Catalog) -> Iterator[str]:
        """What is new, upstream's samples under the newest release, and what is to be looked at."""
        newest = self.releases[-1].name
        yield f"{len(self.releases)} releases, {self.releases[0].name} to {newest}; {len(steps)} of them new"
        for name, release in self.strangers.items():
            yield f"{name} is defined from {release} on: name it among definitions or others"
        by_name = {each.name: each for each in self.releases}
        for step in steps:
            pair = [by_name[step.before], by_name[step.release]]
            turns = [turn for watch in watches for turn in self.watcher.turns(watch, pair)]
            yield from step.lines(self.folder, catalog, turns)
        if steps:
            yield f"## Samples of {newest}"
            yield from self._samples(catalog)
        if any(each.startswith("head") for each in self.known) and not newest.startswith("head"):
            yield f"nothing is newer than {newest}: replace head in ranges by a release"
        marked = [each for each in watches if each.lookAt]
        if marked:
            yield "## To be looked at"
        for each in marked:
            yield f"{', '.join(each.codes)}: {each.function} of {each.file} is another one since {each.lookAt}"

    def _samples(self, catalog: Catalog) -> Iterator[str]:
        newest = self.releases[-1]
        definitions = [each.value for each in self.definitions[newest.name].values()]
        objects: list[Document] = []
        for entry in newest.entries(self.what.samples):
            try:
                read = [documents.decode(content, name) for name, content in newest.read([entry])]
            except LoadError as error:
                yield str(error)
                continue
            objects += [each for scan in read for each in scan.documents if is_object(each)]
            yield from (str(each) for scan in read for each in scan.problems)
        released = under(catalog, self.folder.name, newest.name, definitions)
        found = list(findings(objects, released, definitions))
        yield f"{len(objects)} objects, errors and warnings: {len(found)}"
        yield from found


def follow(repository: Path, what: Upstream, folder: Path) -> Following:
    """Read an upstream. ``folder`` is that of the API's policies.

    Raises:
        LoadError: nothing can be read, or less than the table has.
    """
    table = folder / TABLE
    known = Table.parse(table.read_bytes(), str(table)).releases if table.exists() else ()
    reader = Reader(what.crds, what.definitions, what.others)
    found: list[Release] = []
    definitions: dict[str, Mapping[str, Defined]] = {}
    problems: list[Problem] = []
    opened_repository = opened(repository)
    for release in releases(opened_repository, what):
        try:
            definitions[release.name] = reader.of(release)
            found.append(release)
        except LoadError as error:
            left_out = f"; {release.name} is left out"
            problems += [Problem(each.source, each.path, each.message + left_out) for each in error.problems]
    lost = [each for each in known if each not in definitions and not each.startswith("head")]
    if lost or not found:
        message = f"the table has {', '.join(lost)}, which cannot be read of {repository}: fetch all tags"
        raise SettingsError([*problems, Problem("", "", message)])
    described = Release(what.described, opened_repository.commit(what.described)) if what.described else None
    return Following(folder, what, known, found, definitions, problems, reader.unknown, described)


def _fail(message: str) -> NoReturn:
    raise SettingsError([Problem("", "", message)])
