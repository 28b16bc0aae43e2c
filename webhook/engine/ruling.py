"""What decides about objects: the rules and definitions that are in force, and how strict they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook import catalog as catalogs  # what compares definitions is loaded when it is first used
from webhook import enforcement
from webhook.admission import GroupVersionKind, kind_of
from webhook.admission.stamp import Stamp
from webhook.catalog import Catalog, InForce, KnownKind, groups_of
from webhook.cluster import APIResource
from webhook.engine.options import DEFAULT_OPTIONS, Options
from webhook.engine.pods import POD_CODES
from webhook.facts.settings import Settings
from webhook.schema import CRD

if TYPE_CHECKING:  # the language of native policies takes 80 ms
    from webhook.catalog import Deviation
    from webhook.enforcement import Degrees, ObjectPlace, PolicyObject, Vocabulary
    from webhook.engine.context import Offline
    from webhook.engine.policyset import PolicySet


def vocabulary(catalog: Catalog) -> Vocabulary:
    """The words that Enforcements and PolicyExceptions can use of a catalog."""
    kinds = frozenset(gvk.kind for gvk in catalog.kinds)
    return enforcement.Vocabulary(catalog.codes() | {*POD_CODES}, frozenset(catalog.packs), kinds)


class Applied(NamedTuple):
    """The codes of the rules that judge an object, and the operator whose behaviour they describe."""

    operator: str
    codes: frozenset[str]


def _is_off(policy: PolicyObject | None) -> bool:
    return policy is not None and policy.action == enforcement.Degree.OFF


@dataclass(frozen=True, slots=True)
class Ruling:
    """Which rules, settings, definitions and native policies decide, and how strict they are.

    ``shipped`` is the catalog as it was loaded, ``catalog`` the same by the definitions that are installed, and
    ``deviations`` say how these differ. ``without`` are groups of APIs that are not covered, and ``guarded`` the kinds
    that the gate reviews, as ``<plural>.<group>``; None: all that Modelgate covers. It lets others through. ``files``
    are the objects beside the native ``policies``.
    """

    shipped: Catalog
    catalog: Catalog
    options: Options
    deviations: tuple[Deviation, ...] = ()
    without: frozenset[str] = frozenset()
    policies: PolicySet | None = None
    files: Offline | None = None
    guarded: frozenset[str] | None = None

    @classmethod
    def of(cls, options: Options = DEFAULT_OPTIONS, packs: Iterable[Path] = (), without: Iterable[str] = ()) -> Ruling:
        """The built-in rules, but for the APIs ``without``, and those of ``packs``, by the settings of the options.

        Raises:
            LoadError: with every problem (:func:`webhook.catalog.load`).
        """
        groups = groups_of(without)
        shipped = catalogs.load(settings=options.settings, packs=packs).without(groups)
        return cls(shipped, shipped, options, without=groups)

    def under(
        self, definitions: Iterable[Mapping[str, Any]], absent: Collection[str] = (), *, trusted: bool = True
    ) -> Ruling:
        """The same rules under these CustomResourceDefinitions; as :func:`webhook.catalog.with_installed`."""
        installed, deviations = catalogs.with_installed(self.shipped, definitions, trusted=trusted, absent=absent)
        return replace(self, catalog=installed, deviations=deviations).with_policies(self.policies)

    def as_of(self, in_force: Iterable[tuple[str, InForce]], settings: Settings) -> Ruling:
        """The same rules as of other releases of operators, by API, and under other settings of them."""
        shipped = self.shipped.under(dict(in_force)).with_settings(settings)
        options = replace(self.options, settings=settings)
        return replace(self, shipped=shipped, catalog=shipped, options=options).with_policies(self.policies)

    def extended(self, crds: Iterable[CRD]) -> Ruling:
        """The same rules, and the kinds of these definitions that have none."""
        return replace(self, catalog=self.catalog.extended(crds))

    def with_policies(self, policies: PolicySet | None) -> Ruling:
        return replace(self, policies=policies, files=policies.over(self.catalog) if policies else None)

    def wrote(self, stamp: Stamp) -> bool:
        """Whether a stamp is of these rules."""
        return stamp.catalog == self.catalog.digest

    @property
    def digest(self) -> str:
        """What decides, apart from the objects in view."""
        degrees, native = self.options.degrees, self.policies.digest if self.policies else ""
        return f"{self.catalog.digest}/{self.options.profile}/{native}/{degrees.digest if degrees else ''}"

    def by_degrees(self, degrees: Degrees | None) -> Ruling:
        """The same rules under other Enforcements and PolicyExceptions."""
        return replace(self, options=replace(self.options, degrees=degrees))

    def kinds(self) -> Iterator[APIResource]:
        """The kinds that the gate reviews."""
        for gvk, known in self.shipped.kinds.listed.items():
            if self.guarded is None or f"{known.plural}.{gvk.group}" in self.guarded:
                yield APIResource(gvk.group, gvk.version, known.plural, gvk.kind, known.namespaced)

    def definitions(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names of the definitions that rules and facts depend on, and of those that tell releases apart."""
        return catalogs.definition_names(self.shipped)

    def api(self, resource: APIResource) -> str:
        """The name of a kind's API, which is that of its folder of rules."""
        return self.shipped.uncompiled(GroupVersionKind(resource.group, resource.version, resource.kind)).api

    def applied(self, obj: Mapping[str, Any]) -> Applied:
        """The rules that a stored object is judged by; without those that an Enforcement turns off for it."""
        kind = self.kind_of(obj)
        if kind is None:
            return Applied("", frozenset())
        options, place = self.options, self._place(kind, obj)
        off = {rule.code for rule in kind.policy.validations if place is not None and _is_off(place.policy(rule.code))}
        codes = frozenset(
            rule.code
            for rule in kind.policy.validations
            if rule.code not in off and not rule.transition and (options.references or not rule.referential)
        )
        return Applied(kind.in_force.operator or kind.api, codes)

    def policy_about(self, obj: Mapping[str, Any], code: str) -> PolicyObject | None:
        """What decides what comes of a finding of a rule in an object; None if the profile does."""
        kind = self.kind_of(obj)
        place = None if kind is None else self._place(kind, obj)
        return None if place is None else place.policy(code)

    def _place(self, kind: KnownKind, obj: Mapping[str, Any]) -> ObjectPlace | None:
        """Where an object is for the policies in force; None if there are none."""
        degrees, metadata = self.options.degrees, obj.get("metadata")
        if not degrees or not isinstance(metadata, dict):
            return None
        namespace, name = (str(metadata.get(key) or "") for key in ("namespace", "name"))
        return degrees.place(kind.api, kind.gvk.kind, namespace, name)

    def because(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Why each rule of the object's kind exists, by code."""
        known = self.kind_of(obj)
        return {rule.code: rule.docs for rule in known.policy.validations} if known else {}

    def kind_of(self, obj: Mapping[str, Any]) -> KnownKind | None:
        """The kind and version of a stored object; None if Modelgate does not cover it."""
        return self.catalog.find(kind_of(obj))
