"""What unknown values decide of an object, and the catalog without the rules and defaults that depend on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from operator import getitem
from typing import Any, Final, NamedTuple

from webhook.admission import GroupVersionKind, kind_of
from webhook.admission.stamp import Stamp
from webhook.catalog import Catalog, Dependences, KnownKind, Sight
from webhook.cel import Budget, CelError
from webhook.cluster import ClusterView, Kind
from webhook.facts.settings import Settings
from webhook.library.unknown.substitution import Keys, unknown_in
from webhook.policy import MISSING, OBJECT, DefaultRule, Expression, Open, Policy, PolicyScope, Reads, any_meet

NAMES: Final = (("metadata", "name"), ("metadata", "namespace"), ("metadata", "generateName"))
"""By which an object is looked up."""
_METADATA: Final = NAMES[0][:1]

_BUDGET: Final = 10_000_000
"""For conditions of defaults, each of which costs a few hundred at most."""


@dataclass(frozen=True, slots=True)
class World:
    """The unknown values of all objects among the files: by kind, their paths. ``kinds`` are those of the objects."""

    unknown: Mapping[Kind, tuple[Keys, ...]] = field(default_factory=dict)
    kinds: frozenset[GroupVersionKind] = frozenset()

    def extended(self, values: Iterable[dict[str, Any]]) -> World:
        """This world and the unknown values of further objects."""
        found, kinds = dict(self.unknown), set(self.kinds)
        for value in values:
            gvk = kind_of(value)
            kinds.add(gvk)
            if paths := unknown_in(value):
                kind = Kind(gvk.group, gvk.kind)
                found[kind] = (*found.get(kind, ()), *paths)
        return World(found, frozenset(kinds))

    def joined(self, others: Iterable[World]) -> World:
        """This world and others."""
        unknown, kinds = dict(self.unknown), set(self.kinds)
        for other in others:
            kinds |= other.kinds
            for kind, paths in other.unknown.items():
                unknown[kind] = (*unknown.get(kind, ()), *paths)
        return World(unknown, frozenset(kinds))

    def without_rules(self, catalog: Catalog) -> frozenset[Kind]:
        """The kinds of objects whose version has no rules, although others have: what their fields mean is unknown."""
        return _without_rules(self.kinds, catalog)

    def hides(self, kind: Kind, read: Iterable[Keys]) -> bool:
        """Whether a look at these fields of the objects of a kind may find an unknown value, or miss an object."""
        return any_meet(self.unknown.get(kind, ()), (*NAMES, *read))


class Undecided(NamedTuple):
    """What unknown values decide of one object: facts, leaves that a default may set, and what its children are."""

    facts: frozenset[str] = frozenset()
    leaves: frozenset[Keys] = frozenset()
    children: bool = False


NOTHING: Final = Undecided()


@dataclass(frozen=True)
class Narrowing:
    """One object beside others, and the unknown values of all.

    ``sent`` is the object with stand-ins for its unknown values; ``old`` is what is stored.
    """

    kind: KnownKind
    catalog: Catalog
    unknown: Collection[Keys]
    world: World
    sent: dict[str, Any]
    old: dict[str, Any] | None
    view: ClusterView
    settings: Settings

    def undecided(self, obj: dict[str, Any], before: Undecided = NOTHING) -> Undecided:
        """What is undecided of a state of the object, beside what is undecided of the states before.

        Defaults give facts more to read. So the object as it is sent is one state, and with its defaults another.
        """
        facts = before.facts.union(name for name in self._rules.fact_names if self._looks_at_unknown(name, obj))
        leaves, more = before.leaves, frozenset(self.unknown) | before.leaves
        while True:  # what is undecided makes more of it so
            facts |= self._rules.facts(self._rules.kind, more)
            undecided = Undecided(facts, leaves, before.children or self._hides_children(obj, leaves))
            defaults = (rule for rule in self.kind.policy.defaults if self._may_set(rule, obj, undecided))
            more = frozenset(rule.path.keys for rule in defaults) - leaves
            if not more:
                return undecided
            leaves |= more

    def narrowed(self, undecided: Undecided) -> Catalog:
        """The catalog without the rules and defaults of the kind that are undecided; itself if there are none."""
        values, known = self._open(undecided), self.kind
        aside = self._rules.where(lambda on: on.is_decided_wholly_by(values))
        policy = known.policy.without(aside)
        if undecided.children:
            policy = policy.with_children(lambda child: not child.facts)
        return self.catalog if policy is known.policy else self.catalog.with_kind(replace(known, policy=policy))

    @property
    def _rules(self) -> Dependences:
        return dependences_of(self.kind)

    def _open(self, undecided: Undecided) -> Open:
        return Open(undecided.leaves.union(self.unknown), undecided.facts, undecided.leaves)

    def _looks_at_unknown(self, fact: str, obj: dict[str, Any]) -> bool:
        """Whether a fact looks up objects that have an unknown name, or unknown values that it reads."""
        others = self.world.without_rules(self.catalog)
        sight = Sight(
            self.view, lambda kind, _: kind in others or self.world.hides(kind, self._rules.fields(fact, kind))
        )
        self._value(fact, obj, sight)
        return not sight.is_clear

    def _value(self, fact: str, obj: dict[str, Any], view: ClusterView) -> Any:
        definition = self.kind.facts[fact]
        settings = self.kind.completed(self.settings)
        return definition.value((self.old or {}) if definition.stored else obj, view, settings)

    def _hides_children(self, obj: dict[str, Any], leaves: Collection[Keys]) -> bool:
        """Whether what completes the children has an unknown value or name, or is itself undecided."""
        names = {name for child in self.kind.policy.children for name in child.facts}
        if not names:
            return False
        sight = Sight(self.view, lambda kind, _: kind in self.world.unknown, self._stand_ins)
        for name in sorted(names):
            self._value(name, obj, sight)
        return not sight.is_clear or any(each[0] == "spec" for each in leaves)

    @cached_property
    def _stand_ins(self) -> frozenset[str]:
        """The texts that stand for unknown values."""
        paths = (NAMES[0] if path == _METADATA else path for path in self.unknown)
        sent: Any = self.sent
        values = (reduce(getitem, path, sent) for path in paths)
        return frozenset(value for value in values if isinstance(value, str))

    def _may_set(self, rule: DefaultRule, obj: dict[str, Any], undecided: Undecided) -> bool:
        """Whether some of the unknown values make a default set its leaf, or set it to another value."""
        may = rule.path.text in self._derived or rule.replaces(rule.path.get(self.sent))
        values = self._open(undecided)
        if not may or not self._rules[rule].is_decided_wholly_by(values):
            return False
        if (
            rule.when is None
            or not rule.path.single
            or any((OBJECT, *path) in _reads_of(self.kind.policy, rule.when) for path in values.paths)
        ):
            return True
        try:
            return self._scope(obj, undecided).value(rule.when) is not False
        except CelError:
            return True

    def _scope(self, obj: dict[str, Any], undecided: Undecided) -> PolicyScope:
        """An expression that needs an undecided fact fails in it; ``false && unknown`` does not need one."""

        def fact(name: str) -> Any:
            return MISSING if name in undecided.facts else self._value(name, obj, self.view)

        metadata = obj.get("metadata") or {}
        names = {key: metadata.get(key) or "" for key in ("name", "namespace")}
        request = {"operation": "CREATE" if self.old is None else "UPDATE", "dryRun": False, **names}
        bindings = {"object": obj, "oldObject": self.old, "request": request}
        return PolicyScope(self.catalog.prepared(self.kind), bindings, fact, Budget(_BUDGET))

    @cached_property
    def _derived(self) -> Collection[str]:
        """The paths of the stored object's fields that defaults have set."""
        stamp = None if self.old is None else Stamp.read(self.old)
        return () if stamp is None else stamp.defaulted.keys()


@lru_cache(64)
def _without_rules(kinds: frozenset[GroupVersionKind], catalog: Catalog) -> frozenset[Kind]:
    ruled = {Kind(gvk.group, gvk.kind) for gvk in catalog.kinds if not catalog.uncompiled(gvk).foreign}
    unruled = (gvk for gvk in kinds if gvk not in catalog.kinds or catalog.uncompiled(gvk).foreign)
    return frozenset(Kind(gvk.group, gvk.kind) for gvk in unruled) & ruled


@lru_cache(64)
def _dependences(kind: Kind, policy: Policy) -> Dependences:
    return Dependences(kind, policy)


def dependences_of(known: KnownKind) -> Dependences:
    """What the rules of a kind depend on; remembered for its next object."""
    return _dependences(Kind(known.gvk.group, known.gvk.kind), known.policy)


@lru_cache(512)
def _reads_of(policy: Policy, expression: Expression) -> Reads:
    trees = {name: policy.variables[name].program.tree() for name in expression.variables}
    return Reads.of([expression.program.tree()], trees)
