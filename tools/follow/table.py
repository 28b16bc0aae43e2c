"""The table of known releases, ``policies/<api>/releases.json``: which definitions each release has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Row", "Table", "made_table"]


class Row(NamedTuple):
    """A digest, and the first and the last of the releases side by side that have it."""

    digest: str
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Table:
    """``releases`` from the oldest to the newest; ``digests``: the name of a definition → its rows in this order.

    A definition has no row for a release that lacks it.
    """

    releases: tuple[str, ...]
    digests: Mapping[str, tuple[Row, ...]]

    def text(self) -> str:
        """The file: a line for each row, so that a new release is a small change of it."""
        kinds = (_lines(name, rows) for name, rows in sorted(self.digests.items()))
        return f'{{\n"releases": {json.dumps(self.releases)},\n"digests": {{\n{",".join(kinds).lstrip()}}}\n}}\n'


def _lines(name: str, rows: Iterable[Row]) -> str:
    return f"\n{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, rows)) + "\n]"


def made_table(releases: Mapping[str, Mapping[str, str]]) -> Table:
    """The table of releases, from the oldest to the newest: name → the digest of each of its definitions."""
    rows: dict[str, list[Row]] = {}
    before: Mapping[str, str] = {}
    for release, digests in releases.items():
        for name, digest in digests.items():
            found = rows.setdefault(name, [])
            same = before.get(name) == digest
            found[-1:] = [found[-1]._replace(last=release)] if same else [*found[-1:], Row(digest, release, release)]
        before = digests
    return Table(tuple(releases), {name: tuple(found) for name, found in rows.items()})
