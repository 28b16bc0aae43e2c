"""The catalog: for each kind its compiled schema, compiled policy and facts, under one digest."""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from webhook.admission import GroupVersionKind
from webhook.admission.errors import CatalogError, Problem
from webhook.catalog.kept import POLICIES, SHIPPED, Kept
from webhook.catalog.kinds import KnownKind, PolicySource, Preparations, kinds_of, uncompiled
from webhook.catalog.loading import LazyKinds, Loader
from webhook.catalog.packs import InForce, Pack
from webhook.catalog.released import ReleasedKinds, chosen, released
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.manifests.folders import entries
from webhook.policy import Prepared
from webhook.schema import CRD

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # takes 10 ms to load

__all__ = ["POLICIES", "Catalog", "KnownKind", "PolicySource", "load"]

_FORMS: Final = 32
"""Catalogs of other releases to keep. An operator's upgrade needs one or two, and all cases of an API about ten."""
_LIKENESS: Final = 0.8
"""Suggest a kind from this ratio of difflib on."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """All known kinds. It is immutable: a reload makes a new one. ``digest`` identifies its data.

    ``preparations`` belong to the process, not to the data: what has been generated for the kinds so far. ``files`` is
    the digest of the files that were loaded, without the settings. ``packs`` are the APIs' operators; ``in_force`` are
    the releases of those of which another one counts than the documented one.
    """

    kinds: Mapping[GroupVersionKind, KnownKind]
    digest: str
    preparations: Preparations = field(default_factory=Preparations, compare=False, repr=False)
    files: bytes = field(default=b"", compare=False, repr=False)
    packs: Mapping[str, Pack] = field(default_factory=dict, compare=False, repr=False)
    in_force: Mapping[str, InForce] = field(default_factory=dict)
    _others: dict[tuple[tuple[str, InForce], ...], Catalog] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def codes(self) -> frozenset[str]:
        """The codes of all rules, of every release. None is compiled for it."""
        return frozenset().union(*(self.uncompiled(gvk).codes for gvk in self.kinds))

    def find(self, gvk: GroupVersionKind) -> KnownKind | None:
        return self.kinds.get(gvk)

    def uncompiled(self, gvk: GroupVersionKind) -> KnownKind:
        """A kind of this catalog; its rules may not be compiled yet."""
        return uncompiled(self.kinds, gvk)

    def releases(self) -> Mapping[str, InForce]:
        """The release in force of each operator."""
        return {**{api: pack.in_force for api, pack in self.packs.items()}, **self.in_force}

    def under(self, in_force: Mapping[str, InForce]) -> Catalog:
        """This catalog with the rules and the definitions of these releases, by API. The digest covers them."""
        before = self.releases()
        asked = tuple(sorted((api, each) for api, each in in_force.items() if each != before[api]))
        if asked and asked not in self._others:
            if len(self._others) >= _FORMS:
                self._others.pop(next(iter(self._others)))
            self._others[asked] = self._under(dict(asked))
        return self._others[asked] if asked else self

    def _under(self, in_force: Mapping[str, InForce]) -> Catalog:
        before, found = self.releases(), {**self.in_force, **in_force}
        changed = {api: each for api, each in in_force.items() if each.releases != before[api].releases}
        if not changed:
            return replace(self, in_force=found)
        digest, kinds = hashlib.sha256(self.digest.encode()), dict[GroupVersionKind, KnownKind]()
        for gvk, known in ((each, self.uncompiled(each)) for each in self.kinds):
            if known.api in changed:
                kinds[gvk], content = released(known, changed[known.api])
                digest.update(f"{gvk}\0{changed[known.api].releases}\0".encode() + content)
        all_kinds = ReleasedKinds(self.kinds, kinds)
        return replace(
            self,
            kinds=all_kinds,
            digest=digest.hexdigest()[:16],
            in_force=found,
            preparations=Preparations(),
        )

    def compiled(self) -> Catalog:
        """This catalog with the rules of all kinds compiled: a server does not let a caller wait for it.

        The syntax trees go: 5 MiB, of which a server needs those of the kinds that are judged often.
        """
        kinds = dict[GroupVersionKind, KnownKind]()
        for gvk in self.kinds:
            kinds[gvk] = self.kinds[gvk]
            kinds[gvk].policy.drop_trees()
        return replace(self, kinds=kinds)

    def prepared(self, kind: KnownKind) -> Prepared:
        """What is generated for a kind of this catalog, and how often it was used."""
        return self.preparations.of(kind)

    def prepare_screens(self) -> None:
        """Generate the functions of the kinds that are in use."""
        for kind in self.kinds.values():
            self.prepared(kind).prepare_if_due()

    def extended(self, crds: Iterable[CRD]) -> Catalog:
        """This catalog and, as foreign kinds, the kinds of these definitions that it does not have."""
        found = {kind.gvk: kind for crd in crds for kind in kinds_of("", crd)}
        foreign = {gvk: replace(kind, foreign=True) for gvk, kind in found.items() if gvk not in self.kinds}
        return replace(self, kinds={**self.kinds, **foreign}) if foreign else self

    def with_kind(self, kind: KnownKind) -> Catalog:
        """This catalog with another form of one of its kinds; what is prepared for it is not shared."""
        kinds = ChainMap({kind.gvk: kind}, cast("MutableMapping[GroupVersionKind, KnownKind]", self.kinds))
        return replace(self, kinds=kinds, preparations=Preparations())

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

    The digest covers the ``settings``, too, because they change what the rules decide. Built-in policies that are
    compiled already are read from ``shipped``, and run: only the installer may write there.

    Raises:
        CatalogError: with every problem of every file.
        SettingsError: a setting names a release that does not exist.
    """
    loader = Loader(built_in=root is None)
    for api in _folders(POLICIES if root is None else root):
        loader.api(api)
    kept = Kept(loader.digest.digest(), shipped)
    for folder in packs:
        found = [*_folders(folder)] if folder.is_dir() else []
        if not found:
            message = "is not a folder of APIs: each API is a folder with crds/ and policies"
            loader.problems.append(Problem(str(folder), "", message))
        for each in found:
            loader.add(each)
    loader.check_references()
    if loader.problems:
        raise CatalogError(loader.problems)
    loader.digest.update(repr(replace(settings, releases=())).encode())
    preparations = Preparations()
    kinds = LazyKinds(loader, kept, preparations) if loader.waiting else loader.kinds
    loaded = Catalog(kinds, loader.digest.hexdigest()[:16], preparations, kept.digest, loader.packs)
    return loaded.under(chosen(loader.packs, settings.releases)) if settings.releases else loaded


def _folders(root: Traversable) -> Iterator[Traversable]:
    """The folders of APIs; a folder with definitions is itself one."""
    found = [root] if root.joinpath("crds").is_dir() else entries(root)
    return (each for each in found if each.is_dir() and not each.name.startswith(("_", ".")))
