"""What a rule or default depends on: whether a field, a value or a fact concerns it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from webhook.cel.syntax import Const, Expr, Select
from webhook.cel.values import unescape
from webhook.policy.policy import DefaultRule, Expression, FactValue, Policy, ValidationRule
from webhook.policy.reads import OBJECT, SELF, Keys, Reads

__all__ = ["Dependence", "Rule", "meet"]

Rule: TypeAlias = ValidationRule | DefaultRule

_STORED: Final = frozenset({"oldSelf", "oldObject"})


def meet(one: Collection[str], other: Collection[str]) -> bool:
    """Whether one path is at, above or below the other; ``*`` is any key."""
    return all(a == b or "*" in (a, b) for a, b in zip(one, other, strict=False))


@dataclass(frozen=True, slots=True)
class Dependence:
    """``place``: the field that the rule is about. ``reads``: the paths that it reads of the object. ``names``: the
    fields that its expressions name. ``facts``: those that it reads. ``stored``: it reads the stored object.
    """

    place: Keys
    reads: Reads
    names: frozenset[str]
    facts: frozenset[str]
    stored: bool

    @classmethod
    def of(cls, policy: Policy, rule: Rule, *, texts: bool = False) -> Dependence:
        """What decides a rule; with ``texts`` also what its message needs."""
        parts = list(_parts(rule, texts=texts))
        expressions = [part for part in parts if isinstance(part, Expression)]
        needed = {name: policy.variables[name] for each in expressions for name in each.variables}
        trees = {name: each.program.tree() for name, each in needed.items()}
        own = [each.program.tree() for each in expressions]
        at = (OBJECT, *(rule.at.keys if isinstance(rule, ValidationRule) else rule.path.keys))
        reads = Reads.of(own, trees, {SELF: at, "oldSelf": at, "oldObject": (OBJECT,)})
        return cls(
            (OBJECT, *rule.about.keys),
            Reads(_written(reads.values), _written(reads.tests)),
            frozenset(name for tree in (*own, *trees.values()) for name in _names(tree)),
            frozenset(name for part in parts for name in part.facts),
            any(_STORED & set(each.program.variables) for each in (*expressions, *needed.values())),
        )

    def on_value(self, path: Keys) -> bool:
        """Whether the value at a path of the object decides the rule."""
        at = (OBJECT, *path)
        return (
            _is_above(at, self.place)
            or any(meet(at, each) for each in self.reads.values)
            or any(_is_above(at, each) for each in self.reads.tests)
        )

    def on_field(self, path: Keys) -> bool:
        """Whether the rule needs that there is a field at a path of the object."""
        at = (OBJECT, *path)
        if any(_is_above(at, each) for each in (self.place, *self.reads.values, *self.reads.tests)):
            return True
        # A part of the items of a list, or of an object that is read as a whole, is needed if it is named.
        return any(
            _is_above(each, at) and all(key in self.names for key in at[len(each) :] if key != "*")
            for each in self.reads.values
        )


def _parts(rule: Rule, *, texts: bool) -> Iterator[Expression | FactValue]:
    found = [rule.when, rule.value if isinstance(rule, DefaultRule) else rule.rule]
    if texts and isinstance(rule, ValidationRule):
        found += [rule.message_expression, rule.unseen]
    yield from (part for part in found if part is not None)


def _written(paths: Iterable[Keys]) -> set[Keys]:
    """The paths with the names of fields, not with those that expressions have for them."""
    return {tuple(unescape(key) or key for key in path) for path in paths}


def _is_above(one: Keys, other: Keys) -> bool:
    """Whether one path is at or above the other."""
    return len(one) <= len(other) and meet(one, other)


def _names(tree: Expr) -> Iterator[str]:
    for node in tree.walk():
        if isinstance(node, Select):
            yield unescape(node.field) or node.field
        elif isinstance(node, Const) and isinstance(node.value, str):
            yield node.value
