"""Judge a stored object as if it were created now.

Rules change, and objects that an object refers to vanish: what the gate once admitted may be wrong today. The
reconciler judges each object so, and `modelgate scan` a list of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook import catalog
from webhook.admission import Cause, GroupVersionKind, Request, Warn, group_version, labels
from webhook.admission.stamp import ANNOTATION, Stamp, canonical
from webhook.catalog import Catalog, Deviation, KnownKind, definition_names, groups_of, with_installed
from webhook.cluster import APIResource, RequestView
from webhook.cluster.view import ClusterView, MemoryView
from webhook.engine.context import Offline
from webhook.engine.decisions import validate
from webhook.engine.filling.defaulting import Normalised, normalise
from webhook.engine.filling.stamping import stamp_of
from webhook.engine.options import Native, Options
from webhook.engine.policyset import PolicySet
from webhook.engine.policyset import load as load_policies
from webhook.engine.review import ObjectReview
from webhook.facts import CHOICES
from webhook.facts.settings import Settings
from webhook.manifests.files import Contents
from webhook.policy import Profile

__all__ = ["Rules", "Standing", "Verdict", "judge", "load", "native_policies"]

_OF_CALLERS: Final = ("userInfo", "authorizer")
"""Words in native policies that judge the caller: of a stored object he is not known."""

_NOTHING: Final = MemoryView()


class Standing(Enum):
    """What the stamp of an object is worth."""

    VALID = "the gate would write the same"
    OUTDATED = "written by other rules or under another profile"
    VOID = "absent, or not what the gate writes"


class Verdict(NamedTuple):
    """What is wrong with an object today; ``chosen`` are the objects that facts have chosen for it."""

    causes: tuple[Cause, ...]
    warnings: tuple[Warn, ...]
    standing: Standing
    chosen: Mapping[str, str]

    @property
    def clean(self) -> bool:
        return not self.causes

    @property
    def codes(self) -> set[str]:
        return set(labels(self.causes, self.warnings))


@dataclass(frozen=True, slots=True)
class Rules:
    """The gate's rules, profile, settings and native policies, by the definitions that are installed.

    ``guarded`` are the kinds that the gate reviews, as ``<plural>.<group>``; None: all that Modelgate covers. Other
    kinds are ignored: the gate lets them through. ``deviations`` say how the definitions differ from the shipped ones.
    ``without`` are groups of APIs that are not covered.
    """

    shipped: Catalog
    catalog: Catalog
    options: Options
    policies: PolicySet | None
    files: Offline | None
    guarded: frozenset[str] | None = None
    deviations: tuple[Deviation, ...] = ()
    without: frozenset[str] = frozenset()

    def under(self, definitions: Iterable[Mapping[str, Any]], absent: frozenset[str] = frozenset()) -> Rules:
        """The same rules under these CustomResourceDefinitions; ``absent`` are the names of some that there are not."""
        found, deviations = with_installed(self.shipped, definitions, absent=absent)
        files = self.policies.over(found) if self.policies else None
        return replace(self, catalog=found, files=files, deviations=deviations)

    def with_policies(self, policies: PolicySet | None) -> Rules:
        return replace(self, policies=policies, files=policies.over(self.catalog) if policies else None)

    def wrote(self, stamp: Stamp) -> bool:
        """Whether a stamp is of these rules and this profile."""
        return (stamp.catalog, stamp.profile) == (self.catalog.digest, self.options.profile)

    @property
    def digest(self) -> str:
        return f"{self.catalog.digest}/{self.options.profile}/{self.policies.digest if self.policies else ''}"

    def kinds(self) -> Iterator[APIResource]:
        """The kinds that the gate reviews."""
        for gvk, known in self.shipped.kinds.items():
            if self.guarded is None or f"{known.plural}.{gvk.group}" in self.guarded:
                yield APIResource(gvk.group, gvk.version, known.plural, gvk.kind, known.namespaced)

    def definitions(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names of the definitions that rules and facts depend on, and of those that tell releases apart."""
        return definition_names(self.shipped)

    def api(self, resource: APIResource) -> str:
        """The name of a kind's API, which is that of its folder of rules."""
        return self.shipped.kinds[GroupVersionKind(resource.group, resource.version, resource.kind)].api

    def because(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Why each rule of the object's kind exists, by code."""
        known = self.catalog.find(_gvk(obj))
        return {rule.code: rule.docs for rule in known.policy.validations} if known else {}


def load(
    profile: str,
    settings: Settings,
    policies: PolicySet | None = None,
    guarded: frozenset[str] | None = None,
    *,
    references: bool = True,
    without: Iterable[str] = (),
    packs: Iterable[Path] = (),
) -> Rules:
    """The built-in rules, but for the APIs ``without``, and those of ``packs`` (:func:`webhook.catalog.catalog.load`).

    Without ``references``, the gate has no view of other objects, and the judgement none.

    Raises:
        LoadError: with every problem.
    """
    groups = groups_of(without)
    shipped = catalog.load(settings=settings, packs=packs).without(groups)
    options = Options(profile=Profile(profile), settings=settings, references=references)
    return Rules(shipped, shipped, options, None, None, guarded, without=groups).with_policies(policies)


def native_policies(folder: Path | Contents) -> PolicySet:
    """The native policies of a folder that can judge a stored object.

    Raises:
        LoadError: with every problem.
    """
    found = load_policies(folder)
    asking = {
        each.value["metadata"]["name"]
        for each in found.documents
        if any(word in str(each.value) for word in _OF_CALLERS)
    }
    return replace(found, policies=found.policies.validating(without=asking))


def judge(obj: dict[str, Any], rules: Rules, view: ClusterView) -> Verdict | None:
    """The verdict on a stored object; None if Modelgate does not cover its kind and version.

    Raises:
        ModelgateError: the object cannot be judged now.
    """
    known = rules.catalog.find(_gvk(obj))
    if known is None:
        return None
    options = rules.options
    if not options.references:
        view = _NOTHING
    if rules.policies and rules.files is not None:
        surroundings = rules.files.live(view) if isinstance(view, RequestView) else rules.files
        options = replace(options, native=Native(rules.policies.policies, surroundings))
    stamp = Stamp.matching(obj)
    if stamp is not None:
        update = _request(known, "UPDATE", obj, obj)  # what an empty patch sends through the gate
    else:
        update = _request(known, "CREATE", _as_sent(obj, known))
    review = ObjectReview.of(known, update, rules.catalog, view, options)
    result = normalise(review)
    create = _request(known, "CREATE", _as_sent(result.object, known))
    decision = validate(create, rules.catalog, view, options)
    rules.catalog.prepared(known).prepare_if_due()
    findings = bool(decision.causes or decision.warnings)
    return Verdict(
        decision.causes,
        decision.warnings,
        _standing(stamp, result, rules),
        _chosen(obj, known, rules, view) if findings else {},
    )


def _standing(stamp: Stamp | None, result: Normalised, rules: Rules) -> Standing:
    """What a stamp that matches its object is worth, compared with the one that the gate would write."""
    if stamp is None:
        return Standing.VOID
    if not rules.wrote(stamp):
        return Standing.OUTDATED
    wanted = stamp_of(result, rules.catalog, rules.options.profile, valid=not result.too_costly)
    same = wanted.spec == stamp.spec and canonical(wanted.defaulted) == canonical(stamp.defaulted)
    return Standing.VALID if same else Standing.VOID


def _request(known: KnownKind, operation: str, obj: dict[str, Any], old: dict[str, Any] | None = None) -> Request:
    metadata = obj["metadata"]
    return Request(
        known.gvk, known.plural, operation, obj, old, name=metadata["name"], namespace=metadata.get("namespace", "")
    )


def _as_sent(obj: dict[str, Any], known: KnownKind) -> dict[str, Any]:
    """The object without what the API server would drop or add on creation, and without the stamp."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    annotations = metadata.get("annotations") or {}
    if ANNOTATION in annotations:
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != ANNOTATION}
    sent = {**obj, "metadata": metadata}
    if known.status:
        sent.pop("status", None)
    return sent


def _chosen(obj: dict[str, Any], known: KnownKind, rules: Rules, view: ClusterView) -> dict[str, str]:
    found: dict[str, str] = {}
    for (kind, name), members in CHOICES.items():
        if kind == (known.gvk.group, known.gvk.kind) and name in known.facts:
            value = known.facts[name].value(obj, view, rules.options.settings)
            found |= {f"{name}.{member}": text for member in members if (text := _member(value, member))}
    return found


def _member(value: Any, path: str) -> str:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _gvk(obj: Mapping[str, Any]) -> GroupVersionKind:
    return GroupVersionKind(*group_version(obj["apiVersion"]), obj["kind"])
