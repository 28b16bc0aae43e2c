"""What `check`, `explain`, `normalise` and :class:`modelgate.Gate` share: objects as they would come to a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from webhook.admission.errors import CatalogError, Problem
from webhook.catalog import Catalog
from webhook.cluster import ClusterView, MemoryView
from webhook.engine import Native, Options, Ruling
from webhook.facts.nodes import namespace_of
from webhook.library.apiserver import Definitions
from webhook.library.nearby import Nearby
from webhook.library.review import Key, ReviewedManifest, Stored, applied_before, in_cluster, key_of, review
from webhook.library.unknown import World
from webhook.manifests.documents import Document
from webhook.manifests.files import Contents

__all__ = ["Judge", "Surroundings"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The objects that there are already, as a cluster stores them, the unknown values in them, and the definitions."""

    objects: Mapping[Key, dict[str, Any]]
    world: World
    definitions: Definitions

    @classmethod
    def of(cls, documents: Sequence[Document], catalog: Catalog, definitions: Definitions) -> Surroundings:
        objects = {key_of(each): each for each in in_cluster(documents, catalog)}
        return cls(objects, World().extended(each.value for each in documents), definitions)


@dataclass(frozen=True, slots=True)
class Judge:
    """Reviews documents by a catalog, each beside the others and beside the objects that are stored.

    ``remarks`` are warnings about the admission policies. ``strict_kinds``: see :func:`review`.
    """

    catalog: Catalog
    options: Options
    view: ClusterView
    stored: Stored
    remarks: tuple[Problem, ...] = ()
    strict_kinds: bool = False
    nearby: Nearby = field(default_factory=lambda: Nearby(()))

    @classmethod
    def beside(
        cls,
        ruling: Ruling,
        there: Surroundings,
        given: Sequence[Document],
        *,
        before: Sequence[Document] = (),
        policies: Path | Contents | None = None,
        strict_kinds: bool = False,
    ) -> Judge:
        """A judge of the documents ``given``, as updates of those ``before`` and of the objects that are ``there``.

        ``policies``: a folder of ValidatingAdmissionPolicies and MutatingAdmissionPolicies.

        Raises:
            CatalogError: a policy does not load, or there is none in the folder.
        """
        catalog, options = ruling.catalog, ruling.options
        previous = {key_of(each): each for each in applied_before(before, catalog, options)}
        world = there.world.extended(each.value for each in given)
        stored = Stored({**previous, **there.objects}, there.definitions, world)
        objects = [*there.objects.values(), *in_cluster(given, catalog, stored)]
        native, remarks = _native(policies, catalog, objects)
        options = replace(options, native=native)
        return cls(catalog, options, MemoryView(objects), stored, remarks, strict_kinds, Nearby(objects))

    def review(self, document: Document) -> ReviewedManifest:
        found = review(document, self.catalog, self.view, self.options, self.stored, strict_kinds=self.strict_kinds)
        return replace(found, validation=self.nearby.told(found.validation, namespace_of(document.value) or "default"))


def _native(
    folder: Path | Contents | None, catalog: Catalog, objects: list[dict[str, Any]]
) -> tuple[Native | None, tuple[Problem, ...]]:
    """The admission policies of a folder, over the objects given, with warnings about them."""
    if folder is None:
        return None, ()
    from webhook.engine import policyset  # noqa: PLC0415 - the language of native policies takes 40 ms
    from webhook.engine.context import Offline  # noqa: PLC0415

    policies = policyset.load(folder)
    if not policies:
        nothing = "no ValidatingAdmissionPolicy or MutatingAdmissionPolicy found"
        raise CatalogError([*policies.foreign, Problem(str(folder), "", nothing)])
    context = Offline(catalog, [*policies.objects, *objects], assume=True)
    return Native(policies.policies, context), tuple(policies.remarks(catalog))
