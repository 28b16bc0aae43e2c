"""Reads folders of APIs: definitions and policies, compiled at once, or when their kind is first met."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from itertools import product, starmap
from typing import TYPE_CHECKING, overload

from webhook import policy as policies  # its compiler is loaded when it is first used
from webhook.admission import GroupVersionKind
from webhook.admission.errors import CatalogError, LoadError, Problem
from webhook.catalog.compiling import compiled, compiled_source, joined
from webhook.catalog.kept import Kept
from webhook.catalog.kinds import KnownKind, PolicySource, Preparations, kinds_of
from webhook.catalog.packs import PACK, TABLE, InForce, Pack, built_in
from webhook.catalog.referring import unfitting
from webhook.catalog.released import needed_releases, ranges, released, unknown_releases
from webhook.catalog.shipped import definition, targets
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.folders import content_of, entries
from webhook.policy.problems import problem
from webhook.schema import CRD, SchemaError, load_crd

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from webhook.policy import PolicyDocument

__all__ = ["LazyKinds", "Loader"]


class Loader:
    """Loads APIs one after the other. The ``built_in`` ones are trusted: the tests check them as the API server does.
    Their schemas are read, and their policies are left ``waiting``, until their kind is met.
    """

    def __init__(self, *, built_in: bool) -> None:
        self.built_in = built_in
        self.waiting: dict[GroupVersionKind, list[tuple[str, str]]] = {}  # the names and texts of files
        self.kinds: dict[GroupVersionKind, KnownKind] = {}
        self.packs: dict[str, Pack] = {}
        self.problems: list[Problem] = []
        self.digest = hashlib.sha256()
        self._codes: dict[str, str] = {}
        self._owned: dict[str, str] = {}  # two letters of codes, and the pack that has them
        self._defined: dict[GroupVersionKind, str] = {}  # where each kind is defined
        self._referring: list[tuple[PolicyDocument, Document]] = []  # policies that have references

    def api(self, folder: Traversable) -> None:
        """Load ``<api>/crds/*.yaml`` and ``*.json``, then the policies ``<api>/*.yaml`` for these kinds."""
        if folder.name in self.packs:
            self.problems.append(Problem(str(folder), "", f"there is a pack {folder.name} already; rename the folder"))
            return
        try:
            self.packs[folder.name] = built_in()[folder.name] if self.built_in else Pack.of(folder, trusted=False)
        except LoadError as error:
            self.problems += error.problems
            return
        if self.built_in:
            for source, text in self._files(folder, "crds"):
                self._crd(folder.name, definition(text, source), source)
            for source, text in self._policies(folder):
                for gvk in targets(text, source):
                    self.waiting.setdefault(gvk, []).append((source, text))
            return
        for letters in self.packs[folder.name].codes:
            if self._owned.setdefault(letters, folder.name) != folder.name:
                place = self.packs[folder.name].place("spec", "codes")
                self.problems.append(Problem(place, "spec.codes", self._taken(letters)))
        for document in self._documents(self._files(folder, "crds")):
            try:
                self._crd(folder.name, load_crd(document.value), f"{document.source}:{document.line}")
            except SchemaError as error:
                where = f"{document.source}:{document.line}"
                self.problems += [Problem(where, found.field, found.body()) for found in error.errors]
        for document in self._documents(self._policies(folder)):
            try:
                self._policy(folder.name, document, policies.parse_policy(document))
            except LoadError as error:
                self.problems += error.problems

    def check_references(self) -> None:
        """Hold the references of policies against the definitions, when all are loaded."""
        for document, origin in self._referring:
            self.problems += unfitting(document, origin, self.kinds.values())

    def add(self, folder: Traversable) -> None:
        """Load an API beside those that are there, which is not trusted."""
        self.built_in = False
        self._owned |= {letters: api for api, pack in self.packs.items() for letters in pack.codes}
        self.api(folder)

    def waiting_for(self, gvk: GroupVersionKind) -> KnownKind:
        """A kind with the policies that wait for it, which are read when they are needed."""
        known = self.kinds[gvk]
        return replace(known, sources=_Sources(self, gvk)) if gvk in self.waiting else known

    def documents_of(self, gvk: GroupVersionKind) -> Iterator[Document]:
        """The documents of the policies that wait for a kind."""
        for source, text in self.waiting.get(gvk, ()):
            yield from documents.parse(text, source)

    def _policies(self, folder: Traversable) -> Iterator[tuple[str, str]]:
        """The names and texts of the policies of an API."""
        found = self._files(folder)
        return ((source, text) for source, text in found if source.rpartition("/")[2] != PACK)

    def _documents(self, found: Iterable[tuple[str, str]]) -> Iterator[Document]:
        for source, text in found:
            try:
                yield from documents.parse(text, source)
            except LoadError as error:
                self.problems += error.problems

    def _files(self, api: Traversable, *below: str) -> Iterator[tuple[str, str]]:
        """The names and texts of the files in an API's folder or one below it, which the digest covers."""
        folder = api.joinpath(*below)
        for file in entries(folder) if folder.is_dir() else ():
            if file.name.endswith((".yaml", ".json")) and file.name != TABLE:
                content = content_of(file, trusted=self.built_in)
                name = "/".join((api.name, *below, file.name))
                self.digest.update(f"{name}\0{len(content)}\0".encode() + content)
                yield name if self.built_in else str(file), content.decode()

    def _crd(self, api: str, crd: CRD, place: str) -> None:
        found = {kind.gvk: kind for kind in kinds_of(api, crd, self.packs[api])}
        for gvk in found.keys() & self.kinds.keys():
            message = f"{gvk} is defined in {self._defined[gvk]} of pack {self.kinds[gvk].api} already; remove it here"
            self.problems.append(Problem(place, "", message))
        self._defined = {**dict.fromkeys(found, place), **self._defined}
        self.kinds.update({gvk: kind for gvk, kind in found.items() if gvk not in self.kinds})

    def _policy(self, api: str, origin: Document, document: PolicyDocument) -> None:
        target = document.spec.target
        for gvk in starmap(GroupVersionKind, product((target.group,), target.versions, target.kinds)):
            known = self.kinds.get(gvk)
            if known is None or known.api != api:
                served = {each.gvk.kind for each in self.kinds.values() if each.api == api}
                near = "".join(
                    f"; did you mean {each}?" for each in get_close_matches(gvk.kind, served - {gvk.kind}, 1)
                )
                message = f"no CRD in {api}/crds serves {gvk}{near}"
                self.problems.append(Problem(f"{origin.source}:{origin.line}", "spec.target", message))
            else:
                self.kinds[gvk] = self._joined(known, origin, document)

    def _joined(self, known: KnownKind, origin: Document, document: PolicyDocument) -> KnownKind:
        """The kind with one more policy."""
        source = PolicySource(document, origin)
        self._referring += [(document, origin)] if document.spec.references else []
        policy = compiled_source(known, source)
        self.problems += self._of_other_releases(known, source)
        self._claim(known.api, document, origin)
        try:
            both = joined(known.policy, policy)
        except ValueError as error:
            self.problems.append(Problem(f"{origin.source}:{origin.line}", "spec", str(error)))
            return known
        kept = source._replace(origin=replace(origin, piece=None))
        return replace(known, policy=both, sources=(*known.sources, kept))

    def _of_other_releases(self, known: KnownKind, source: PolicySource) -> Iterator[Problem]:
        """The problems of ranges, and of the rules that are true of other releases than the documented one."""
        pack = known.pack
        yield from unknown_releases(pack, source)
        needed = list(needed_releases(pack, ranges(source)))
        for releases in [*((each,) for each in needed), *([()] if needed else [])]:
            in_force = InForce(pack.operator, releases)
            try:
                compiled_source(released(known, in_force)[0], source)
            except CatalogError as error:
                yield from (replace(each, message=f"under {in_force}: {each.message}") for each in error.problems)

    def _claim(self, api: str, document: PolicyDocument, origin: Document) -> None:
        """Check that a code names one rule in the whole catalog."""
        places, name = dict(_places(document)), document.metadata.name
        for letters, code in {code[:2]: code for code in reversed(document.codes)}.items():
            if self._owned.setdefault(letters, api) != api:
                self.problems.append(problem(origin, places[code], self._taken(letters)))
        for code in document.codes:
            owner = self._codes.setdefault(code, name)
            if owner != name:
                self.problems.append(problem(origin, places[code], f"code {code} is already used by policy {owner}"))

    def _taken(self, letters: str) -> str:
        """What is wrong with letters that another pack has."""
        owner = self._owned[letters]
        place = self.packs[owner].place("spec", "codes")
        return f"codes of pack {owner} begin with {letters} ({place}); use other letters"


def _places(document: PolicyDocument) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """The codes of a policy, each with the path where it first stands last."""
    spec = document.spec
    parts = {"defaults": [each.code for each in spec.defaults], "validations": [each.code for each in spec.validations]}
    for name, codes in parts.items():
        yield from ((code, ("spec", name, index, "code")) for index, code in reversed(list(enumerate(codes))))


class LazyKinds(Mapping[GroupVersionKind, KnownKind]):
    """Kinds whose policies are compiled, or read from files, when they are first looked up.

    A command needs one or two of all.
    """

    def __init__(self, loader: Loader, kept: Kept, preparations: Preparations) -> None:
        self._loader = loader
        self._kept = kept
        self._preparations = preparations
        self._found: dict[GroupVersionKind, KnownKind] = {}

    def __getitem__(self, gvk: GroupVersionKind) -> KnownKind:
        if gvk not in self._found:  # two threads may both compile it; the first result counts
            self._found.setdefault(gvk, self._read(gvk) or compiled(self._loader.waiting_for(gvk)))
        return self._found[gvk]

    def _read(self, gvk: GroupVersionKind) -> KnownKind | None:
        known = self._loader.kinds[gvk]
        prepared = self._kept.read(gvk, known.schema) if gvk in self._loader.waiting else None
        if prepared is None:
            return None
        self._preparations[gvk] = prepared
        return replace(self._loader.waiting_for(gvk), policy=prepared.policy)

    def uncompiled(self, gvk: GroupVersionKind) -> KnownKind:
        """A kind whose policy may not be compiled."""
        return self._found.get(gvk) or self._loader.waiting_for(gvk)

    def __contains__(self, gvk: object) -> bool:
        return gvk in self._loader.kinds

    def __iter__(self) -> Iterator[GroupVersionKind]:
        return iter(self._loader.kinds)

    def __len__(self) -> int:
        return len(self._loader.kinds)


class _Sources(Sequence[PolicySource]):
    """The documents of a policy that was not compiled; they are read when they are needed."""

    def __init__(self, loader: Loader, gvk: GroupVersionKind) -> None:
        self._loader = loader
        self._gvk = gvk

    @cached_property
    def _read(self) -> tuple[PolicySource, ...]:
        found = self._loader.documents_of(self._gvk)
        return tuple(PolicySource(policies.trusted_policy(each), replace(each, piece=None)) for each in found)

    @overload
    def __getitem__(self, index: int) -> PolicySource: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PolicySource]: ...
    def __getitem__(self, index: int | slice) -> PolicySource | Sequence[PolicySource]:
        return self._read[index]

    def __len__(self) -> int:
        return len(self._read)
