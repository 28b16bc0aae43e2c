"""An upstream with all its releases, compared with what is known of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Final, NoReturn

from tools.follow import upstream
from tools.follow.definitions import Defined, Reader, is_object
from tools.follow.history import Release, opened, releases
from tools.follow.judged import Judge
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
_HEAD: Final = re.compile(r"\b(operator|releases?):.*\bhead\b")
_PLACE: Final = re.compile(r"^[^:]+:([^:]+):\d+: ")
"""A release, a file and a line before a finding."""


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
    watcher: Watcher = field(repr=False)
    described: Release | None = None

    @property
    def _released_head(self) -> str | None:
        """The head of the table that is there, if a release has taken its place."""
        head = next((each for each in self.known if each.startswith("head")), None)
        return None if self.releases[-1].name.startswith("head") else head

    def table(self, *, with_head: bool = False) -> str:
        """The text of the table with all releases; ``with_head``: and with a head whose place the newest has taken."""
        digests = {
            release: {name: each.digest for name, each in found.items()} for release, found in self.definitions.items()
        }
        if with_head and self._released_head:
            digests[self._released_head] = digests[self.releases[-1].name]
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
            near = get_close_matches(min(strange), sorted(watched), n=3, cutoff=0)
            _fail(f"--looked {min(strange)}: no watch in {upstream.FILE}; near to it are: {', '.join(near) or 'none'}")
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
        judge = Judge(self.folder, catalog, self.definitions)
        for step in steps:
            pair = by_name[step.before], by_name[step.release]
            turns = [turn for watch in self.what.watches for turn in self.watcher.turns(watch, pair)]
            others = [*self.watcher.others(self.what.watches, *pair)]
            yield from step.lines(judge, turns, others, again=step.release in self.known)
        if steps:
            yield f"## Samples of {newest}"
            yield from self._samples(judge, by_name[steps[0].before] if self.known else None)
        if self._released_head:
            yield f"nothing is newer than {newest}: write in ranges the release that has what head had"
            yield from _of_head(self.folder)
        marked = [each for each in watches if each.lookAt]
        if marked:
            yield "## To be looked at"
        for each in marked:
            yield f"{', '.join(each.codes)}: {each.function} of {each.file} is another one since {each.lookAt}"

    def _samples(self, judge: Judge, before: Release | None) -> Iterator[str]:
        """How many findings there are in the samples of the newest release, and those that an older one has not."""
        lines = self._sampled(judge, self.releases[-1])
        old = {_unplaced(line) for line in self._sampled(judge, before)} if before else set()
        new = [line for line in lines if _unplaced(line) not in old]
        yield f"errors and warnings: {len(lines)}" + (f"; {len(new)} of them new since {before.name}" if before else "")
        yield from new

    def _sampled(self, judge: Judge, release: Release) -> list[str]:
        """What is found in the samples of a release, and why others cannot be read."""
        objects: list[Document] = []
        lines: list[str] = []
        for name, content in release.readable(release.entries(self.what.samples), lines):
            try:
                scan = documents.decode(content, name)
            except LoadError as error:
                lines.append(str(error))
                continue
            objects += filter(is_object, scan.documents)
            lines += map(str, scan.problems)
        return [*lines, *judge.findings(objects, release.name)]


def follow(repository: Path, what: Upstream, folder: Path) -> Following:
    """Read an upstream. ``folder`` is that of the API's policies.

    Raises:
        LoadError: nothing can be read, or less than the table has.
    """
    table = folder / TABLE
    known = Table.parse(table.read_bytes(), str(table)) if table.exists() else Table((), {})
    accepted = {row.digest for rows in known.rows.values() for row in rows}
    reader = Reader(what.crds, what.definitions, what.others, accepted)
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
    lost = [each for each in known.releases if each not in definitions and not each.startswith("head")]
    if lost or not found:
        message = f"the table has {', '.join(lost)}, which cannot be read of {repository}: fetch all tags"
        raise SettingsError([*problems, Problem("", "", message)])
    described = Release(what.described, opened_repository.commit(what.described)) if what.described else None
    watcher = Watcher(dict.fromkeys(each.file for each in what.watches))
    return Following(folder, what, known.releases, found, definitions, problems, reader.unknown, watcher, described)


def _unplaced(line: str) -> str:
    """A finding in a sample without the release and the line, which are others in each release."""
    return _PLACE.sub(r"\1: ", line, count=1)


def _of_head(folder: Path) -> Iterator[str]:
    """The lines of a pack's policies and cases with a range, or a release, that names the head."""
    for file in sorted((*folder.glob("*.yaml"), *folder.glob("cases/*.yaml"))):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if _HEAD.search(line):
                yield f"  {file}:{number}: {line.strip()}"


def _fail(message: str) -> NoReturn:
    raise SettingsError([Problem("", "", message)])
