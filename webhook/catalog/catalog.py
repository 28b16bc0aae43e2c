"""The catalog: for each kind its compiled schema, compiled policy and facts, under one digest."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from webhook import children
from webhook.admission import GroupVersionKind, group_version
from webhook.admission.errors import CatalogError, Problem
from webhook.catalog.folders import Loaded, UserFolders, load_shipped
from webhook.catalog.kept import POLICIES, SHIPPED, Kept
from webhook.catalog.kinds import NO_POLICY, Kinds, KnownKind, Preparations, kinds_of
from webhook.catalog.neighbours import neighbour
from webhook.catalog.packs import InForce, Pack, Unlisted, built_in, installed_pack
from webhook.catalog.releases import chosen, compiled, compiled_in, released
from webhook.catalog.settings import check_settings
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.manifests.folders import entries
from webhook.policy import Prepared
from webhook.schema import CRD

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # takes 10 ms to load

_FORMS: Final = 96
"""Catalogs of other releases to keep. An operator's upgrade needs one or two, and all cases of an API about fifty."""
_LIKENESS: Final = 0.8
"""Suggest a kind from this ratio of difflib on."""
_SEARCHABLE: Final = 0o755


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Catalog:
    """All known kinds. It is immutable: a reload makes a new one. ``digest`` identifies its data.

    It covers ``rules``, the digest of rules and definitions, and the ``settings``, because they change what the rules
    decide. ``files`` is the digest of the files that were loaded. ``packs`` are the APIs' operators; ``in_force`` are
    the releases of those of which another one counts than the documented one. ``added`` are the digests of the
    users' packs.
    """

    kinds: Kinds
    rules: str
    settings: Settings = DEFAULT_SETTINGS
    files: bytes = field(default=b"", repr=False)
    packs: Mapping[str, Pack] = field(default_factory=dict, repr=False)
    in_force: Mapping[str, InForce] = field(default_factory=dict)
    added: Mapping[str, str] = field(default_factory=dict, repr=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        decisive = replace(self.settings, releases=(), fit=DEFAULT_SETTINGS.fit, nodes=DEFAULT_SETTINGS.nodes)
        text = f"{self.rules}\0{decisive!r}"  # what is said of nodes decides nothing that is stored
        object.__setattr__(self, "digest", hashlib.sha256(text.encode()).hexdigest()[:16])

    def codes(self) -> frozenset[str]:
        """The codes of all rules, of every release. None is compiled for it."""
        return frozenset().union(*(self.uncompiled(gvk).codes for gvk in self.kinds))

    def find(self, gvk: GroupVersionKind) -> KnownKind | None:
        return self.kinds.get(gvk)

    def defined(self, gvk: GroupVersionKind) -> KnownKind | None:
        """A kind of this catalog or, if it has none, one that others define and that Modelgate has."""
        return self.find(gvk) or neighbour(gvk)

    def versions(self, gvk: GroupVersionKind) -> list[str]:
        """The known versions of a kind, whatever version is asked for."""
        return [one.version for one in self.kinds if (one.group, one.kind) == (gvk.group, gvk.kind)]

    def with_rules(self, gvk: GroupVersionKind) -> list[str]:
        """The versions of a kind for which there is a policy, whatever version is asked for."""
        kinds = [gvk._replace(version=version) for version in self.versions(gvk)]
        return [kind.version for kind in kinds if self.uncompiled(kind).sources]

    def without_rules(self) -> list[GroupVersionKind]:
        """The versions of kinds that are served and have no policy, where another version has one."""
        kinds = (gvk for gvk in self.kinds if not self.uncompiled(gvk).sources)
        return [gvk for gvk in kinds if self.with_rules(gvk)]

    def uncompiled(self, gvk: GroupVersionKind) -> KnownKind:
        """A kind of this catalog; its rules may not be compiled yet."""
        return self.kinds.uncompiled(gvk)

    def releases(self) -> Mapping[str, InForce]:
        """The release in force of each operator."""
        return {**{api: pack.in_force for api, pack in self.packs.items()}, **self.in_force}

    def under(self, in_force: Mapping[str, InForce]) -> Catalog:
        """This catalog with the rules and the definitions of these releases, by API. The digest covers them."""
        before = self.releases()
        changes = tuple(sorted((api, release) for api, release in in_force.items() if release != before[api]))
        if not changes:
            return self
        forms = _OTHER_RELEASES.setdefault(self, {})
        if changes not in forms:
            if len(forms) >= _FORMS:
                forms.pop(next(iter(forms)))
            forms[changes] = self._under(dict(changes))
        return forms[changes]

    def with_settings(self, settings: Settings) -> Catalog:
        """This catalog under other settings."""
        checked = check_settings(self.packs, settings)
        return self if checked == self.settings else replace(self, settings=checked)

    def _under(self, in_force: Mapping[str, InForce]) -> Catalog:
        before, releases_in_force = self.releases(), {**self.in_force, **in_force}
        changed = {api: release for api, release in in_force.items() if _rules_of(release) != _rules_of(before[api])}
        if not changed:
            return replace(self, in_force=releases_in_force)
        digest = hashlib.sha256(self.rules.encode())
        others = dict[GroupVersionKind, KnownKind | None]()
        for known in map(self.uncompiled, sorted(self.kinds)):  # whatever the order of the packs
            if known.api in changed:
                others[known.gvk], definition = released(known, changed[known.api])
                names, unlisted, _ = _rules_of(changed[known.api])
                digest.update(f"{known.gvk}\0{names}\0{unlisted.release if unlisted else ''}".encode() + definition)
        served = {gvk: known for gvk, known in others.items() if known is not None}
        kinds = self.kinds.with_rules(served, partial(compiled_in, served), others.keys() - served.keys())
        return replace(self, kinds=kinds, rules=digest.hexdigest(), in_force=releases_in_force)

    def compiled(self, installed: Collection[str] | None = None) -> Catalog:
        """This catalog, after the rules of its kinds are compiled: a server does not let a caller wait for it.

        ``installed`` are the names of the definitions that a cluster has: only the rules of their kinds are compiled
        then, because each kind takes a megabyte. The syntax trees go: 5 MiB, of which a server needs those of the kinds
        that are judged often; so do the documents. What judges the children of the kinds is read from its files.
        """
        for gvk, listed in self.kinds.listed.items():
            if installed is None or f"{listed.plural}.{gvk.group}" in installed:
                self.kinds[gvk].policy.drop_trees()
            for child in self.kinds.current(gvk).policy.children:
                kind = GroupVersionKind(*group_version(child.api_version), child.kind)
                if not children.is_builtin(kind):
                    self.defined(kind)
        for listed in self.kinds.listed.values():  # some have the same
            for source in listed.sources:
                source.forget()
        return self

    def undecided(self) -> Iterator[tuple[str, int]]:
        """How many objects of each kind with rules the function of all rules could not decide."""
        for kind in map(self.kinds.current, self.kinds):
            if kind.policy.validations:
                yield kind.gvk.kind, self.prepared(kind).undecided
            elif kind.policy is NO_POLICY and kind.sources:
                yield kind.gvk.kind, 0  # it is not compiled, so that no object was judged

    def prepared(self, kind: KnownKind) -> Prepared:
        """What is generated for a kind of this catalog, and how often it was used."""
        return self.kinds.preparations.of(kind)

    def prepare_screens(self) -> bool:
        """Generate the functions of one kind that is in use and has none; False if there is none."""
        return self.kinds.preparations.prepare_if_due()

    def extended(self, crds: Iterable[CRD]) -> Catalog:
        """This catalog and, as foreign kinds, the kinds of these definitions that it does not have."""
        defined = {kind.gvk: kind for crd in crds for kind in kinds_of("", crd)}
        foreign = {gvk: replace(kind, foreign=True) for gvk, kind in defined.items() if gvk not in self.kinds}
        return replace(self, kinds=self.kinds.replaced({**self.kinds.listed, **foreign})) if foreign else self

    def with_kind(self, kind: KnownKind) -> Catalog:
        """This catalog with another form of one of its kinds; what is prepared for it is not shared."""
        return replace(self, kinds=self.kinds.with_rules({kind.gvk: kind}))

    def without(self, groups: Collection[str]) -> Catalog:
        """This catalog without the kinds of these groups; of the same digest, because the rules are the same."""
        if not groups:
            return self
        kinds = {gvk: self.uncompiled(gvk) for gvk in self.kinds if gvk.group not in groups}
        return replace(self, kinds=self.kinds.replaced(kinds))

    def nearest(self, gvk: GroupVersionKind) -> GroupVersionKind | None:
        """The kind that an unknown one may stand for: another version of it, or a typo."""
        likeness = {min(_likeness(gvk.group, each.group), _likeness(gvk.kind, each.kind)): each for each in self.kinds}
        most = max(likeness, default=0.0)
        return likeness[most] if most >= _LIKENESS else None


def _rules_of(release: InForce) -> tuple[tuple[str, ...], Unlisted | None, str]:
    """What of a release decides about rules: not what names it."""
    return release.releases, release.unlisted, release.described


_OTHER_RELEASES: Final = WeakKeyDictionary[Catalog, dict[tuple[tuple[str, InForce], ...], Catalog]]()
"""The process's memory of what :meth:`Catalog.under` has made of each catalog, as long as that is in use."""


@lru_cache(maxsize=4096)  # a file may have 100,000 objects of the same unknown kind
def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower()).ratio()


def load(
    root: Traversable | None = None,
    settings: Settings = DEFAULT_SETTINGS,
    shipped: Path = POLICIES / SHIPPED,
    packs: Iterable[Path] = (),
) -> Catalog:
    """Load a folder of APIs, or of one (default: the built-in ``policies``, compiled when a kind is first met).

    ``packs`` are further folders, whose APIs are added. None of them may claim a kind, or codes, of another one.

    Built-in policies that are compiled already are read from ``shipped``, and run: only the installer may write there.

    Raises:
        CatalogError: with every problem of every file.
        SettingsError: a setting names a release that does not exist, or a setting that its operator does not have.
    """
    loaded = Loaded()
    if root is None:
        for pack in built_in().values():
            load_shipped(loaded, pack)
    user_folders = UserFolders(loaded)
    for api in api_folders(root) if root is not None else ():
        user_folders.load(api)
    kept = Kept(loaded.digest.digest(), shipped)
    for folder in map(installed_pack, packs):
        apis = [*api_folders(folder)] if folder.is_dir() else []
        if not apis:
            message = "is not a folder of APIs: each API is a folder with crds/ and policies"
            loaded.problems.append(Problem(str(folder), "", message))
        for api in apis:
            user_folders.load(api)
    user_folders.check_references()
    if loaded.problems:
        raise CatalogError(loaded.problems)
    settings = check_settings(loaded.packs, settings)
    catalog = Catalog(
        _lazy(loaded.kinds, kept),
        loaded.whole_digest(),
        settings,
        kept.digest,
        loaded.packs,
        added=loaded.added_digests(),
    )
    return catalog.under(chosen(loaded.packs, settings.releases)) if settings.releases else catalog


def _lazy(kinds: Mapping[GroupVersionKind, KnownKind], kept: Kept) -> Kinds:
    """Kinds whose policies are read from the files that are kept, or else compiled."""
    preparations = Preparations()

    def compile_kind(known: KnownKind) -> KnownKind:
        waits = known.policy is NO_POLICY and known.sources
        prepared = kept.read(known.gvk, known.schema) if waits else None
        if prepared is None:
            return compiled(known)
        preparations.keep(known.gvk, prepared)
        return replace(known, policy=prepared.policy)

    return Kinds(kinds, compile_kind, preparations)


def ship(folder: Path = POLICIES / SHIPPED) -> None:
    """Compile the built-in policies into files beside them, complete, as ``compileall`` does for modules.

    An image has them. They are for every user, as the modules are.
    """
    catalog = load(shipped=folder)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(_SEARCHABLE)
    kept = Kept(catalog.files, folder)
    for gvk, known in catalog.kinds.items():
        if known.policy is not NO_POLICY:
            prepared = catalog.prepared(known)
            prepared.complete()
            kept.write(gvk, prepared)


def api_folders(root: Traversable) -> Iterator[Traversable]:
    """The folders of APIs; a folder with definitions is itself one."""
    if isinstance(root, Path) and root.name in {"", ".."}:  # of an API, the name counts
        root = root.resolve()
    folders = [root] if root.joinpath("crds").is_dir() else entries(root)
    return (each for each in folders if each.is_dir() and not each.name.startswith(("_", ".")))
