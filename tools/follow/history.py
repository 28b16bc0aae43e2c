"""The releases of an upstream: its tags, and what is newer than all of them. Nothing of the repository is run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final, NoReturn

from tools.follow.upstream import Upstream
from webhook.admission.errors import Problem, SettingsError
from webhook.cli.input.repository import Commit, Entry, Repository
from webhook.policy.ranges import Version, version

_LARGEST: Final = 4 << 20
"""Bytes of a file. An API server takes requests of 3 MiB."""
_RELEASED: Final = re.compile(r"[0-9]+(\.[0-9]+)+")
_CANDIDATE: Final = re.compile(r"[0-9]+(\.[0-9]+)+(-rc\.?[0-9]+)?")
_LONGEST: Final = 50
"""Characters of a version."""


@dataclass(frozen=True)
class Release:
    """``name`` is that of the table: ``0.9.19``, or ``head-2026-08-22`` for what is not released yet."""

    name: str
    commit: Commit = field(repr=False)

    @cached_property
    def _files(self) -> dict[str, Entry]:
        return {each.path: each for each in self.commit.files(self.commit.repository.top)}

    def entries(self, globs: Iterable[str]) -> list[Entry]:
        """The files whose path matches: ``*`` stands for anything but ``/``, and ``**/`` for any folders."""
        matches = re.compile("|".join(map(_pattern, globs)), re.DOTALL).fullmatch
        return [each for path, each in self._files.items() if matches(path)]

    def at(self, paths: Iterable[str]) -> list[Entry]:
        """The files at these paths; those that are not there are left out."""
        return [self._files[path] for path in paths if path in self._files]

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[str, bytes]]:
        """The name, such as ``v0.9.19:config/model.yaml``, and the content of files.

        Raises:
            SettingsError: one is not a regular file, too large, or not in the clone.
        """
        for fault in self._faults(entries).values():
            _fail(fault)
        return self.commit.read(entries)

    def readable(self, entries: Sequence[Entry], faults: list[str]) -> Iterator[tuple[str, bytes]]:
        """As :meth:`read`, without the files that cannot be read: ``faults`` gets a sentence for each."""
        found = self._faults(entries)
        faults += found.values()
        return self.commit.read([each for each in entries if each not in found])

    def _faults(self, entries: Sequence[Entry]) -> dict[Entry, str]:
        """Why files are not read: those that are not regular, or too large."""
        names = {each: f"{self.commit.name}:{each.path}" for each in entries}
        found = {
            each: f"{names[each]} is a symbolic link or a submodule, which is not read"
            for each in entries
            if not each.mode.startswith("100")
        }
        asked = [each for each in entries if each not in found]
        check = ["cat-file", "--batch-check=%(objectsize)"]
        sizes = _said(self.commit.repository, check, [each.id for each in asked]) if asked else []
        for each, size in zip(asked, sizes, strict=True):
            if size.isdecimal() and int(size) > _LARGEST:
                found[each] = f"{names[each]} has {size} bytes, more than {_LARGEST}"
        return found


def opened(folder: Path) -> Repository:
    """The repository with its working tree at a folder, or that is the folder.

    Raises:
        SettingsError: it is neither, or Git does not open it.
    """
    top = folder.resolve()
    if (top / ".git").exists():
        return Repository.at(top)
    if not ((top / "HEAD").is_file() and (top / "objects").is_dir()):
        _fail(f"{folder} is not the top of a Git repository")
    return Repository(top, top)


def releases(repository: Repository, what: Upstream) -> list[Release]:
    """The releases that count, the oldest first; HEAD is the last one if no release has it, and all later ones count.

    Only a tag that is a prefix and a version is a release: others are not, and candidates only where they count.

    Raises:
        SettingsError: there is no release, two tags are the same version, or Git cannot read them.
    """
    form, prefixes = _CANDIDATE if what.candidates else _RELEASED, what.tags
    first, last = version(what.since), version(what.until or "head")
    found: dict[Version, Release] = {}
    for line in _said(repository, ["for-each-ref", "--format=%(objectname) %(refname:strip=2)", "refs/tags"]):
        identity, _, tag = line.partition(" ")
        name = next((tag.removeprefix(each) for each in prefixes if tag.startswith(each)), "")
        if form.fullmatch(name) and len(name) <= _LONGEST and first <= version(name) <= last:
            release = Release(name, _commit(repository, identity, tag))
            other = found.setdefault(version(name), release)
            if other.commit.id != release.commit.id:
                _fail(f"the tags {other.commit.name} and {tag} are one version, but different commits")
    if not found:
        names = " or ".join(prefixes)
        _fail(f"no tag of {repository.top} is {names} with a version from {what.since} on: fetch its tags")
    ordered = [found[each] for each in sorted(found)]
    return ordered if what.until else [*ordered, *_head(repository, ordered[-1])]


def _commit(repository: Repository, identity: str, tag: str) -> Commit:
    try:
        return replace(repository.commit(identity), name=tag)
    except SettingsError:
        _fail(f"the tag {tag} names no commit of this clone")


def _head(repository: Repository, newest: Release) -> Iterator[Release]:
    """HEAD, named by its day, unless the newest release has it or there is none."""
    try:
        head = repository.commit("HEAD")
    except SettingsError:
        return
    if repository.git(["merge-base", "--is-ancestor", head.id, newest.commit.id]).returncode:
        seconds = _said(repository, ["rev-list", "--timestamp", "-1", head.id])[0].partition(" ")[0]
        yield Release(f"head-{datetime.fromtimestamp(int(seconds), UTC).date().isoformat()}", head)


def _said(repository: Repository, arguments: Sequence[str], given: Iterable[str] = ()) -> list[str]:
    done = repository.git(arguments, "".join(f"{each}\n" for each in given).encode())
    if done.returncode:
        _fail(f"Git cannot read {repository.top}: {' '.join(done.stderr.decode(errors='replace').split())[:300]}")
    return done.stdout.decode(errors="replace").splitlines()


def _pattern(glob: str) -> str:
    parts = re.split(r"(\*\*/|\*)", glob)
    return "".join({"**/": "(?:[^/]*/)*", "*": "[^/]*"}.get(each, re.escape(each)) for each in parts)


def _fail(message: str) -> NoReturn:
    raise SettingsError([Problem("", "", message)])
