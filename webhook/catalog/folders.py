"""What folders of APIs hold.

The built-in ones are read no further than is needed: the tests have checked them. Of those that a user gives, each file
is checked, and the policies are compiled at once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from itertools import product, starmap
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook import policy as policies  # its compiler is loaded when it is first used
from webhook.admission import GroupVersionKind
from webhook.admission.errors import CatalogError, LoadError, Problem
from webhook.catalog.fitting import with_all_fields
from webhook.catalog.kinds import KnownKind, PolicySource, kinds_of
from webhook.catalog.packs import FOLLOWED, PACK, PACKS, TABLE, InForce, Pack
from webhook.catalog.references import unfitting
from webhook.catalog.releases import (
    compiled,
    compiled_source,
    is_otherwise_shaped,
    joined,
    needed_releases,
    ranges,
    released,
    unknown_releases,
)
from webhook.catalog.tables import FOLDER as TABLES
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.folders import entries
from webhook.policy.problems import problem
from webhook.schema import CRD, SchemaError, Structural, load_crd
from webhook.schema.compare import is_same

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from webhook.policy import PolicyDocument

_TARGET: Final = re.compile(r"^  target:\n(?:    .*\n)+", re.MULTILINE)
_SCHEMA: Final = re.compile(r'^ *(?:schema:\n|"schema":)', re.MULTILINE)
"""Where the schema of a built-in definition begins; nothing else comes after it."""


class Loaded:
    """The kinds and packs of the folders that have been loaded, the problems of their files, and a digest of them.

    The digest of users' packs, ``added``, is that of their contents: it does not depend on their order.
    """

    def __init__(self) -> None:
        self.kinds: dict[GroupVersionKind, KnownKind] = {}
        self.packs: dict[str, Pack] = {}
        self.problems: list[Problem] = []
        self.digest = hashlib.sha256()
        self.added = dict[str, Any]()
        self._places: dict[GroupVersionKind, str] = {}  # where each kind is defined

    def definitions(self, pack: Pack) -> Iterator[tuple[str, str]]:
        """The names and texts of the definitions of an API: ``<api>/crds/*.yaml`` and ``*.json``."""
        return self._files(pack, "crds")

    def add_tables(self, pack: Pack) -> None:
        """Let the digest cover the tables of an API."""
        for _ in self._files(pack, TABLES):
            pass

    def policies(self, pack: Pack) -> Iterator[tuple[str, str]]:
        """The names and texts of the policies of an API: ``<api>/*.yaml``."""
        files = self._files(pack)
        return ((source, text) for source, text in files if source.rpartition("/")[2] != PACK)

    def _files(self, pack: Pack, *below: str) -> Iterator[tuple[str, str]]:
        """The names and texts of the files in an API's folder or one below it, which the digest covers."""
        folder = pack.folder.joinpath(*below)
        for file in entries(folder) if folder.is_dir() else ():
            if file.name.endswith((".yaml", ".json")) and file.name not in (TABLE, FOLLOWED):
                content = pack.files.content(file)
                name = "/".join((pack.folder.name, *below, file.name))
                digest = self.digest if pack.trusted else self.added.setdefault(pack.folder.name, hashlib.sha256())
                digest.update(f"{name}\0{len(content)}\0".encode() + content)
                yield name if pack.trusted else str(file), content.decode()

    def whole_digest(self) -> str:
        """The digest of everything that was loaded."""
        whole = self.digest.copy()
        for name in sorted(self.added):
            whole.update(self.added[name].digest())
        return whole.hexdigest()

    def added_digests(self) -> dict[str, str]:
        """The digest of each of the users' packs, as short as that of a catalog."""
        return {name: self.added[name].hexdigest()[:16] for name in sorted(self.added)}

    def add_kinds(self, pack: Pack, crd: CRD, place: str) -> None:
        """Add the kinds that a definition of an API serves."""
        defined = {kind.gvk: kind for kind in kinds_of(pack.folder.name, crd, pack)}
        for gvk in defined.keys() & self.kinds.keys():
            message = f"{gvk} is defined in {self._places[gvk]} of pack {self.kinds[gvk].api} already; remove it here"
            self.problems.append(Problem(place, "", message))
        self._places = {**dict.fromkeys(defined, place), **self._places}
        self.kinds.update({gvk: kind for gvk, kind in defined.items() if gvk not in self.kinds})


def load_shipped(loaded: Loaded, pack: Pack) -> None:
    """Load a built-in API: schemas and policies are read when they are asked for."""
    loaded.packs[pack.folder.name] = pack
    for source, text in loaded.definitions(pack):
        loaded.add_kinds(pack, _definition(text, _Again(pack, source, hash(text))), source)
    loaded.add_tables(pack)
    for source, text in loaded.policies(pack):
        policy = PolicySource(partial(_policy, _Again(pack, source, hash(text))))
        for gvk in _targets(text, source):
            known = loaded.kinds[gvk]
            loaded.kinds[gvk] = replace(known, sources=(*known.sources, policy))


class _Again(NamedTuple):
    """A built-in file, read again where more than its beginning is needed: the texts of all take 4 MB.

    Only the installer writes there, as where the modules are; ``hashed`` tells whether it did.
    """

    pack: Pack
    source: str
    hashed: int

    def text(self) -> str:
        """Its text.

        Raises:
            CatalogError: it has changed.
            OSError: it is gone.
        """
        text = self.pack.files.content(self.pack.folder.joinpath(*self.source.split("/")[1:])).decode()
        if hash(text) != self.hashed:
            raise CatalogError([Problem(self.source, "", "has changed since Modelgate was started: start it again")])
        return text

    def value(self) -> dict[str, Any]:
        """Its one document."""
        return _value(self.text(), self.source)


def _definition(text: str, again: _Again) -> CRD:
    """A built-in definition, read without its schema: those with the schema of a pod take 15 ms."""
    match = _SCHEMA.search(text)
    start = text if match is None else text[: match.start()]
    rest = '"schema":{}}]}}' if match is not None and text.startswith("{") else ""
    return load_crd(_value(start + rest, again.source), trusted=True, whole=again.value)


def _policy(again: _Again) -> tuple[PolicyDocument, Document]:
    (document,) = documents.parse(again.text(), again.source)
    return policies.trusted_policy(document), replace(document, piece=None)


def _targets(text: str, source: str) -> Iterator[GroupVersionKind]:
    """The kinds of a built-in policy, read without the rest of the document, which takes a hundred times longer."""
    match = _TARGET.search(text)
    target = _value(text, source)["spec"]["target"] if match is None else _value(match[0], source)["target"]
    kinds = target["kind"], *target.get("alsoKinds", ())
    return starmap(GroupVersionKind, product((target["group"],), target["versions"], kinds))


def _value(text: str, source: str) -> dict[str, Any]:
    (document,) = documents.parse(text, source)
    return document.value


class UserFolders:
    """Loads the folders of a user's APIs beside those that are ``loaded``. Its problems are added to theirs."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._problems = loaded.problems
        self._codes: dict[str, str] = {}
        self._same: dict[frozenset[GroupVersionKind], bool] = {}
        self._owned = {letters: api for api, pack in loaded.packs.items() for letters in pack.codes}
        """Two letters of codes, and the pack that has them."""
        self._referring: list[tuple[PolicyDocument, Document]] = []  # policies that have references

    def load(self, folder: Traversable) -> None:
        """Load the definitions of an API, then the policies for these kinds."""
        api = folder.name
        if api in self._loaded.packs:
            self._problems.append(Problem(str(folder), "", f"there is a pack {api} already; rename the folder"))
            return
        try:
            pack = self._loaded.packs[api] = Pack.of(folder, trusted=False)
        except LoadError as error:
            self._problems += error.problems
            return
        for letters in pack.codes:
            if self._owned.setdefault(letters, api) != api:
                self._problems.append(Problem(pack.place("spec", "codes"), "spec.codes", self._taken(letters)))
        # Those that come with Modelgate are checked by tests.
        comes_with_us = isinstance(folder, FilePath) and folder.resolve().parent == PACKS
        for document in self._documents(self._loaded.definitions(pack)):
            try:
                self._loaded.add_kinds(pack, load_crd(document.value, trusted=comes_with_us), document.where)
            except SchemaError as error:
                self._problems += [Problem(document.where, fault.field, fault.body()) for fault in error.errors]
        self._loaded.add_tables(pack)
        for document, policy in sorted(self._policies(pack), key=lambda each: bool(each[1].spec.children)):
            try:  # a description of children reads the variables of the others
                self._add_policy(api, document, policy)
            except LoadError as error:
                self._problems += error.problems

    def _policies(self, pack: Pack) -> Iterator[tuple[Document, PolicyDocument]]:
        for document in self._documents(self._loaded.policies(pack)):
            try:
                yield document, policies.parse_policy(document)
            except LoadError as error:
                self._problems += error.problems

    def check_references(self) -> None:
        """Hold the references of policies against the definitions, when all are loaded.

        A kind without a definition may be anything.
        """
        kinds = self._loaded.kinds.values()
        for document, origin in self._referring:
            for index, reference in enumerate(document.spec.references):
                for part, message in unfitting(reference, kinds):
                    self._problems.append(problem(origin, ("spec", "references", index, *part), message))

    def _documents(self, files: Iterable[tuple[str, str]]) -> Iterator[Document]:
        for source, text in files:
            try:
                yield from documents.parse(text, source)
            except LoadError as error:
                self._problems += error.problems

    def _add_policy(self, api: str, origin: Document, document: PolicyDocument) -> None:
        target = document.spec.target
        for gvk in starmap(GroupVersionKind, product((target.group,), target.versions, target.kinds)):
            known = self._loaded.kinds.get(gvk)
            if known is None or known.api != api:
                served = {kind.gvk.kind for kind in self._loaded.kinds.values() if kind.api == api}
                close = get_close_matches(gvk.kind, served - {gvk.kind}, 1)
                message = f"no CRD in {api}/crds serves {gvk}{''.join(f'; did you mean {name}?' for name in close)}"
                self._problems.append(Problem(origin.where, "spec.target", message))
            else:
                self._loaded.kinds[gvk] = self._joined(known, origin, document)

    def _beside(self, kind: KnownKind, document: PolicyDocument) -> list[Structural]:
        """The schemas of the other versions that a policy is for, where they differ."""
        versions = (kind.gvk._replace(version=name) for name in document.spec.target.versions)
        others = [self._loaded.kinds[gvk] for gvk in versions if gvk in self._loaded.kinds and gvk != kind.gvk]
        return [other.schema for other in others if not self._is_same(kind, other)]

    def _is_same(self, one: KnownKind, other: KnownKind) -> bool:
        """Whether two versions have one schema: it is asked for each policy, and takes long for a large definition."""
        pair = frozenset((one.gvk, other.gvk))
        if pair not in self._same:
            self._same[pair] = is_same(one.schema.raw, other.schema.raw)
        return self._same[pair]

    def _joined(self, known: KnownKind, origin: Document, document: PolicyDocument) -> KnownKind:
        """The kind with one more policy."""
        beside, without_text = self._beside(known, document), replace(origin, piece=None)
        self._referring += [(document, origin)] if document.spec.references else []
        source = PolicySource(lambda: (document, origin), beside)
        try:
            policy = compiled_source(known, source)
        except LoadError as error:
            where = f"in {known.gvk.version}: " if beside else ""
            problems = [replace(fault, message=f"{where}{fault.message}") for fault in error.problems]
            raise CatalogError(problems) from None
        self._problems += _of_other_releases(known, source)
        self._claim(known.api, document, origin)
        try:
            both = joined(known.policy, policy)
        except ValueError as error:
            self._problems.append(Problem(origin.where, "spec", str(error)))
            return known
        kept = PolicySource(lambda: (document, without_text), beside)
        return replace(known, policy=both, sources=(*known.sources, kept))

    def _claim(self, api: str, document: PolicyDocument, origin: Document) -> None:
        """Check that a code names one rule in the whole catalog."""
        places, name = dict(_places(document)), document.metadata.name
        for letters, code in {code[:2]: code for code in reversed(document.codes)}.items():
            if self._owned.setdefault(letters, api) != api:
                self._problems.append(problem(origin, places[code], self._taken(letters)))
        for code in document.codes:
            owner = self._codes.setdefault(code, name)
            if owner != name:
                self._problems.append(problem(origin, places[code], f"code {code} is already used by policy {owner}"))

    def _taken(self, letters: str) -> str:
        """What is wrong with letters that another pack has."""
        owner = self._owned[letters]
        place = self._loaded.packs[owner].place("spec", "codes")
        return f"codes of pack {owner} begin with {letters} ({place}); use other letters"


def _places(document: PolicyDocument) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """The codes of a policy, each with the path where it first stands last."""
    spec = document.spec
    parts = {"defaults": [each.code for each in spec.defaults], "validations": [each.code for each in spec.validations]}
    for name, codes in parts.items():
        yield from ((code, ("spec", name, index, "code")) for index, code in reversed(list(enumerate(codes))))


def _of_other_releases(known: KnownKind, source: PolicySource) -> Iterator[Problem]:
    """The problems of ranges, and of the rules that are true of other releases than the documented one."""
    pack = known.pack
    yield from unknown_releases(pack, source)
    needed = list(needed_releases(pack, ranges(source)))
    sources = (*known.sources, source) if source.document.spec.children else (source,)
    for in_force in [*needed, *([InForce(pack.operator)] if needed else [])]:
        other, _ = released(known, in_force)
        try:
            if other is not None:
                shape = with_all_fields(other) if is_otherwise_shaped(other) else other
                compiled(replace(shape, sources=sources), on_demand=True)  # only to see what is wrong
        except CatalogError as error:
            yield from (replace(each, message=f"under {in_force}: {each.message}") for each in error.problems)
