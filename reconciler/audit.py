"""Judge a stored object as if it were created now, by the rules of the gate.

Rules change, and objects that an object refers to vanish: what the gate once admitted may be wrong today. The judgement
is the engine's, in this process; the gate is asked only to heal. This is the only module of the reconciler that knows
the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook import engine
from webhook.admission.decision import Cause, Warn
from webhook.admission.request import GroupVersionKind, Request, group_version
from webhook.admission.stamp import ANNOTATION, Stamp, canonical
from webhook.cluster.readthrough import RequestView
from webhook.cluster.resource import APIResource
from webhook.cluster.view import ClusterView
from webhook.engine import Native, Options, catalog
from webhook.engine.catalog import Catalog, KnownKind
from webhook.engine.context import Offline
from webhook.engine.defaulting import Normalised
from webhook.engine.installed import with_installed
from webhook.engine.policyset import PolicySet
from webhook.engine.policyset import load as load_policies
from webhook.engine.stamping import normalised, stamp_of
from webhook.facts.inputs import inputs_of
from webhook.facts.reads import GROUPS
from webhook.facts.settings import Settings
from webhook.policy import Profile

__all__ = ["Outlet", "Rules", "Standing", "Verdict", "judge", "load"]

_OF_CALLERS: Final = ("userInfo", "authorizer")
"""Words in native policies that judge the caller: of a stored object he is not known."""

_CHOICES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("InferenceService", "model"): ("name", "kind"),
    ("InferenceService", "runtime"): ("name", "kind"),
    ("AIMService", "resolved"): ("template.name", "template.kind", "template.image", "config.name", "routing.path"),
}
"""Kind and fact → the members that say what was chosen for an object."""


class Outlet(Enum):
    """How the verdict can be written into the status of a kind."""

    APPLY = "by server-side apply of one condition"
    REPLACE = "by replacing the status, because its list of conditions is atomic"
    NONE = "not at all: there are no conditions, or a write of the status would be a new generation"


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
        found: tuple[Cause | Warn, ...] = (*self.causes, *self.warnings)
        return {label for each in found for label in each.labels}


@dataclass(frozen=True, slots=True)
class Rules:
    """The gate's rules, profile, settings and native policies, by the definitions that are installed."""

    shipped: Catalog
    catalog: Catalog
    options: Options
    policies: PolicySet | None
    files: Offline | None
    without: frozenset[str] = frozenset()
    """Groups of APIs that are not covered."""

    def under(self, definitions: Iterable[Mapping[str, Any]]) -> Rules:
        """The same rules under these CustomResourceDefinitions."""
        found = with_installed(self.shipped, definitions)[0]
        return replace(self, catalog=found, files=self.policies.over(found) if self.policies else None)

    def with_policies(self, policies: PolicySet | None) -> Rules:
        return replace(self, policies=policies, files=policies.over(self.catalog) if policies else None)

    @property
    def digest(self) -> str:
        return f"{self.catalog.digest}/{self.options.profile}/{self.policies.digest if self.policies else ''}"

    def kinds(self) -> Iterator[APIResource]:
        """The kinds that Modelgate covers."""
        for gvk, known in self.shipped.kinds.items():
            yield APIResource(gvk.group, gvk.version, known.plural, gvk.kind, known.namespaced)

    def outlet(self, resource: APIResource) -> Outlet:
        """Where the installed definition of a kind has room for a verdict."""
        known = self.catalog.find(GroupVersionKind(resource.group, resource.version, resource.kind))
        conditions = _property(_property(known.schema.raw, "status"), "conditions") if known else {}
        if known is None or not known.status or not conditions:
            return Outlet.NONE
        return Outlet.APPLY if conditions.get("x-kubernetes-list-type") == "map" else Outlet.REPLACE

    def api(self, resource: APIResource) -> str:
        """The name of a kind's API, which is that of its folder of rules."""
        return self.shipped.kinds[GroupVersionKind(resource.group, resource.version, resource.kind)].api

    def because(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Why each rule of the object's kind exists, by code."""
        known = self.catalog.find(_gvk(obj))
        return {rule.code: rule.docs for rule in known.policy.validations} if known else {}

    def judged_by_status(self) -> frozenset[str]:
        """The kinds whose status facts read."""
        reads = (
            each
            for gvk, known in self.shipped.kinds.items()
            for name in known.facts
            for each in inputs_of(gvk.kind, name)
        )
        return frozenset(each.kind for each in reads if each.keys[0] == "status")


def load(profile: str, settings: Settings, policies: PolicySet | None = None, without: Iterable[str] = ()) -> Rules:
    """The built-in rules, but for the APIs ``without``.

    Raises:
        LoadError: with every problem.
    """
    groups = frozenset(GROUPS[api] for api in without)
    shipped = catalog.load(settings=settings).without(groups)
    options = Options(profile=Profile(profile), settings=settings)
    return Rules(shipped, shipped, options, None, None, groups).with_policies(policies)


def native_policies(folder: Path) -> PolicySet:
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
    validators = tuple(each for each in found.policies.validators if each.policy.compiled.name not in asking)
    return replace(found, policies=replace(found.policies, validators=validators, mutators=()))


def judge(obj: dict[str, Any], rules: Rules, view: ClusterView) -> Verdict | None:
    """The verdict on a stored object; None if Modelgate does not cover its kind and version.

    Raises:
        ModelgateError: the object cannot be judged now.
    """
    known = rules.catalog.find(_gvk(obj))
    if known is None:
        return None
    options = rules.options
    if rules.policies and rules.files is not None:
        surroundings = rules.files.live(view) if isinstance(view, RequestView) else rules.files
        options = replace(options, native=Native(rules.policies.policies, surroundings))
    stamp = Stamp.read(obj)
    if stamp is not None and stamp.matches(obj):
        update = _request(known, "UPDATE", obj, obj)  # what an empty patch sends through the gate
    else:
        stamp, update = None, _request(known, "CREATE", _as_sent(obj, known))
    result = normalised(known, update, update.object or {}, view, options)
    create = _request(known, "CREATE", _as_sent(result.object, known))
    decision = engine.validate(create, rules.catalog, view, options)
    known.policy.prepare_if_due()
    findings = bool(decision.causes or decision.warnings)
    return Verdict(
        decision.causes,
        decision.warnings,
        _standing(stamp, result, rules),
        _chosen(obj, known, rules, view) if findings else {},
    )


def _standing(stamp: Stamp | None, result: Normalised, rules: Rules) -> Standing:
    """What a stamp that matches its object is worth, compared with the one that the gate would write."""
    if stamp is None or not stamp.spec:
        return Standing.VOID
    if (stamp.catalog, stamp.profile) != (rules.catalog.digest, rules.options.profile):
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
    for (kind, name), members in _CHOICES.items():
        if kind == known.gvk.kind and name in known.facts:
            value = known.facts[name].value(obj, view, rules.options.settings)
            found |= {f"{name}.{member}": text for member in members if (text := _member(value, member))}
    return found


def _member(value: Any, path: str) -> str:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _property(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schema.get("properties", {}).get(name, {})
    return found


def _gvk(obj: Mapping[str, Any]) -> GroupVersionKind:
    return GroupVersionKind(*group_version(obj["apiVersion"]), obj["kind"])
