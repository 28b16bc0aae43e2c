"""The rules of kinds as Kubernetes' own policies, as a cluster takes them: each name once, and each compiles there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.admission import GroupVersionKind
from webhook.admission.errors import CatalogError
from webhook.catalog import KnownKind
from webhook.manifests.documents import Document
from webhook.policy import RELEASES, Policy, Profile, Release
from webhook.policy.export import Target, left_out, mutating, validating
from webhook.vap import NativePolicies

_MIXED: Final = "expected type 'dyn' but found"
_DYNAMIC: Final = "it does not know the types of fields: write dyn(…) around each item of the list"

Refused = Mapping[GroupVersionKind, Mapping[str, str]]
"""By kind and code, what the API server says of the rules that it would refuse."""


def by_definition(kinds: Sequence[KnownKind]) -> list[list[KnownKind]]:
    """The kinds by their definitions: the versions of each together."""
    groups = dict[tuple[str, str, str], list[KnownKind]]()
    for kind in kinds:
        groups.setdefault((kind.api, kind.gvk.group, kind.gvk.kind), []).append(kind)
    return list(groups.values())


def documents(
    kinds: Sequence[KnownKind], profile: Profile, release: Release, left: Refused, *, static: bool = False
) -> Iterator[dict[str, Any]]:
    """The policies with their bindings, without the rules that are ``left``.

    Versions of a kind with the same documents share them.
    """
    definitions = by_definition(kinds)
    names = Counter(_name(versions[0]) for versions in definitions)
    for versions in definitions:
        name, group = _name(versions[0]), versions[0].gvk.group
        name = f"{name}-{group}" if names[name] > 1 else name
        parts = _parts(versions, profile, left)
        for part in parts:
            own = tuple(kind.gvk.version for kind in part)
            alone = len(parts) > 1
            suffix = f"-{own[0]}" if alone else ""
            target = Target(f"{name}{suffix}", group, own, part[0].plural, static, release, alone)
            yield from _of(_without(part[0], left), target, profile)


def refused(kind: KnownKind, profile: Profile) -> Mapping[str, str]:
    """The codes of the portable rules that the API server would refuse, each with what it says of it.

    It knows no types of an object, and a pack's expression is checked with them.
    """
    policy = kind.policy
    if not _problem(kind, policy, profile):
        return {}
    codes = dict.fromkeys(code for code in policy.codes if code not in left_out(policy))
    problems = {code: _problem(kind, _only(policy, {code}), profile) for code in codes}
    return {code: problem for code, problem in problems.items() if problem}


def _name(kind: KnownKind) -> str:
    return f"{kind.api}-{kind.gvk.kind.lower()}"


def _parts(versions: Sequence[KnownKind], profile: Profile, left: Refused) -> list[list[KnownKind]]:
    """The versions whose documents are the same; without those that have none."""
    parts = list[tuple[list[dict[str, Any]], list[KnownKind]]]()
    for kind in versions:
        own = list(_of(_without(kind, left), _target(kind), profile))
        same = next((part for made, part in parts if made == own), None)
        if same is not None:
            same.append(kind)
        elif own:
            parts.append((own, [kind]))
    return [part for _, part in parts]


def _target(kind: KnownKind, *versions: str) -> Target:
    return Target(_name(kind), kind.gvk.group, versions, kind.plural)


def _without(kind: KnownKind, left: Refused) -> Policy:
    policy, refused_codes = kind.policy, left.get(kind.gvk, {})
    return _only(policy, {*policy.codes} - refused_codes.keys()) if refused_codes else policy


def _only(policy: Policy, codes: Collection[str]) -> Policy:
    """The policy with some of its rules."""
    defaults = tuple(rule for rule in policy.defaults if rule.code in codes)
    return replace(
        policy,
        defaults=defaults,
        validations=tuple(rule for rule in policy.validations if rule.code in codes),
    )


def _of(policy: Policy, target: Target, profile: Profile) -> Iterator[dict[str, Any]]:
    yield from mutating(policy, target)
    yield from validating(policy, target, profile)


def _problem(kind: KnownKind, policy: Policy, profile: Profile) -> str:
    """The first thing that the API server would say of the documents of a policy; "" if it takes them."""
    made = [Document("", 1, document) for document in _of(policy, _target(kind, kind.gvk.version), profile)]
    major, minor = min(release.version for release in RELEASES.values())
    try:  # a new expression may use what the minor before has
        NativePolicies.load(made, (major, minor - 1), stored=False)
    except CatalogError as error:
        text, _, _ = error.problems[0].message.partition(" (line ")  # of what is exported
        return f"{text}; {_DYNAMIC}" if _MIXED in text else text
    return ""
