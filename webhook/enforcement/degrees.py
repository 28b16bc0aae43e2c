"""How strict each rule is for each object: the policies in force at one moment, indexed by place and code.

The index is made when policies, labels of namespaces or the time change it, so that a review has a few look-ups for
a finding, and none without findings. docs/enforcement.md says the order in ten lines.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, NamedTuple

from webhook.enforcement.policy import ALL, Degree, PolicyObject

LABEL: Final = "modelgate.dev/profile"
"""The label by which the owner of a namespace chooses the profile ``strict`` for its objects."""

_STRICT: Final = "strict"
_NAME: Final = "kubernetes.io/metadata.name"
"""The label that an API server gives each namespace."""

_STRICTNESS: Final = {action: -position for position, action in enumerate(Degree)}

Labels = Mapping[str, str]
Weight = tuple[bool, int, int, int, int, str]

_NONE: Final[Weight] = (False, -1, 0, 0, 0, "")
"""Less than the weight of any policy."""


class Weighed(NamedTuple):
    """A policy under one of its groups of codes. The greatest one about a finding decides."""

    weight: Weight
    policy: PolicyObject

    @classmethod
    def of(cls, policy: PolicyObject, group: str) -> Weighed:
        """The order of docs/enforcement.md: exceptions, then codes, then places, then kinds, then strictness."""
        place = 3 * bool(policy.names) or 2 * bool(policy.namespaces) or int(policy.selector is not None)
        concerned = 2 * bool(policy.kinds) + bool(policy.apis)
        strictness = 0 if policy.action is None else _STRICTNESS[policy.action]
        weight = policy.action is None, len(group.rstrip(ALL)), place, concerned, strictness, policy.name
        return cls(weight, policy)


Index = Mapping[tuple[str, str], Mapping[str, Sequence[Weighed]]]
"""Namespace and name, "" for any → code or group of codes → entries, the greatest first."""


class ObjectPlace(NamedTuple):
    """Where an object is; ``namespace`` and ``name`` may be ""."""

    degrees: Degrees
    api: str
    kind: str
    namespace: str
    name: str

    @property
    def is_strict(self) -> bool:
        """Whether the owner of the namespace has chosen the profile strict."""
        return self.namespace in self.degrees.strict

    def policy(self, code: str) -> PolicyObject | None:
        """The policy that decides what comes of a finding of a rule; None if the profile does."""
        degrees, namespace, name = self.degrees, self.namespace, self.name
        places = (namespace, name), (namespace, ""), ("", name), ("", "")
        groups = code, code[:4] + ALL, code[:3] + ALL, code[:2] + ALL, ALL
        weight, policy = _NONE, None
        for index in filter(None, (degrees.anywhere, degrees.labelled(namespace))):
            for by_group in filter(None, map(index.get, places)):  # few places have policies
                for entries in filter(None, map(by_group.get, groups)):
                    for entry in entries:  # the greatest first
                        if entry.weight <= weight:
                            break
                        if self._is_concerned(entry.policy):
                            weight, policy = entry
                            break
        return policy

    def _is_concerned(self, policy: PolicyObject) -> bool:
        return (
            (not policy.kinds or self.kind in policy.kinds)
            and (not policy.apis or self.api in policy.apis)
            and (not policy.namespaces or self.namespace in policy.namespaces)
        )


@dataclass(frozen=True, slots=True)
class Degrees:
    """The policies in force at one moment.

    ``anywhere`` has those that select no labels, and ``selected`` those of ``selecting``, which do, by the namespaces
    that they select; ``strict`` are the namespaces with that label. ``turn`` is the next time at which others are in
    force, in seconds since the Unix epoch, infinite if there is none. ``digest`` covers what decides.
    """

    policies: tuple[PolicyObject, ...] = ()
    selecting: tuple[PolicyObject, ...] = ()
    anywhere: Index = field(default_factory=dict)
    selected: Mapping[str, Index] = field(default_factory=dict)
    strict: frozenset[str] = frozenset()
    turn: float = math.inf
    digest: str = ""

    @classmethod
    def of(cls, policies: Collection[PolicyObject], namespaces: Mapping[str, Labels], now: float) -> Degrees:
        """The policies that are in force ``now``, in a cluster with these namespaces, by name."""
        in_force = tuple(sorted((policy for policy in policies if policy.in_force(now)), key=str))
        selecting = tuple(policy for policy in in_force if policy.selector is not None)
        selected = _by_namespace(selecting, namespaces)
        strict = frozenset(name for name, labels in namespaces.items() if labels.get(LABEL) == _STRICT)
        return cls(
            in_force,
            selecting,
            _indexed(policy for policy in in_force if policy.selector is None),
            selected,
            strict,
            min((time for policy in policies for time in (policy.since, policy.until) if time > now), default=math.inf),
            _digest(in_force, selected, strict),
        )

    @property
    def shared_digest(self) -> str:
        """Of the policies alone, without the namespaces that they select: the same in every cluster that has them."""
        return _digest(self.policies, {}, ()) if self.policies else ""

    def __bool__(self) -> bool:
        """Whether anything but the profile decides."""
        return bool(self.policies or self.strict)

    def place(self, api: str, kind: str, namespace: str, name: str) -> ObjectPlace:
        return ObjectPlace(self, api, kind, namespace, name)

    def labelled(self, namespace: str) -> Index:
        """The policies that select a namespace by its labels. One that is not known has only the label of its name."""
        index = self.selected.get(namespace)
        if index is not None or not self.selecting or not namespace:
            return index or {}
        return _indexed(policy for policy in self.selecting if _selects(policy, {_NAME: namespace}))


def _by_namespace(policies: Sequence[PolicyObject], namespaces: Mapping[str, Labels]) -> Mapping[str, Index]:
    """An index for every namespace; those whose labels make no difference share one."""
    keys = sorted({requirement.key for policy in policies for requirement in policy.selector or ()})
    shared = dict[tuple[str | None, ...], Index]()
    selected = dict[str, Index]()
    for name, labels in namespaces.items() if policies else ():
        values = tuple(labels.get(key) for key in keys)
        if values not in shared:
            shared[values] = _indexed(policy for policy in policies if _selects(policy, labels))
        selected[name] = shared[values]
    return selected


def _selects(policy: PolicyObject, labels: Labels) -> bool:
    return all(requirement.holds(labels) for requirement in policy.selector or ())


def _indexed(policies: Iterable[PolicyObject]) -> Index:
    index = dict[tuple[str, str], dict[str, list[Weighed]]]()
    for policy in policies:
        weighed = [(group, Weighed.of(policy, group)) for group in policy.codes]
        for by_group in (index.setdefault(place, {}) for place in _places(policy)):
            for group, entry in weighed:
                by_group.setdefault(group, []).append(entry)
    for entries in (entries for by_group in index.values() for entries in by_group.values()):
        entries.sort(key=lambda entry: entry.weight, reverse=True)
    return index


def _places(policy: PolicyObject) -> Iterator[tuple[str, str]]:
    """The places under which a policy is found, a bounded number; what they leave open is compared when it is found."""
    namespaces, names = policy.namespaces or ("",), policy.names or ("",)
    if len(namespaces) > 1 and len(names) > 1:
        namespaces = ("",)
    return ((namespace, name) for namespace in namespaces for name in names)


def _digest(policies: Iterable[PolicyObject], selected: Mapping[str, Index], strict: Iterable[str]) -> str:
    """The same for the same policies and namespaces, in every process."""
    hashed = sha256()
    for policy in policies:
        parts = (policy.codes, policy.apis, policy.kinds, policy.namespaces, policy.names, _written(policy))
        hashed.update(repr([str(policy), policy.action, *map(sorted, parts)]).encode())
    shared = {id(index): repr(sorted(_names(index))) for index in selected.values()}
    hashed.update(repr(sorted((name, shared[id(index)]) for name, index in selected.items() if index)).encode())
    hashed.update(repr(sorted(strict)).encode())
    return hashed.hexdigest()[:16]


def _written(policy: PolicyObject) -> list[str]:
    return [f"{wanted.key} {wanted.operator} {sorted(wanted.values)}" for wanted in policy.selector or ()]


def _names(index: Index) -> set[str]:
    return {str(entry.policy) for by_group in index.values() for entries in by_group.values() for entry in entries}
