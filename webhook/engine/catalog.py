"""The catalog: for each kind its compiled schema, compiled policy and facts, under one digest."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from webhook.admission import GroupVersionKind
from webhook.admission.errors import CatalogError
from webhook.engine.kept import POLICIES, SHIPPED, Kept
from webhook.engine.kinds import KnownKind, PolicySource, Preparations, kinds_of
from webhook.engine.loading import LazyKinds, Loader
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.manifests.folders import entries
from webhook.policy import Prepared
from webhook.schema import CRD

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # takes 10 ms to load

__all__ = ["POLICIES", "Catalog", "KnownKind", "PolicySource", "load"]

_LIKENESS: Final = 0.8
"""Suggest a kind from this ratio of difflib on."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """All known kinds. It is immutable: a reload makes a new one. ``digest`` identifies its data.

    ``preparations`` belong to the process, not to the data: what has been generated for the kinds so far. ``files`` is
    the digest of the files that were loaded, without the settings.
    """

    kinds: Mapping[GroupVersionKind, KnownKind]
    digest: str
    preparations: Preparations = field(default_factory=Preparations, compare=False, repr=False)
    files: bytes = field(default=b"", compare=False, repr=False)

    def find(self, gvk: GroupVersionKind) -> KnownKind | None:
        return self.kinds.get(gvk)

    def compiled(self) -> Catalog:
        """This catalog with the rules of all kinds compiled: a server does not let a caller wait for it."""
        return replace(self, kinds=dict(self.kinds))

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


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower()).ratio()


def load(
    root: Traversable | None = None, settings: Settings = DEFAULT_SETTINGS, shipped: Path = POLICIES / SHIPPED
) -> Catalog:
    """Load a folder of APIs, or of one (default: the built-in ``policies``, compiled when a kind is first met).

    The digest covers the ``settings``, too, because they change what the rules decide. Built-in policies that are
    compiled already are read from ``shipped``, and run: only the installer may write there.

    Raises:
        CatalogError: with every problem of every file.
    """
    loader = Loader(built_in=root is None)
    for folder in _apis(POLICIES if root is None else root):
        if folder.is_dir() and not folder.name.startswith(("_", ".")):
            loader.api(folder)
    if loader.problems:
        raise CatalogError(loader.problems)
    kept = Kept(loader.digest.digest(), shipped)
    loader.digest.update(repr(settings).encode())
    preparations = Preparations()
    kinds = LazyKinds(loader, kept, preparations) if loader.waiting else loader.kinds
    return Catalog(kinds, loader.digest.hexdigest()[:16], preparations, kept.digest)


def _apis(root: Traversable) -> list[Traversable]:
    """The folders of APIs; a folder with definitions is itself one."""
    return [root] if root.joinpath("crds").is_dir() else entries(root)
