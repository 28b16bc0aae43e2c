"""What a folder says of an API's operator: its name, its releases, and the definitions of later ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from webhook.admission.errors import CatalogError, Problem
from webhook.manifests import documents, links
from webhook.manifests.folders import entries
from webhook.policy.ranges import Range, version

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from webhook.policy.table import Table

__all__ = ["DOCUMENTED", "PACK", "TABLE", "InForce", "Pack"]

PACK: Final = "pack.yaml"
TABLE: Final = "releases.json"

By = Literal["documented", "setting", "definitions"]


@dataclass(frozen=True, slots=True)
class InForce:
    """The releases of an operator of which the rules are to be true.

    Several cannot be told apart, and a rule must be true of all; without any, the release is unknown. ``by`` is what
    says so: nothing, so that the documented release counts, a setting, or the installed definitions.
    """

    operator: str = ""
    releases: tuple[str, ...] = ()
    by: By = "documented"

    def holds(self, text: str) -> bool:
        """Whether a range holds of the release."""
        return bool(self.releases) and all(map(Range.parse(text).holds, self.releases))

    def may_hold(self, text: str) -> bool:
        """Whether a range may hold of the release: it holds of some, or the release is unknown."""
        return not self.releases or any(map(Range.parse(text).holds, self.releases))

    def __str__(self) -> str:
        if not self.releases:
            return f"{self.operator} of an unknown release"
        first, last = self.releases[0], self.releases[-1]
        return f"{self.operator} {first}" if first == last else f"{self.operator} {first} to {last}"


DOCUMENTED: Final = InForce()
"""Of an API that knows no releases."""


@dataclass(frozen=True)
class Pack:
    """An API's operator. The table of its releases and its later definitions are read when they are asked for.

    ``folder`` may have ``releases.json`` (:mod:`webhook.policy.table`), and ``crds/<release>/<plural>.json``: the
    definition from this release on.
    """

    folder: Traversable = field(repr=False)
    operator: str = ""
    documented: str | None = None
    trusted: bool = field(default=True, repr=False)

    @classmethod
    def of(cls, folder: Traversable, *, trusted: bool) -> Pack:
        """The pack of an API's folder, which may have none. One that is not ``trusted`` is checked, with its table.

        Raises:
            CatalogError: with every problem.
        """
        file = folder.joinpath(PACK)
        if not file.is_file():
            return cls(folder, folder.name, trusted=trusted)
        (document,) = documents.parse(_content(file, trusted=trusted).decode(), f"{folder.name}/{PACK}")
        if trusted:
            return cls(folder, **document.value["spec"])
        from webhook.policy.pack import parse_pack  # noqa: PLC0415 - pydantic takes 60 ms

        pack = cls(folder, **parse_pack(document), trusted=False)
        if pack.documented is not None and pack.documented not in pack.releases:
            message = str(_failure(pack.table.named, pack.documented))
            raise CatalogError([Problem(f"{document.source}:{document.line}", "spec.documented", message)])
        return pack

    @property
    def releases(self) -> tuple[str, ...]:
        """All known releases, the oldest first."""
        return self.table.releases

    @cached_property
    def table(self) -> Table:
        """The table of releases; without a file, one with the documented release alone."""
        from webhook.policy.table import Table  # noqa: PLC0415 - most runs need no table

        file = self.folder.joinpath(TABLE)
        if file.is_file():
            return Table.parse(_content(file, trusted=self.trusted), f"{self.folder.name}/{TABLE}")
        return Table((self.documented,) if self.documented else (), {})

    @property
    def in_force(self) -> InForce:
        """The documented release."""
        return InForce(self.operator, (self.documented,)) if self.documented else DOCUMENTED

    def later(self, plural: str) -> Iterator[tuple[str, Traversable]]:
        """The later definitions of a kind, from the oldest to the newest, each with the release that it begins with."""
        found = [each for each in entries(self.folder.joinpath("crds")) if each.is_dir() and _is_release(each.name)]
        for folder in sorted(found, key=lambda each: version(each.name)):
            file = folder.joinpath(f"{plural}.json")
            if file.is_file():
                yield folder.name, file

    def definition(self, plural: str, release: str) -> bytes | None:
        """The text of the definition of a later release; None where that in ``crds`` is the last before it."""
        last = None
        for since, file in self.later(plural):
            if version(since) <= version(release):
                last = file
        return None if last is None else _content(last, trusted=self.trusted)


def _content(file: Traversable, *, trusted: bool) -> bytes:
    return file.read_bytes() if trusted or not isinstance(file, Path) else links.content(file)


def _is_release(name: str) -> bool:
    return _failure(version, name) is None


def _failure(function: Callable[[str], object], text: str) -> ValueError | None:
    try:
        function(text)
    except ValueError as error:
        return error
    return None
