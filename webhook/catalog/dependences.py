"""Which rules do not apply, because something that they read is open: the one question about a kind that is installed,
stored or written otherwise than its rules expect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

from webhook.cluster import ClusterView, Kind
from webhook.facts import inputs_of
from webhook.policy import Dependence, Keys, Place, Policy, Rule, any_meet

__all__ = ["Dependences", "Sight"]


class Dependences:
    """What the rules and the facts of a kind depend on. A rule is looked at once, when it is first asked about."""

    def __init__(self, kind: Kind, policy: Policy) -> None:
        self.kind, self.policy = kind, policy
        self._of_rules: dict[Rule, Dependence] = {}

    def of(self, policy: Policy) -> Dependences:
        """The same for some of the rules."""
        found = Dependences(self.kind, policy)
        found._of_rules = self._of_rules
        return found

    def __getitem__(self, rule: Rule) -> Dependence:
        found = self._of_rules.get(rule)
        if found is None:
            found = self._of_rules[rule] = Dependence.of(self.policy, rule)
        return found

    def where(self, concerns: Callable[[Dependence], bool]) -> frozenset[Rule]:
        """The rules and defaults that something concerns."""
        return frozenset(rule for rule in self.policy.rules if concerns(self[rule]))

    def facts(self, kind: Kind, fields: Collection[Place]) -> frozenset[str]:
        """The facts that read one of these fields of a kind."""
        return frozenset(name for name in self.fact_names if any_meet(fields, self.fields(name, kind)))

    @cached_property
    def fact_names(self) -> frozenset[str]:
        """The facts that rules or their messages read."""
        read = (each.facts for rule in self.policy.rules for each in (rule, *rule.texts))
        return frozenset[str]().union(*read)

    def fields(self, fact: str, kind: Kind) -> list[Keys]:
        """The fields of a kind that a fact reads."""
        return [keys for its_kind, keys in self.inputs(fact) if its_kind == kind]

    def inputs(self, fact: str) -> Sequence[tuple[Kind, Keys]]:
        """The fields that a fact reads, of this kind and of others."""
        for each in self.policy.references:
            if each.name == fact:
                named = [(self.kind, each.named_by), (self.kind, ("metadata", "namespace"))]
                return named + [(Kind(each.group, each.kind), path) for _, path, *_ in each.members]
        return inputs_of(self.kind, fact)


class Sight:
    """A view for one fact. ``is_clear`` until an object is looked at that hides something from it.

    ``hides`` is asked about a kind and the objects that the view gives, of which there may be none.
    """

    def __init__(self, view: ClusterView, hides: Callable[[Kind, Iterable[dict[str, Any]]], bool]) -> None:
        self._view, self._hides = view, hides
        self.is_clear = True

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        found = self._view.get(kind, namespace, name)
        self._look(kind, () if found is None else (found,))
        return found

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        found = self._view.list(kind, namespace)
        self._look(kind, found)
        return found

    def _look(self, kind: Kind, objects: Iterable[dict[str, Any]]) -> None:
        self.is_clear = self.is_clear and not self._hides(kind, objects)
