"""What unknown values decide of an object, and the catalog without the rules and defaults that depend on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from webhook.admission.stamp import ANNOTATION, Stamp
from webhook.catalog import Catalog, KnownKind
from webhook.cel import Budget, CelError
from webhook.cluster import ClusterView, Kind
from webhook.facts import inputs_of
from webhook.facts.settings import Settings
from webhook.ground.fieldpath import field_path
from webhook.library.unknown.substitution import Keys
from webhook.library.unknown.world import Watched, World, any_meet
from webhook.policy import (
    MISSING,
    OBJECT,
    DefaultRule,
    Dependence,
    Expression,
    Policy,
    PolicyScope,
    Prepared,
    Reads,
    ValidationRule,
)

__all__ = ["NOTHING", "Narrowing", "Undecided", "is_read", "tells"]

_STAMP: Final = ("metadata", "annotations", ANNOTATION)
_BUDGET: Final = 10_000_000
"""For conditions of defaults, each of which costs a few hundred at most."""


class Undecided(NamedTuple):
    """What unknown values decide of one object: facts, leaves that a default may set, and what completes its pods."""

    facts: frozenset[str] = frozenset()
    leaves: frozenset[Keys] = frozenset()
    wholes: bool = False


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
        facts = before.facts.union(name for name in self.kind.facts if self._looks_at_unknown(name, obj))
        leaves, found = before.leaves, frozenset(self.unknown) | before.leaves
        while True:  # what is undecided makes more of it so
            facts = facts.union(name for name in self.kind.facts if any_meet(found, self._inputs(name, self._own)))
            known = Undecided(facts, leaves, before.wholes or self._hides_wholes(obj, leaves))
            found = frozenset(each.path.keys for each in self._defaults if self._may_set(each, obj, known)) - leaves
            if not found:
                return known
            leaves |= found

    def narrowed(self, undecided: Undecided) -> Catalog:
        """The catalog without the rules and defaults of the kind that are undecided; itself if there are none."""
        policy, reads = self.kind.policy, self._prepared.reads
        rules = tuple(each for each in policy.validations if not self._hinders(each, reads(each), undecided))
        defaults = tuple(each for each in policy.defaults if not self._hinders_default(each, undecided))
        wholes = None if undecided.wholes else self.kind.wholes
        same = len(rules) == len(policy.validations) and len(defaults) == len(policy.defaults)
        if same and wholes is self.kind.wholes:
            return self.catalog
        policy = replace(policy, validations=rules, defaults=defaults)
        return self.catalog.with_kind(replace(self.kind, policy=policy, wholes=wholes))

    @property
    def _own(self) -> Kind:
        return Kind(self.kind.gvk.group, self.kind.gvk.kind)

    @property
    def _defaults(self) -> Sequence[DefaultRule]:
        return self.kind.policy.defaults

    def _inputs(self, fact: str, kind: Kind) -> list[Keys]:
        """The fields of a kind that a fact reads."""
        for each in self.kind.policy.references:
            if each.name == fact:
                read = [(self._own, each.named_by), (self._own, ("metadata", "namespace"))]
                read += [(Kind(each.group, each.kind), path) for _, path, *_ in each.members]
                return [path for its_kind, path in read if its_kind == kind]
        return [each.keys for each in inputs_of(self._own, fact) if each.kind == kind]

    def _looks_at_unknown(self, fact: str, obj: dict[str, Any]) -> bool:
        """Whether a fact looks up objects that have an unknown name, or unknown values that it reads."""
        watched = Watched(self.view)
        self._value(fact, obj, watched)
        return any(self.world.hides(kind, self._inputs(fact, kind)) for kind in watched.kinds)

    def _value(self, fact: str, obj: dict[str, Any], view: ClusterView) -> Any:
        definition = self.kind.facts[fact]
        return definition.value((self.old or {}) if definition.stored else obj, view, self.settings)

    def _hides_wholes(self, obj: dict[str, Any], leaves: Collection[Keys]) -> bool:
        """Whether what completes the pods has an unknown value, or is itself undecided."""
        if self.kind.wholes is None:
            return False
        watched = Watched(self.view)
        self.kind.wholes(obj, watched, self.settings)
        return any(kind in self.world.unknown for kind in watched.kinds) or any(each[0] == "spec" for each in leaves)

    def _may_set(self, rule: DefaultRule, obj: dict[str, Any], undecided: Undecided) -> bool:
        """Whether some of the unknown values make a default set its leaf, or set it to another value."""
        may = rule.path.text in self._derived or rule.replaces(rule.path.get(self.sent))
        if not may or not self._hinders_default(rule, undecided):
            return False
        if rule.when is None or self._any_read([rule.when], undecided):
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
        return PolicyScope(self._prepared, bindings, fact, Budget(_BUDGET))

    @cached_property
    def _derived(self) -> Collection[str]:
        """The paths of the stored object's fields that defaults have set."""
        stamp = None if self.old is None else Stamp.read(self.old)
        return () if stamp is None else stamp.defaulted.keys()

    @property
    def _prepared(self) -> Prepared:
        return self.catalog.prepared(self.kind)

    def _hinders(self, rule: ValidationRule, reads: Reads, undecided: Undecided) -> bool:
        """Whether a rule cannot be decided at any node."""
        paths = self._paths(undecided)
        if any(is_read(path, reads) for path in paths) or tells(self.kind.policy, rule, reads, undecided.leaves):
            return True
        covered = any(any_meet([path], [rule.at.keys]) and len(path) <= len(rule.at.keys) for path in paths)
        return covered or any(not each.facts.isdisjoint(undecided.facts) for each in rule.conditions)

    def _hinders_default(self, rule: DefaultRule, undecided: Undecided) -> bool:
        parts = [part for part in (rule.when, rule.value) if part is not None]
        if any(not part.facts.isdisjoint(undecided.facts) for part in parts):
            return True
        expressions = [part for part in parts if isinstance(part, Expression)]
        return any_meet(self._paths(undecided), [rule.path.keys]) or self._any_read(expressions, undecided)

    def _paths(self, undecided: Undecided) -> frozenset[Keys]:
        return undecided.leaves.union(self.unknown)

    def _any_read(self, expressions: Iterable[Expression], undecided: Undecided) -> bool:
        reads = [_reads_of(self.kind.policy, each) for each in expressions]
        return any(is_read(path, each) for each in reads for path in self._paths(undecided))


@lru_cache(512)
def _reads_of(policy: Policy, expression: Expression) -> Reads:
    trees = {name: policy.variables[name].program.tree() for name in expression.variables}
    return Reads.of([expression.program.tree()], trees)


def tells(policy: Policy, rule: ValidationRule, reads: Reads, leaves: Collection[Keys]) -> bool:
    """Whether a rule asks the stamp for one of the leaves: the stamp is a text, in which it looks for their names."""
    if not leaves or not is_read(_STAMP, reads):
        return False
    return any(field_path(leaf) in name or leaf[-1] == name for leaf in leaves for name in _names(policy, rule))


@lru_cache(512)
def _names(policy: Policy, rule: ValidationRule) -> frozenset[str]:
    return Dependence.of(policy, rule, texts=True).names


def is_read(path: Keys, reads: Reads) -> bool:
    """Whether a value of the object is among what expressions read."""
    return (OBJECT, *map(str, path)) in reads
