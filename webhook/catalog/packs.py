"""What a folder says of an API's operator: its name, its releases, and their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from webhook.admission.errors import CatalogError, Problem
from webhook.catalog.kept import POLICIES
from webhook.catalog.shapes import FORMS, Definition, forms
from webhook.catalog.tables import FOLDER as TABLES
from webhook.catalog.tables import read_tables, table_files
from webhook.facts import FACTS
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.files import Boundary
from webhook.manifests.folders import LARGEST, content_of, entries
from webhook.policy import node_at
from webhook.policy.pack import PackDocument, Setting, Spec
from webhook.policy.problems import checked
from webhook.policy.ranges import Range, version

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from webhook.policy.table import Table

PACK: Final = "pack.yaml"
TABLE: Final = "releases.json"
FOLLOWED: Final = "follow.yaml"
"""What `tools.follow` is told of the upstream. It changes no rule, and the digest does not cover it."""

By = Literal["documented", "setting", "pin", "definitions", "shape"]


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A release that the table lacks. ``before`` and ``after`` are its neighbours there, "" beyond the ends."""

    release: str
    before: str
    after: str

    def __str__(self) -> str:
        if not self.before:
            return f"{self.release} is older than {self.after}, the oldest that is known: schema not judged"
        if not self.after:
            return f"{self.release} is newer than {self.before}, the newest that is known"
        return f"{self.release} is not known: judged as {self.before}, the known release before it"


@dataclass(frozen=True, slots=True)
class InForce:
    """The releases of an operator of which the rules are to be true.

    Several cannot be told apart, and a rule must be true of all; without any, the release is unknown. ``by`` is what
    says so: nothing, so that the documented release counts, a setting, what a repository deploys, or the installed
    definitions. ``described`` is the release of which ranges hold where nothing says which one runs. An ``unlisted``
    release has the definitions of the known one before it, which ``releases`` names, and ranges hold of its own number.
    ``newest`` is the newest release with a number, where a head counts, which comes after it.
    """

    operator: str = ""
    releases: tuple[str, ...] = ()
    by: By = "documented"
    unlisted: Unlisted | None = None
    newest: str = ""
    described: str = ""

    def holds(self, text: str) -> bool:
        """Whether a range holds of the release."""
        return bool(self.releases) and all(self._each_holds(text))

    def may_hold(self, text: str) -> bool:
        """Whether a range may hold of the release: it holds of some, or the release is unknown."""
        return not self.releases or any(self._each_holds(text))

    def _each_holds(self, text: str) -> Iterator[bool]:
        wanted = Range.parse(text)
        named = self.described if self.unlisted is None else self.unlisted.release
        releases = (named,) if named else self.releases
        return (wanted.holds(each, self.newest) for each in releases)

    @property
    def is_newer(self) -> bool:
        """Whether the release is newer than all that are known."""
        return self.unlisted is not None and not self.unlisted.after

    @property
    def is_older(self) -> bool:
        """Whether the release is older than all that are known, so that nothing is known of its definitions."""
        return self.unlisted is not None and not self.unlisted.before

    @property
    def name(self) -> str:
        """The release, or the first and the last one of several."""
        if self.unlisted is not None:
            return self.unlisted.release
        return " to ".join(dict.fromkeys((self.releases[0], self.releases[-1]))) if self.releases else "unknown"

    def __str__(self) -> str:
        is_named = self.releases or self.unlisted is not None
        return f"{self.operator} {self.name}" if is_named else f"{self.operator} of an unknown release"


PACKS: Final = POLICIES.parent / "packs"
"""The packs that come with Modelgate and are not built in."""

DOCUMENTED: Final = InForce()
"""Of an API that knows no releases."""


class PackFiles:
    """The files of an API's folder that describe its operator. What is read of them is remembered.

    The folder may have ``releases.json`` (:mod:`webhook.policy.table`), and ``forms/<plural>.jsonl``
    (:mod:`webhook.catalog.shapes`).
    """

    def __init__(self, folder: Traversable, *, trusted: bool = True) -> None:
        self.folder = folder
        self.trusted = trusted
        self._table: Table | None = None
        self._schemas: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        self._tables: dict[str, Any] | None = None

    def name(self, *file: str) -> str:
        """How problems name a file, or the folder: of a user's, with its whole path."""
        return "/".join((self.folder.name if self.trusted else str(self.folder), *file))

    def content(self, file: Traversable) -> bytes:
        """The content of a file.

        Raises:
            CatalogError: it is a user's, and is too large, a device, or a link that leads out of the folder, as an
                image may have them.
            OSError: it cannot be read.
        """
        if not self.trusted and isinstance(file, Path):
            if isinstance(self.folder, Path) and not Boundary(self.folder).has(file):
                raise CatalogError([Problem(str(file), "", "is a link that leads out of the folder: copy the file")])
            if (size := file.stat().st_size) > LARGEST:
                raise CatalogError([Problem(str(file), "", f"has {size:,} bytes; {LARGEST:,} are the most")])
        return content_of(file, trusted=self.trusted)

    def documents(self) -> list[Document]:
        """Those of pack.yaml; none, where there is no such file."""
        file = self.folder.joinpath(PACK)
        return documents.parse(self.content(file).decode(), self.name(PACK)) if file.is_file() else []

    def table(self, documented: str | None) -> Table:
        """The table of releases; without a file, one with the documented release alone.

        Raises:
            CatalogError: with every mistake.
        """
        if self._table is None:
            from webhook.policy.table import Table  # noqa: PLC0415 - most runs need no table

            file, alone = self.folder.joinpath(TABLE), (documented,) if documented else ()
            self._table = Table.parse(self.content(file), self.name(TABLE)) if file.is_file() else Table(alone, {})
        return self._table

    def tables(self) -> Mapping[str, Any]:
        """The tables that rules read, by name.

        Raises:
            CatalogError: with every mistake.
        """
        if self._tables is None:
            files = table_files(self.folder)
            read = [(file.name, self.name(TABLES, file.name), self.content(file)) for file in files]
            self._tables = read_tables(read) if read else {}
        return self._tables

    def forms(self, plural: str) -> Iterator[tuple[str, Definition]]:
        """The definitions of a kind, the oldest first, each with the release that it begins with.

        Raises:
            CatalogError: a line of the file is not a form.
        """
        file = self.folder.joinpath(FORMS, f"{plural}.jsonl")
        return forms(self.content(file), self.name(FORMS, file.name)) if file.is_file() else iter(())

    def schemas(self, plural: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The schemas of a kind's definitions (of the last version in each), each with the release it begins with."""
        if plural not in self._schemas:
            self._schemas[plural] = [
                (since, definition["spec"]["versions"][-1]["schema"]["openAPIV3Schema"])
                for since, definition in self.forms(plural)
            ]
        return self._schemas[plural]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack(Spec):
    """An API's operator. The table of its releases and their definitions are read when they are asked for."""

    files: PackFiles = field(repr=False, compare=False)

    @classmethod
    def of(cls, folder: Traversable, *, trusted: bool) -> Pack:
        """The pack of an API's folder, which may have none. One that is not ``trusted`` is checked, with its table.

        Raises:
            CatalogError: with every problem.
        """
        files = PackFiles(folder, trusted=trusted)
        found = files.documents()
        if not folder.joinpath(PACK).is_file():
            return cls(files=files, operator=folder.name)
        if len(found) != 1:
            raise CatalogError([Problem(files.name(PACK), "", f"must have one document, not {len(found)}")])
        (document,) = found
        if trusted:
            spec = document.value["spec"]
            settings = {name: Setting(**declared) for name, declared in spec.get("settings", {}).items()}
            return cls(files=files, **{**spec, "settings": settings})
        spec = checked(document, PackDocument).spec
        files.tables()
        pack = cls(files=files, **{part.name: getattr(spec, part.name) for part in fields(spec)})
        if pack.facts and pack.facts not in FACTS:
            message = f'there are no facts "{pack.facts[:60]}"; {closest(pack.facts, FACTS)}'
            raise CatalogError([Problem(document.where, "spec.facts", message)])
        for name in ("documented", "described"):
            release = getattr(pack, name)
            if release is not None and release not in pack.releases:
                message = str(_failure(pack.table.named, release))
                raise CatalogError([Problem(document.where, f"spec.{name}", message)])
        return pack

    @property
    def folder(self) -> Traversable:
        return self.files.folder

    @property
    def trusted(self) -> bool:
        return self.files.trusted

    def runs(self, image: str) -> bool:
        """Whether an image is one of the operator, by the last part of its name."""
        return image.rpartition("/")[2].partition("@")[0].partition(":")[0] in self.images

    def place(self, *path: str) -> str:
        """Where pack.yaml says something, as file and line; the folder, where it has no such file."""
        for document in self.files.documents():
            return f"{document.source}:{document.line_of(*path)}"
        return self.files.name()

    @property
    def releases(self) -> tuple[str, ...]:
        """All known releases, the oldest first."""
        return self.table.releases

    @property
    def table(self) -> Table:
        """The table of releases; without a file, one with the documented release alone."""
        return self.files.table(self.documented)

    @property
    def in_force(self) -> InForce:
        """The documented release."""
        if self.documented is None:
            return DOCUMENTED
        return InForce(self.operator, (self.documented,), described=self.described or "")

    def under(self, release: str, by: By = "setting") -> InForce:
        """A release, which the table may lack.

        Raises:
            ValueError: it is not a release, or likely a typo; it names the nearest ones.
        """
        listed = self.table.find(release)
        if listed is not None:
            return self.under_all((listed,), by)
        before, after = self.table.around(release)
        known = (before if after else self.releases[-1],) if before else ()
        unlisted = Unlisted(release.removeprefix("v"), before, after)
        return InForce(self.operator, known, by, unlisted, newest="" if after else before)

    def under_all(self, releases: tuple[str, ...], by: By = "setting") -> InForce:
        """Releases of the table that cannot be told apart."""
        return InForce(self.operator, releases, by, newest=self.table.newest if releases else "")

    def definition(self, plural: str, in_force: InForce) -> tuple[str, Definition | None]:
        """A kind's definition in a release, and the release that it begins with; None is that in ``crds``.

        Of several releases, it is that of the last, which usually accepts most, and of an unknown one the newest, or
        that in ``crds`` where an installed one replaces it. The release is "" where that in ``crds`` is used because no
        other is known.

        Raises:
            CatalogError: the definitions cannot be read.
        """
        if self.documented is None:
            return "", None
        if not in_force.releases and in_force.by == "definitions":
            return self.documented, None
        wanted, own = version(in_force.releases[-1] if in_force.releases else "head"), version(self.documented)
        begins, last, of_own = "", None, ""
        for since, definition in self.files.forms(plural):
            place = version(since)
            of_own = since if place <= own else of_own
            begins, last = (since, definition) if place <= wanted else (begins, last)
        if begins == of_own and (begins or wanted >= own):
            return begins or self.documented, None
        return begins, last

    def releases_with(self, plural: str, keys: Sequence[str]) -> str:
        """The range of the releases whose definition of a kind has a field; "" if none has it."""
        schemas = self.files.schemas(plural) if self.documented else ()
        having = [(since, node_at(schema, keys) is not None) for since, schema in schemas]
        first = next((since for since, has in having if has), "")
        gone = next((since for since, has in having if first and not has and version(since) > version(first)), "")
        return f">={first} <{gone}" if gone else f">={first}" if first else ""

    def by_shape(self, plural: str, obj: Mapping[str, Any]) -> InForce | None:
        """The releases whose shape an object of a kind has; None if it may be of the documented one."""
        spec = obj.get("spec") if self.shapes else None
        if not isinstance(spec, Mapping):
            return None
        for other, own in self.shapes.items():
            name, replaced = other.partition(".")[2], own.partition(".")[2]
            if name in spec and replaced not in spec and (text := self.releases_with(plural, ("spec", name))):
                wanted = Range.parse(text)
                holding = tuple(release for release in self.releases if wanted.holds(release, self.table.newest))
                return self.under_all(holding, "shape") if holding else None
        return None


def closest(name: str, known: Iterable[str]) -> str:
    """What to use instead of an unknown name."""
    near = get_close_matches(name, known, 1)
    return f"use {near[0]}" if near else f"use one of {', '.join(known)}"


def _failure(function: Callable[[str], object], text: str) -> ValueError | None:
    try:
        function(text)
    except ValueError as error:
        return error
    return None


NO_PACK: Final = Pack(files=PackFiles(Path()), operator="")
"""Of a kind that no folder of APIs defines."""


def installed_pack(folder: Path) -> Path:
    """A folder of APIs. Where there is no such folder, ``packs/<name>`` is one that comes with Modelgate."""
    own = PACKS / folder.name
    return own if folder.parts[:-1] == ("packs",) and not folder.is_dir() and own.is_dir() else folder


@cache
def built_in() -> Mapping[str, Pack]:
    """The built-in packs, by the name of their folder: that of the API."""
    folders = (each for each in entries(POLICIES) if each.is_dir() and not each.name.startswith(("_", ".")))
    return {each.name: Pack.of(each, trusted=True) for each in folders}


def known_apis(names: Iterable[str]) -> tuple[str, ...]:
    """The names, all of built-in APIs; ValueError says which other one is not."""
    given = tuple(names)
    if unknown := sorted(set(given) - built_in().keys()):
        raise ValueError(f"unknown API {unknown[0][:60]}: use {', '.join(built_in())}")
    return given


def groups_of(apis: Iterable[str]) -> frozenset[str]:
    """The groups of built-in APIs."""
    return frozenset(group for api in apis for group in built_in()[api].groups)
