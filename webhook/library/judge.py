"""What `check`, `explain`, `normalise` and :class:`modelgate.Gate` share: objects as they would come to a cluster.

A finding about a reference that may lead nowhere says what it may mean: an object of this name in another namespace, or
of a name like it. It is known by its text, ``<Noun> <name> is not among the files given``, so that a noun of two words,
or a name with a namespace, gets no hint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.admission import Decision, Warn, group_version
from webhook.admission.errors import CatalogError, Problem
from webhook.catalog import Catalog
from webhook.cluster import ClusterView, MemoryView
from webhook.engine import UNSEEN, Native, Options
from webhook.facts.nodes import namespace_of
from webhook.library.apiserver import Definitions
from webhook.library.enforcement import degrees_of, is_policy, odd_words, own_definitions, remarks_about
from webhook.library.review import (
    NOTHING_STORED,
    Key,
    ReviewedManifest,
    Stored,
    applied_before,
    described,
    in_cluster,
    key_of,
    review,
)
from webhook.library.rulings import Rulings
from webhook.library.unknown import World
from webhook.manifests.documents import Document
from webhook.manifests.files import Contents

if TYPE_CHECKING:
    from webhook.engine.policyset import PolicySet

__all__ = [
    "Judge",
    "Judges",
    "Nearby",
    "Surroundings",
    "degrees_of",
    "is_policy",
    "native",
    "native_policies",
    "own_definitions",
    "remarks_about",
    "updated",
]

_MISSING: Final = re.compile(rf"(?P<what>(?P<noun>\w+) (?P<name>\S+)) {re.escape(UNSEEN)}")
_KNOWN: Final = UNSEEN.partition(";")[0]
_MOST: Final = 2_000
"""Objects among which names that are like another one are looked for: each missing one is compared with all."""


class _Thing(NamedTuple):
    """What an object is; its kind in lower case."""

    group: str
    kind: str
    namespace: str

    def may_be(self, noun: str, group: str) -> bool:
        """Whether an object of this group may mean it by a noun: ``model`` for a BaseModel of its own group."""
        return self.kind == noun or (self.group == group and noun in self.kind)


class Nearby:
    """The names of all objects that are known; a finding about a missing one gets what it may mean."""

    def __init__(self, objects: Iterable[Mapping[str, Any]]) -> None:
        self._objects = objects

    @cached_property
    def _names(self) -> Mapping[str, list[_Thing]]:
        """The objects of each name."""
        names: dict[str, list[_Thing]] = {}
        for obj in self._objects:
            metadata, group = obj["metadata"], group_version(obj["apiVersion"])[0]
            thing = _Thing(group, obj["kind"].lower(), metadata.get("namespace") or "")
            names.setdefault(metadata["name"], []).append(thing)
        return names

    def told(self, decision: Decision, obj: Mapping[str, Any]) -> Decision:
        """The decision about an object, with the names that it may mean."""
        if not any(UNSEEN in each.message for each in decision.warnings):
            return decision
        return replace(decision, warnings=tuple(self._told(each, obj) for each in decision.warnings))

    def _told(self, warning: Warn, obj: Mapping[str, Any]) -> Warn:
        missing = _MISSING.fullmatch(warning.message)
        hint = next(self._meant(missing["noun"].lower(), missing["name"], obj), "") if missing else ""
        if missing is None or not hint:
            return warning
        return Warn(warning.field, f"{missing['what']} {_KNOWN}; {hint}", warning.code, warning.policy)

    def _meant(self, noun: str, name: str, obj: Mapping[str, Any]) -> Iterator[str]:
        group, namespace = group_version(str(obj["apiVersion"]))[0], namespace_of(obj) or "default"
        for thing in self._names.get(name, ()):
            if thing.may_be(noun, group) and thing.namespace not in {"", namespace}:
                yield f"there is one in namespace {thing.namespace}, and it is looked for in {namespace}"
        if len(self._names) <= _MOST:
            like = [
                other
                for other, things in self._names.items()
                if any(thing.may_be(noun, group) and thing.namespace in {"", namespace} for thing in things)
            ]
            yield from (f"did you mean {other}?" for other in get_close_matches(name, like, 1))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The objects that there are already, as a cluster stores them, the unknown values in them, and the definitions."""

    objects: Mapping[Key, dict[str, Any]]
    world: World
    definitions: Definitions

    @classmethod
    def of(cls, documents: Sequence[Document], rulings: Rulings, definitions: Definitions) -> Surroundings:
        stored = _stored(rulings, documents).values()
        objects = {key_of(obj): obj for objects in stored for obj in objects}
        return cls(objects, World().extended(document.value for document in documents), definitions)


def updated(documents: Sequence[Document], rulings: Rulings) -> Mapping[Key, dict[str, Any]]:
    """What a cluster stores after these files are applied, each by its own ruling: others may update it."""
    view = MemoryView(chain.from_iterable(_stored(rulings, documents).values()))
    return {
        key_of(obj): obj
        for number, group in rulings.groups(documents).items()
        for obj in applied_before(group, rulings.made[number].catalog, view, rulings.made[number].options)
    }


def _stored(
    rulings: Rulings, documents: Iterable[Document], stored: Stored = NOTHING_STORED
) -> Mapping[int, list[dict[str, Any]]]:
    """The objects as a cluster stores them, by the numbers of their rulings."""
    groups = rulings.groups(documents)
    return {number: [*in_cluster(group, rulings.made[number].catalog, stored)] for number, group in groups.items()}


@dataclass(frozen=True, slots=True)
class Judge:
    """Reviews documents by one ruling, each beside the others and beside the objects that are stored.

    ``strict_kinds``: see :func:`review`.
    """

    catalog: Catalog
    options: Options
    view: ClusterView
    stored: Stored
    nearby: Nearby
    strict_kinds: bool = False

    def review(self, document: Document) -> ReviewedManifest:
        reviewed = review(document, self.catalog, self.view, self.options, self.stored, strict_kinds=self.strict_kinds)
        decision = self.nearby.told(reviewed.validation, document.value)
        if is_policy(document.value):
            decision = replace(decision, warnings=(*decision.warnings, *odd_words(document.value, self.catalog)))
        describe = partial(described, reviewed, self.catalog, self.view, self.options)
        return replace(reviewed, validation=decision, describe=describe)


class Judges:
    """A judge for each ruling of some documents. All objects are in view of each, and where two have one name, those of
    its own ruling.
    """

    def __init__(
        self,
        rulings: Rulings,
        there: Surroundings,
        given: Sequence[Document],
        *,
        before: Mapping[Key, dict[str, Any]] = NOTHING_STORED.objects,
        policies: PolicySet | None = None,
        strict_kinds: bool = False,
    ) -> None:
        """The judges of the documents ``given``, as updates of those ``before`` and of the objects that are ``there``.

        ``policies``: ValidatingAdmissionPolicies and MutatingAdmissionPolicies, which count, too.
        """
        self.rulings = rulings
        world = there.world.extended(document.value for document in given)
        stored = Stored({**before, **there.objects}, there.definitions, world)
        objects = _stored(rulings, given, stored) or {rulings.of_no_file.number: []}
        nearby = Nearby([*there.objects.values(), *chain.from_iterable(objects.values())])
        self._policies = policies
        self._judges = dict[int, Judge]()
        for number, own in objects.items():
            ruling = rulings.made[number]
            others = chain.from_iterable(group for other, group in objects.items() if other != number)
            seen = [*there.objects.values(), *others, *own]
            options = replace(
                ruling.options,
                native=native(policies, ruling.catalog, seen, assume=True, complete=ruling.options.complete),
            )
            self._judges[number] = Judge(ruling.catalog, options, MemoryView(seen), stored, nearby, strict_kinds)

    @cached_property
    def remarks(self) -> list[Problem]:
        """Warnings for the authors of the admission policies."""
        return [] if self._policies is None else self._policies.remarks(next(iter(self._judges.values())).catalog)

    def of(self, document: Document) -> Judge:
        """The judge of a document, which may be another text of one of those given."""
        return self._judges[self.rulings.of(document).number]

    def review(self, document: Document) -> ReviewedManifest:
        reviewed = self.of(document).review(document)
        return replace(reviewed, judged_as=self.rulings.judged_as(document)) if reviewed.reviewed else reviewed


def native_policies(folder: Path | Contents | None) -> PolicySet | None:
    """The admission policies of a folder.

    Raises:
        CatalogError: one does not load, or there is none.
    """
    if folder is None:
        return None
    from webhook.engine import policyset  # noqa: PLC0415 - the language of native policies takes 40 ms

    policies = policyset.load(folder)
    if not policies:
        nothing = "no ValidatingAdmissionPolicy or MutatingAdmissionPolicy found"
        raise CatalogError([*policies.foreign, Problem(str(folder), "", nothing)])
    return policies


def native(
    policies: PolicySet | None,
    catalog: Catalog,
    objects: Iterable[dict[str, Any]],
    *,
    assume: bool = False,
    complete: bool = True,
) -> Native | None:
    """Admission policies over the objects given; the others: see :class:`~webhook.engine.context.Offline`."""
    if policies is None:
        return None
    from webhook.engine.context import Offline  # noqa: PLC0415 - as above

    given = [*policies.objects, *objects]
    return Native(policies.policies, Offline(catalog, given, assume=assume, complete=complete))
