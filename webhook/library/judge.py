"""What `check`, `explain`, `normalise` and :class:`modelgate.Gate` share: objects as they would come to a cluster.

A finding about a reference that leads nowhere says what it may mean: an object of this name in another namespace, or of
a name like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from webhook.admission import Decision, Warn
from webhook.admission.errors import CatalogError, Problem
from webhook.catalog import Catalog
from webhook.cluster import ClusterView, MemoryView
from webhook.engine import UNSEEN, Native, Options, Ruling
from webhook.facts.nodes import namespace_of
from webhook.library.apiserver import Definitions
from webhook.library.review import Key, ReviewedManifest, Stored, applied_before, in_cluster, key_of, review
from webhook.library.unknown import World
from webhook.manifests.documents import Document
from webhook.manifests.files import Contents

__all__ = ["Judge", "Nearby", "Surroundings"]

_MISSING: Final = re.compile(rf"(?P<what>(?P<noun>\w+) (?P<name>\S+)) {re.escape(UNSEEN)}")
_KNOWN: Final = UNSEEN.partition(";")[0]
_MOST: Final = 2_000
"""Objects among which names that are like another one are looked for: each missing one is compared with all."""


class Nearby:
    """The names of all objects that are known; a finding about a missing one gets what it may mean."""

    def __init__(self, objects: Iterable[Mapping[str, Any]]) -> None:
        self._objects = objects

    @cached_property
    def _names(self) -> Mapping[str, list[tuple[str, str]]]:
        """Name → kind, in lower case, and namespace of each object."""
        found: dict[str, list[tuple[str, str]]] = {}
        for each in self._objects:
            metadata = each["metadata"]
            found.setdefault(metadata["name"], []).append((each["kind"].lower(), metadata.get("namespace") or ""))
        return found

    def told(self, decision: Decision, namespace: str) -> Decision:
        """The decision about an object in a namespace, with the names that it may mean."""
        if not any(UNSEEN in each.message for each in decision.warnings):
            return decision
        return replace(decision, warnings=tuple(self._told(each, namespace) for each in decision.warnings))

    def _told(self, warning: Warn, namespace: str) -> Warn:
        found = _MISSING.fullmatch(warning.message)
        hint = next(self._meant(found["noun"].lower(), found["name"], namespace), "") if found else ""
        if found is None or not hint:
            return warning
        return Warn(warning.field, f"{found['what']} {_KNOWN}; {hint}", warning.code, warning.policy)

    def _meant(self, noun: str, name: str, namespace: str) -> Iterator[str]:
        for kind, where in self._names.get(name, ()):
            if noun in kind and where not in {"", namespace}:
                yield f"there is one in namespace {where}, and it is looked for in {namespace}"
        if len(self._names) <= _MOST:
            like = [
                each
                for each, objects in self._names.items()
                if any(noun in kind and where in {"", namespace} for kind, where in objects)
            ]
            yield from (f"did you mean {each}?" for each in get_close_matches(name, like, 1))


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
