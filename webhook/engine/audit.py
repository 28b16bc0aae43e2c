"""Judge a stored object as if it were created now.

Rules change, and objects that an object refers to vanish: what the gate once admitted may be wrong today. The
reconciler judges each object so, and `modelgate scan` a list of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.admission import Cause, Decision, Muted, Request, Warn, labels
from webhook.admission.stamp import ANNOTATION, Stamp, canonical
from webhook.catalog import KnownKind
from webhook.children import Child
from webhook.cluster import RequestView
from webhook.cluster.view import ClusterView, MemoryView
from webhook.engine.children import described
from webhook.engine.decisions import mutate, validate
from webhook.engine.filling.defaulting import Normalised, normalise
from webhook.engine.filling.stamping import stamp_of
from webhook.engine.options import Native, Options
from webhook.engine.review import ObjectReview, refusal_of
from webhook.engine.ruling import Ruling
from webhook.facts import CHOICES
from webhook.facts.settings import Settings
from webhook.ground.budget import SpentError
from webhook.manifests.files import Contents
from webhook.policy import Profile

if TYPE_CHECKING:
    from webhook.engine.policyset import PolicySet

__all__ = ["Ruling", "Standing", "Verdict", "children_of", "filled", "judge", "load", "made", "native_policies"]

_OF_CALLERS: Final = ("userInfo", "authorizer")
"""Words in native policies that judge the caller: of a stored object he is not known."""

_NOTHING: Final = MemoryView()


class Standing(Enum):
    """What the stamp of an object is worth."""

    VALID = "the gate would write the same"
    OUTDATED = "written by other rules"
    VOID = "absent, or not what the gate writes"


class Verdict(NamedTuple):
    """What is wrong with an object today; ``chosen`` are the objects that facts have chosen for it, and ``muted`` the
    findings that count for nothing by an Enforcement or a PolicyException.
    """

    causes: tuple[Cause, ...]
    warnings: tuple[Warn, ...]
    standing: Standing
    chosen: Mapping[str, str]
    muted: tuple[Muted, ...] = ()

    @property
    def clean(self) -> bool:
        return not self.causes

    @property
    def codes(self) -> set[str]:
        return set(labels(self.causes, self.warnings))


def load(
    profile: str,
    settings: Settings,
    policies: PolicySet | None = None,
    guarded: frozenset[str] | None = None,
    *,
    references: bool = True,
    without: Iterable[str] = (),
    packs: Iterable[Path] = (),
) -> Ruling:
    """The ruling of a gate that has these flags.

    Without ``references``, the gate has no view of other objects, and the judgement none.

    Raises:
        LoadError: with every problem.
    """
    options = Options(profile=Profile(profile), settings=settings, references=references)
    return replace(Ruling.of(options, packs, without), guarded=guarded).with_policies(policies)


def native_policies(folder: Path | Contents) -> PolicySet:
    """The native policies of a folder that can judge a stored object.

    Raises:
        LoadError: with every problem.
    """
    from webhook.engine import policyset  # noqa: PLC0415 - with their language, a reconciler takes 10 MB more

    found = policyset.load(folder)
    asking = {
        each.value["metadata"]["name"]
        for each in found.documents
        if any(word in str(each.value) for word in _OF_CALLERS)
    }
    return replace(found, policies=found.policies.validating(without=asking))


def made(obj: dict[str, Any], rules: Ruling, view: ClusterView) -> dict[str, dict[str, Any]]:
    """The children of a stored object, by their names in the description of its kind.

    Raises:
        ModelgateError: the object cannot be judged now.
    """
    return {child.rule.name: child.object for child in children_of(obj, rules, view)}


def children_of(obj: dict[str, Any], rules: Ruling, view: ClusterView) -> Sequence[Child]:
    """What the operator makes of a stored object.

    Raises:
        ModelgateError: as :func:`made`.
    """
    kind = rules.kind_of(obj)
    return described(_request(kind, "CREATE", obj), rules.catalog, view, rules.options) if kind is not None else ()


def filled(obj: dict[str, Any], rules: Ruling, view: ClusterView) -> Decision | None:
    """A stored object with what an empty patch would fill in; None if it is not covered, or is refused then.

    Raises:
        ModelgateError: the object cannot be judged now.
    """
    kind = rules.kind_of(obj)
    decision = mutate(_sent(obj, kind), rules.catalog, view, rules.options) if kind is not None else None
    return decision if decision is not None and decision.object is not None else None


def judge(obj: dict[str, Any], rules: Ruling, view: ClusterView) -> Verdict | None:
    """The verdict on a stored object; None if Modelgate does not cover its kind and version.

    Raises:
        ModelgateError: the object cannot be judged now.
    """
    known = rules.kind_of(obj)
    if known is None:
        return None
    options = rules.options
    if not options.references:
        view = _NOTHING
    if rules.policies and rules.files is not None:
        surroundings = rules.files.live(view) if isinstance(view, RequestView) else rules.files
        options = replace(options, native=Native(rules.policies.policies, surroundings))
    stamp = Stamp.matching(obj)
    review = ObjectReview.of(known, _sent(obj, known), rules.catalog, view, options)
    try:
        result = normalise(review)
    except SpentError as error:
        return Verdict((refusal_of(error),), (), Standing.VOID, {})
    create = _request(known, "CREATE", _as_sent(result.object, known))
    decision = validate(create, rules.catalog, view, options)
    rules.catalog.prepared(known).prepare_if_due()
    findings = bool(decision.causes or decision.warnings)
    return Verdict(
        decision.causes,
        decision.warnings,
        _standing(stamp, result, rules),
        _chosen(obj, known, rules, view) if findings else {},
        decision.muted,
    )


def _sent(obj: dict[str, Any], kind: KnownKind) -> Request:
    """What an empty patch sends through the gate; of an object without a valid stamp, its creation."""
    if Stamp.matching(obj) is not None:
        return _request(kind, "UPDATE", obj, obj)
    return _request(kind, "CREATE", _as_sent(obj, kind))


def _standing(stamp: Stamp | None, result: Normalised, rules: Ruling) -> Standing:
    """What a stamp that matches its object is worth, compared with the one that the gate would write."""
    if stamp is None:
        return Standing.VOID
    if not rules.wrote(stamp):
        return Standing.OUTDATED
    wanted = stamp_of(result, rules.catalog, valid=not result.too_costly)
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


def _chosen(obj: dict[str, Any], known: KnownKind, rules: Ruling, view: ClusterView) -> dict[str, str]:
    found: dict[str, str] = {}
    for (kind, name), members in CHOICES.items():
        if kind == (known.gvk.group, known.gvk.kind) and name in known.facts:
            value = known.facts[name].value(obj, view, known.completed(rules.options.settings))
            found |= {f"{name}.{member}": text for member in members if (text := _member(value, member))}
    return found


def _member(value: Any, path: str) -> str:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
