"""``releases.json``: the releases of an operator, and the digests of the definitions that each of them installs.

.. code-block:: json

    {"releases": ["0.9.7", "0.9.8"],
     "digests": {"models.inference.llmkube.dev": [["2b39…", "0.9.7", "0.9.7"], ["3ddf…", "0.9.8", "0.9.8"]]}}

A row is a digest (:mod:`webhook.schema.crd.digest`) with the first and the last release that have it. A release that no
row covers does not install the definition.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any, Final, NamedTuple

import orjson

from webhook.admission.errors import CatalogError, Problem
from webhook.policy.ranges import version

__all__ = ["Table"]

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_PADDED: Final = re.compile(r"(?:^|\.)0\d")
_FARTHEST: Final = (1, 10, 50)
"""By how much the first number that differs may be above that of the newest release, by its place. More is a typo, as
in 9.9.19, 0.91.9 or 0.9.199. LLMKube has made up to 29 releases of one minor. A date may be further."""


class Row(NamedTuple):
    """``first`` and ``last`` are places in the list of releases; both have the digest."""

    digest: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Table:
    """``releases`` from the oldest to the newest; the rows of each definition by its name, ``<plural>.<group>``."""

    releases: tuple[str, ...]
    rows: Mapping[str, tuple[Row, ...]]

    @classmethod
    def parse(cls, content: bytes, source: str) -> Table:
        """The table in a file.

        Raises:
            CatalogError: with every mistake.
        """
        try:
            reading = _Reading(orjson.loads(content))
        except orjson.JSONDecodeError as error:
            raise CatalogError([Problem(source, "", f"not JSON: {error}")]) from None
        table = cls(reading.releases, reading.rows)
        if reading.problems:
            raise CatalogError([Problem(source, at, message) for at, message in reading.problems])
        return table

    @property
    def newest(self) -> str:
        """The newest release with a number; "" if there is none."""
        return next((name for name in reversed(self.releases) if not _is_head(name)), "")

    def find(self, release: str) -> str | None:
        """A release of the table as it is written there; ``v0.9.8`` and ``head`` are understood."""
        wanted = release.removeprefix("v")
        return next((name for name in self.releases if wanted == name or (wanted == "head" and _is_head(name))), None)

    def named(self, release: str) -> str:
        """As :meth:`find`.

        Raises:
            ValueError: there is none; it names the nearest ones.
        """
        listed = self.find(release)
        if listed is None:
            raise ValueError(f'"{release[:60]}" is not a known release; {nearest(release, self.releases)}')
        return listed

    def around(self, release: str) -> tuple[str, str]:
        """The releases with numbers before and after one that the table lacks, "" beyond the ends.

        Raises:
            ValueError: it is not a release, or so far above the newest that it is a typo.
        """
        wanted = release.removeprefix("v")
        numbered = _numbered(self.releases)
        place = _place(wanted, numbered)
        if place is None or not numbered or _is_typo(wanted, numbered, is_newest=place == len(numbered)):
            raise ValueError(f'"{release[:60]}" is not a known release; {nearest(release, self.releases)}')
        return (numbered[place - 1] if place else ""), (numbered[place] if place < len(numbered) else "")

    def until(self, since: str) -> Iterator[str]:
        """The releases before one of the table."""
        return (each for each in self.releases[: self.releases.index(since)])

    def of(self, seen: Mapping[str, str], absent: Collection[str] = ()) -> tuple[str, ...]:
        """The releases that install definitions with these digests, by name.

        Those that are ``absent`` leave only releases without them; unless no release is left, because a user may
        install only some definitions of an operator.
        """
        found = set(range(len(self.releases)))
        for name, digest in seen.items():
            found &= self._with(name, digest)
        without = found - {place for name in absent for place in self._with(name)}
        return tuple(self.releases[place] for place in sorted(without or found))

    def _with(self, name: str, digest: str = "") -> set[int]:
        """The places of the releases that install a definition: with this digest, or with any."""
        rows = (row for row in self.rows.get(name, ()) if digest in {"", row.digest})
        return {place for row in rows for place in range(row.first, row.last + 1)}


class _Reading:
    """What a document says, with its mistakes."""

    def __init__(self, document: Any) -> None:
        self.problems: list[tuple[str, str]] = []
        self.releases: tuple[str, ...] = ()
        self.rows: dict[str, tuple[Row, ...]] = {}
        if not isinstance(document, dict) or document.keys() != {"releases", "digests"}:
            self.problems.append(("", "must be an object with releases and digests"))
            return
        self.releases = tuple(self._read_releases(document["releases"]))
        if not isinstance(document["digests"], dict):
            self.problems.append(("digests", "must be an object: by the name of a definition, its rows"))
        elif not self.problems:
            self.rows = {name: tuple(self._read_rows(name, rows)) for name, rows in document["digests"].items()}

    def _read_releases(self, found: Any) -> Iterator[str]:
        if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
            self.problems.append(("releases", "must be a list of releases"))
            return
        for index, each in enumerate(found):
            try:
                version(each)
            except ValueError as error:
                self.problems.append((f"releases[{index}]", str(error)))
                return
        for older, newer in pairwise(found):
            if version(older) >= version(newer):
                self.problems.append(("releases", f"{newer} must not come after {older}: the oldest is the first"))
        yield from found

    def _read_rows(self, name: str, rows: Any) -> Iterator[Row]:
        taken: dict[int, int] = {}
        if not isinstance(rows, list):
            self.problems.append((f"digests.{name}", "must be a list of rows"))
            return
        for index, each in enumerate(rows):
            at = f"digests.{name}[{index}]"
            row = self._row(at, each)
            if row is None:
                continue
            for place in range(row.first, row.last + 1):
                if taken.setdefault(place, index) != index:
                    other = f"digests.{name}[{taken[place]}]"
                    self.problems.append((at, f"{self.releases[place]} has another digest in {other}"))
                    break
            yield row

    def _row(self, at: str, row: Any) -> Row | None:
        if not isinstance(row, list) or len(row) != len(Row._fields) or not all(isinstance(each, str) for each in row):
            self.problems.append((at, "must be a list of a digest, the first and the last release with it"))
            return None
        digest, *ends = row
        if not _DIGEST.fullmatch(digest):
            self.problems.append((at, "the digest must have 64 hexadecimal digits, in lower case"))
        if unknown := [each for each in ends if each not in self.releases]:
            message = f'"{unknown[0][:60]}" is not one of the releases; {nearest(unknown[0], self.releases)}'
            self.problems.append((at, message))
            return None
        first, last = map(self.releases.index, ends)
        if first > last:
            self.problems.append((at, f"{ends[0]} comes after {ends[1]}"))
        return Row(digest, first, last)


def _is_head(release: str) -> bool:
    return release.startswith("head")


def _numbered(releases: Sequence[str]) -> list[str]:
    return [name for name in releases if not _is_head(name)]


def _place(release: str, numbered: Sequence[str]) -> int | None:
    """How many releases with numbers are not after one; None if it is not a release."""
    try:
        return bisect(numbered, version(release.removeprefix("v")), key=version)
    except ValueError:
        return None


def _is_typo(release: str, numbered: Sequence[str], *, is_newest: bool) -> bool:
    is_padded = _PADDED.search(release) and not any(map(_PADDED.search, numbered))
    if _is_head(release) or is_padded or version(release) in map(version, numbered):
        return True
    pairs = zip_longest(version(numbered[-1])[0], version(release)[0], fillvalue=0.0)
    at, (old, new) = next(((at, pair) for at, pair in enumerate(pairs) if pair[0] != pair[1]), (0, (0.0, 0.0)))
    return is_newest and new - old > max(_FARTHEST[min(at, 2)], old // 100)


def nearest(release: str, releases: Sequence[str]) -> str:
    """What to use instead of an unknown release: those with the nearest numbers."""
    numbered = _numbered(releases)
    place = _place(release, numbered)
    if place is None or not numbered:
        return f"the known ones are {releases[0]} to {releases[-1]}"
    end = min(max(place + 1, 2), len(numbered))
    return f"use {' or '.join(numbered[max(end - 2, 0) : end])}"
