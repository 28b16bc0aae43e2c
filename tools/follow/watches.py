"""The functions on which rules depend: where their text changed, and whether it is the one that was looked at."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from hashlib import sha256
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from tools.follow.golang import Function, functions, values
from tools.follow.history import Release
from tools.follow.upstream import Watch
from webhook.admission.errors import Problem, SettingsError

_SHOWN: Final = 20
"""Names in a line: a large change of a file has more."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A release at which the text of a function is another one than before; None where there is no such function."""

    watch: Watch
    release: str
    before: str | None
    after: str | None

    @property
    def seen(self) -> bool:
        """Whether a person has looked at the new text, as at that of a commit before the release."""
        return _digest(self.after) == self.watch.sha256

    def __str__(self) -> str:
        what = "changed" if self.before and self.after else "is gone" if self.before else "is new"
        seen = ", as it was looked at" if self.seen else ""
        return f"{self.watch.file}: {self.watch.function} {what} in {self.release}{seen}: {', '.join(self.watch.codes)}"

    def lines(self) -> Iterator[str]:
        """The lines that were removed and added, with those around them."""
        before, after = ((text or "").expandtabs(4).splitlines() for text in (self.before, self.after))
        return (line for line in unified_diff(before, after, lineterm="", n=2) if line[:3] not in ("---", "+++"))


@dataclass(slots=True)
class Watcher:
    """Reads functions of releases, from ``files``; a file that many of them have is read once."""

    files: Collection[str]
    _read: dict[str, list[Function]] = field(default_factory=dict)

    def turns(self, watch: Watch, releases: Sequence[Release]) -> Iterator[Turn]:
        """The releases, of some in their order, at which the function is another one than in the one before.

        Raises:
            SettingsError: the file has several functions of this name, or cannot be read.
        """
        for older, newer in pairwise(releases):
            before, after = self.text(watch, older), self.text(watch, newer)
            if before != after:
                yield Turn(watch, newer.name, before, after)

    def others(self, watches: Sequence[Watch], older: Release, newer: Release) -> Iterator[str]:
        """A line for each file in the folders of watches of which a release changes more than what is watched.

        It names each such function with the codes of the watched ones that name it. Of a file that has no watch, only
        these are named.

        Raises:
            SettingsError: a file cannot be read.
        """
        texts = [(each, self.text(each, newer) or "") for each in watches]
        sources = {str(PurePosixPath(file).with_name("*.go")) for file in self.files}
        before = {each.path: each.id for each in older.entries(sources)}
        changed = [each for each in newer.entries(sources) if before.get(each.path) != each.id]
        regular = (each.path for each in changed if each.mode.startswith("100"))
        files = [path for path in regular if not path.endswith("_test.go")]
        for release in (older, newer):
            self._load(release, files)
        for file in files:
            names = []
            for name in self._changed(file, older, newer):
                if any(each.file == file and _matches(name, each) for each in watches):
                    continue
                word = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b")
                codes = sorted({code for each, text in texts if word.search(text) for code in each.codes})
                if codes or file in self.files:
                    names.append(f"{name} ({', '.join(codes)})" if codes else name)
            if names:
                yield f"{file}, without a watch: {_some(names)}"

    def _changed(self, file: str, older: Release, newer: Release) -> list[str]:
        """The functions of a file that are new or others in a release."""
        before = dict(self._functions(older, file))
        return [name for name, text in self._functions(newer, file) if len(name) > 1 and before.get(name) != text]

    def text(self, watch: Watch, release: Release) -> str | None:
        """The text of the function; None if its file, or the function in it, is not there.

        Raises:
            SettingsError: the file has several functions of this name, or cannot be read.
        """
        found = [each for each in self._functions(release, watch.file) if _matches(each.name, watch)]
        if len(found) > 1:
            message = (
                f"has {len(found)} functions {watch.function}: watch one of {', '.join(each.name for each in found)}"
            )
            raise SettingsError([Problem(f"{release.commit.name}:{watch.file}", "", message)])
        return found[0].text if found else None

    def looked_at(
        self, watch: Watch, releases: Sequence[Release], described: Release | None = None, *, accepted: bool
    ) -> Watch:
        """The watch after the newest release: marked if the text is not the one that was looked at.

        It is looked at if it is ``accepted``, or if the watch is new: then as it is ``described``. A mark stays until
        then.

        Raises:
            SettingsError: a text to look at is not there, or cannot be read.
        """
        text = self.text(watch, releases[-1])
        if accepted or watch.sha256 is None:
            place = described if described and not accepted else releases[-1]
            seen = self.text(watch, place)
            if seen is None:
                message = f"{watch.function} is not there: name where it is now, or remove the watch"
                raise SettingsError([Problem(f"{place.commit.name}:{watch.file}", "", message)])
            watch = watch.model_copy(update={"sha256": _digest(seen), "lookAt": None})
        if watch.lookAt or _digest(text) == watch.sha256:
            return watch
        return watch.model_copy(update={"lookAt": self._since(watch, releases)})

    def _since(self, watch: Watch, releases: Sequence[Release]) -> str:
        """The first release after all those with the text that was looked at."""
        since = releases[-1].name
        for release in reversed(releases):
            if _digest(self.text(watch, release)) == watch.sha256:
                break
            since = release.name
        return since

    def _functions(self, release: Release, file: str) -> list[Function]:
        entries = release.at([file])
        if any(each.id not in self._read for each in entries):
            self._load(release, [file, *self.files])
        return [function for entry in entries for function in self._read[entry.id]]

    def _load(self, release: Release, files: Iterable[str]) -> None:
        """Read files by one call of Git."""
        new = [each for each in release.at(files) if each.id not in self._read]
        for entry, (_, content) in zip(new, release.read(new), strict=True):
            text = content.decode(errors="replace")
            self._read[entry.id] = [*functions(text), *values(text)]


def _matches(name: str, watch: Watch) -> bool:
    return watch.function in (name, name.rpartition(".")[2])


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _digest(text: str | None) -> str:
    return "" if text is None else sha256(text.encode()).hexdigest()
