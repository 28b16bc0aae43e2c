"""The catalog: for each kind its compiled schema, compiled policy and facts, under one digest."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product, starmap
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

from webhook import policy as policies  # its compiler is loaded when it is first used
from webhook.admission.errors import CatalogError, LoadError, Problem
from webhook.admission.request import GroupVersionKind
from webhook.engine.filling.fresh import Run, fresh
from webhook.engine.kept import Kept
from webhook.engine.shipped import definition, targets
from webhook.facts import FACTS
from webhook.facts.fact import Fact
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.folders import entries
from webhook.manifests.private import PrivateFolder
from webhook.policy import Policy
from webhook.schema import CRD, SchemaError, Structural, load_crd

if TYPE_CHECKING:
    from webhook.policy import PolicyDocument

__all__ = ["KYVERNO_TEST", "SUCCESSORS", "Catalog", "KnownKind", "PolicySource", "load"]

_LIKENESS: Final = 0.8
"""Suggest a kind from this ratio of difflib on."""
NO_POLICY: Final = Policy("", {}, (), ())
SUCCESSORS: Final = {"aim.eai.amd.com": "aim.silogen.ai"}
"""The API group with which upstream has replaced one of the catalog, with other kinds → the group of the catalog."""
KYVERNO_TEST: Final = "kyverno-test.yaml"
"""A folder with this file is a test of native policies (`modelgate test`), not an API."""


class PolicySource(NamedTuple):
    """A policy as it was read, and where."""

    document: PolicyDocument
    origin: Document


@dataclass(frozen=True, slots=True)
class KnownKind:
    """One version of one kind. ``api`` is the folder under ``policies/``; ``plural`` the resource in URLs.

    ``status`` tells whether /status is a subresource: the API server then drops the status on creation. ``sources`` are
    the documents of the policy. ``deviates``: the schema is that of another definition than the catalog's
    (:mod:`webhook.engine.installed`). ``foreign`` is a kind that a user's CRD defines: it has no rules and gets no
    stamp, and only its schema counts.
    """

    api: str
    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    schema: Structural
    policy: Policy = NO_POLICY
    facts: Mapping[str, Fact] = field(default_factory=dict)
    status: bool = False
    sources: Sequence[PolicySource] = ()
    deviates: bool = False
    foreign: bool = False
    _fresh: list[Run | None] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def fresh(self) -> Run | None:
        """The function that defaults a new object, if there is one; None before :meth:`prepare`."""
        return self._fresh[0] if self._fresh else None

    def prepare(self) -> None:
        """Make the functions that judge and default the most objects faster, which takes up to 150 ms."""
        self.policy.prepare()
        if not self._fresh:
            self._fresh.append(fresh(self))

    def prepare_if_due(self) -> None:
        """Make them if there have been enough objects for it to pay for itself."""
        if not self._fresh and self.policy.is_due:
            self.prepare()


@dataclass(frozen=True, slots=True)
class Catalog:
    """All known kinds. It is immutable: a reload makes a new one. ``digest`` identifies its data."""

    kinds: Mapping[GroupVersionKind, KnownKind]
    digest: str

    def find(self, gvk: GroupVersionKind) -> KnownKind | None:
        return self.kinds.get(gvk)

    def keep(self, *, complete: bool = False) -> None:
        """Keep what was compiled for the next start, if the catalog was loaded with a cache folder.

        ``complete``: also make what would be made when it is first needed.
        """
        if isinstance(self.kinds, _Kinds):
            self.kinds.keep(complete=complete)

    def compiled(self) -> Catalog:
        """This catalog with the rules of all kinds compiled: a server does not let a caller wait for it."""
        return replace(self, kinds=dict(self.kinds))

    def prepare_screens(self) -> None:
        """Make the screens of the kinds that are in use."""
        for kind in self.kinds.values():
            kind.prepare_if_due()

    def extended(self, crds: Iterable[CRD]) -> Catalog:
        """This catalog and, as foreign kinds, the kinds of these definitions that it does not have."""
        found = {kind.gvk: kind for crd in crds for kind in _kinds_of("", crd)}
        foreign = {gvk: replace(kind, foreign=True) for gvk, kind in found.items() if gvk not in self.kinds}
        return replace(self, kinds={**self.kinds, **foreign}) if foreign else self

    def without(self, groups: Collection[str]) -> Catalog:
        """This catalog without the kinds of these groups; of the same digest, because the rules are the same."""
        if not groups:
            return self
        return replace(self, kinds={gvk: self.kinds[gvk] for gvk in self.kinds if gvk.group not in groups})

    def nearest(self, gvk: GroupVersionKind) -> GroupVersionKind | None:
        """The kind that an unknown one may stand for: another version of it, or a typo."""
        likeness = {min(_likeness(gvk.group, each.group), _likeness(gvk.kind, each.kind)): each for each in self.kinds}
        most = max(likeness, default=0.0)
        return likeness[most] if most >= _LIKENESS else None


def _kinds_of(api: str, crd: CRD) -> Iterator[KnownKind]:
    """The served versions of a definition, without policies."""
    facts = FACTS.get(api, {}).get(crd.kind, {})
    for version in crd.versions.values():
        if version.served:
            gvk = GroupVersionKind(crd.group, version.name, crd.kind)
            namespaced = crd.scope == "Namespaced"
            yield KnownKind(api, gvk, crd.plural, namespaced, version.schema, facts=facts, status=version.status)


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower()).ratio()


def load(
    root: Traversable | None = None, settings: Settings = DEFAULT_SETTINGS, cache: PrivateFolder | None = None
) -> Catalog:
    """Load a folder of APIs, or of one (default: the built-in ``policies``, compiled when a kind is first met).

    The digest covers the ``settings``, too, because they change what the rules decide. Compiled built-in policies are
    read from ``cache``, and written there by :meth:`Catalog.keep`.

    Raises:
        CatalogError: with every problem of every file.
    """
    loader = _Loader(built_in=root is None)
    for folder in _apis(files("policies") if root is None else root):
        if folder.is_dir() and not folder.name.startswith(("_", ".")) and not folder.joinpath(KYVERNO_TEST).is_file():
            loader.api(folder)
    if loader.problems:
        raise CatalogError(loader.problems)
    kept = Kept(loader.digest.digest(), cache)
    loader.digest.update(repr(settings).encode())
    kinds = _Kinds(loader, kept) if loader.waiting else loader.kinds
    return Catalog(kinds, loader.digest.hexdigest()[:16])


def _apis(root: Traversable) -> list[Traversable]:
    """The folders of APIs; a folder with definitions is itself one."""
    return [root] if root.joinpath("crds").is_dir() else entries(root)


class _Loader:
    """Loads APIs one after the other. The ``built_in`` ones are trusted: the tests check them as the API server does.
    Their schemas are read, and their policies are left ``waiting``, until their kind is met.
    """

    def __init__(self, *, built_in: bool) -> None:
        self.built_in = built_in
        self.waiting: dict[GroupVersionKind, list[tuple[str, str]]] = {}  # the names and texts of files
        self.kinds: dict[GroupVersionKind, KnownKind] = {}
        self.problems: list[Problem] = []
        self.digest = hashlib.sha256()
        self._codes: dict[str, str] = {}

    def api(self, folder: Traversable) -> None:
        """Load ``<api>/crds/*.yaml`` and ``*.json``, then the policies ``<api>/*.yaml`` for these kinds."""
        crds, name = folder.joinpath("crds"), f"{folder.name}/crds"
        if self.built_in:
            for source, text in self._files(crds, name):
                self._crd(folder.name, definition(text, source))
            for source, text in self._files(folder, folder.name):
                for gvk in targets(text, source):
                    self.waiting.setdefault(gvk, []).append((source, text))
            return
        for document in self._documents(crds, name):
            try:
                self._crd(folder.name, load_crd(document.value))
            except SchemaError as error:
                where = f"{document.source}:{document.line}"
                self.problems += [Problem(where, found.field, found.body()) for found in error.errors]
        for document in self._documents(folder, folder.name):
            try:
                self._policy(folder.name, document, policies.parse_policy(document))
            except LoadError as error:
                self.problems += error.problems

    def compiled(self, gvk: GroupVersionKind) -> KnownKind:
        """A kind with the policies that wait for it; the loader's own stays as it is.

        Raises:
            CatalogError: with every problem of these policies.
        """
        known = self.kinds[gvk]
        for document in self.documents_of(gvk):
            known = self._joined(known, document, policies.parse_policy(document))
        if self.problems:
            raise CatalogError(self.problems)
        return known

    def documents_of(self, gvk: GroupVersionKind) -> Iterator[Document]:
        """The documents of the policies that wait for a kind."""
        for source, text in self.waiting.get(gvk, ()):
            yield from documents.parse(text, source, trusted=True)

    def _documents(self, folder: Traversable, name: str) -> Iterator[Document]:
        for source, text in self._files(folder, name):
            try:
                yield from documents.parse(text, source)
            except LoadError as error:
                self.problems += error.problems

    def _files(self, folder: Traversable, name: str) -> Iterator[tuple[str, str]]:
        """The names and texts of the files in a folder, which the digest covers."""
        for file in entries(folder) if folder.is_dir() else ():
            if file.name.endswith((".yaml", ".json")):
                content = file.read_bytes()
                self.digest.update(f"{name}/{file.name}\0{len(content)}\0".encode() + content)
                yield f"{name}/{file.name}", content.decode()

    def _crd(self, api: str, crd: CRD) -> None:
        self.kinds.update({kind.gvk: kind for kind in _kinds_of(api, crd)})

    def _policy(self, api: str, origin: Document, document: PolicyDocument) -> None:
        target = document.spec.target
        for gvk in starmap(GroupVersionKind, product((target.group,), target.versions, target.kinds)):
            known = self.kinds.get(gvk)
            if known is None or known.api != api:
                message = f"no CRD in {api}/crds serves {gvk}"
                self.problems.append(Problem(f"{origin.source}:{origin.line}", "spec.target", message))
            else:
                self.kinds[gvk] = self._joined(known, origin, document)

    def _joined(self, known: KnownKind, origin: Document, document: PolicyDocument) -> KnownKind:
        """The kind with one more policy."""
        again = partial(_given, known.schema, known.api, known.gvk.kind)
        policy = policies.compile_policy(document, origin, *again(), again)
        self._claim(policy, origin)
        try:
            joined = known.policy.joined(policy) if known.policy is not NO_POLICY else policy
        except ValueError as error:
            self.problems.append(Problem(f"{origin.source}:{origin.line}", "spec.variables", str(error)))
            return known
        source = PolicySource(document, replace(origin, node=None))
        return replace(known, policy=joined, sources=(*known.sources, source))

    def _claim(self, policy: Policy, origin: Document) -> None:
        """Check that a code names one rule in the whole catalog."""
        for code in policy.codes:
            owner = self._codes.setdefault(code, policy.name)
            if owner != policy.name:
                self.problems.append(Problem(origin.source, "", f"code {code} is already used by policy {owner}"))


def _given(schema: Structural, api: str, kind: str) -> tuple[Mapping[str, Any], dict[str, Mapping[str, Any]]]:
    """What the rules of a kind can read: the schemas of its objects and facts."""
    facts = FACTS.get(api, {}).get(kind, {})
    return schema.raw, {name: fact.schema for name, fact in facts.items()}


class _Kinds(Mapping[GroupVersionKind, KnownKind]):
    """Kinds whose policies are compiled, or read from files, when they are first looked up.

    A command needs one or two of all.
    """

    def __init__(self, loader: _Loader, kept: Kept) -> None:
        self._loader = loader
        self._kept = kept
        self._found: dict[GroupVersionKind, KnownKind] = {}
        self._new: set[GroupVersionKind] = set()

    def __getitem__(self, gvk: GroupVersionKind) -> KnownKind:
        if gvk not in self._found:  # two threads may both compile it; the first result counts
            self._found.setdefault(gvk, self._read(gvk) or self._compiled(gvk))
        return self._found[gvk]

    def _read(self, gvk: GroupVersionKind) -> KnownKind | None:
        known = self._loader.kinds[gvk]
        policy = self._kept.read(gvk, known.schema) if gvk in self._loader.waiting else None
        return None if policy is None else replace(known, policy=policy, sources=_Sources(self._loader, gvk))

    def _compiled(self, gvk: GroupVersionKind) -> KnownKind:
        self._new.add(gvk)
        return self._loader.compiled(gvk)

    def keep(self, *, complete: bool) -> None:
        while self._new:
            known = self._found[self._new.pop()]
            if complete:
                known.policy.complete()
            if known.policy is not NO_POLICY and not self._kept.write(known.gvk, known.schema, known.policy):
                return

    def __contains__(self, gvk: object) -> bool:
        return gvk in self._loader.kinds

    def __iter__(self) -> Iterator[GroupVersionKind]:
        return iter(self._loader.kinds)

    def __len__(self) -> int:
        return len(self._loader.kinds)


class _Sources(Sequence[PolicySource]):
    """The documents of a policy that was not compiled; they are read when they are needed."""

    def __init__(self, loader: _Loader, gvk: GroupVersionKind) -> None:
        self._loader = loader
        self._gvk = gvk

    @cached_property
    def _read(self) -> tuple[PolicySource, ...]:
        found = self._loader.documents_of(self._gvk)
        return tuple(PolicySource(policies.parse_policy(each), replace(each, node=None)) for each in found)

    @overload
    def __getitem__(self, index: int) -> PolicySource: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PolicySource]: ...
    def __getitem__(self, index: int | slice) -> PolicySource | Sequence[PolicySource]:
        return self._read[index]

    def __len__(self) -> int:
        return len(self._read)
