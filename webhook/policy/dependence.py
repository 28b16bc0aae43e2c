"""What a rule or default depends on: whether a field, a value or a fact concerns it.

A rule is written for objects of the catalog's definition, of which all is known. Some of that may be open: the
installed definition lacks a field or accepts more values, a value is not known yet, or a fact reads such a value of
another object. Here stands which rules that concerns; :class:`webhook.catalog.Dependences` adds what facts read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from webhook.admission.stamp import ANNOTATION
from webhook.cel import walk
from webhook.cel.syntax import Const, Expr, Select
from webhook.cel.values import unescape
from webhook.policy.path import field_path
from webhook.policy.policy import DefaultRule, Expression, Policy, ValidationRule
from webhook.policy.reads import OBJECT, SELF, STORED, Keys, Reads, is_above, meet

__all__ = ["Dependence", "Place", "Rule"]

Rule: TypeAlias = ValidationRule | DefaultRule

Place: TypeAlias = Sequence[str | int]
"""A path of an object; ``*`` is any key."""

_OLD: Final = frozenset({"oldSelf", "oldObject"})
_STAMP: Final = (OBJECT, "metadata", "annotations", ANNOTATION)


@dataclass(frozen=True, slots=True)
class Dependence:
    """What one rule reads, by the names of fields.

    ``reads`` decide the rule, and ``texts`` its messages; what is below one of many nodes starts with
    :data:`~webhook.policy.reads.SELF`. ``anywhere`` and ``texts_anywhere`` are the same at all nodes (``*``), of the
    new and the stored object alike. ``names`` are the fields that its expressions name. ``stored``: the stored object
    decides it, too.
    """

    rule: Rule
    reads: Reads
    texts: Reads
    anywhere: Reads
    texts_anywhere: Reads
    names: frozenset[str]
    stored: bool

    @classmethod
    def of(cls, policy: Policy, rule: Rule) -> Dependence:
        """What a rule of a policy depends on."""
        names = {name for part in (*rule.conditions, *rule.texts) for name in part.variables}
        variables = {name: policy.variables[name].program.tree() for name in names}
        conditions, messages = _trees(rule.conditions), _trees(rule.texts)
        reads, texts = (Reads.of(each, variables, rule.roots).placed(_of_fields) for each in (conditions, messages))
        node: Keys = (OBJECT,)
        if isinstance(rule, ValidationRule):
            node = (OBJECT, *rule.at.keys)
            reads.tests.add(node)  # without a node, the rule does not apply
        roots = {SELF: node, STORED: (OBJECT,)}

        def at_any_node(path: Keys) -> Keys:
            return (*roots.get(path[0], path[:1]), *path[1:])

        deciding = [*rule.conditions, *(policy.variables[name] for part in rule.conditions for name in part.variables)]
        return cls(
            rule,
            reads,
            texts,
            reads.placed(at_any_node),
            texts.placed(at_any_node),
            frozenset(name for tree in (*conditions, *messages, *variables.values()) for name in _names(tree)),
            any(_OLD & set(each.program.variables) for each in deciding),
        )

    def needs(self, fields: Collection[Place], facts: Collection[str]) -> bool:
        """Whether the rule or its messages need one of these fields of the object, or one of these facts."""
        named = self.rule.facts.union(*(each.facts for each in self.rule.texts))
        return not named.isdisjoint(facts) or any(map(self._needs_field, fields))

    def is_decided_by(self, paths: Collection[Place], facts: Collection[str]) -> bool:
        """Whether a value at one of these paths of the new or the stored object, or one of these facts, decides the
        rule for some of its nodes.
        """
        return not self.rule.facts.isdisjoint(facts) or any(
            is_above(path, self.rule.about.keys) or (OBJECT, *path) in self.anywhere for path in paths
        )

    def is_decided_wholly_by(self, paths: Collection[Place], facts: Collection[str], leaves: Collection[Place]) -> bool:
        """Whether a value at one of these paths of the new object, or one of these facts, decides the rule for all of
        its nodes, or what a default sets. ``leaves`` are those of the paths that the stamp may name.
        """
        sets = isinstance(self.rule, DefaultRule)
        return (
            not self.rule.facts.isdisjoint(facts)
            or any((sets and meet(path, self.rule.about.keys)) or (OBJECT, *path) in self.reads for path in paths)
            or self._asks_stamp_of(leaves, self.reads)
        )

    def is_worded_by(self, paths: Collection[Place], facts: Collection[str], leaves: Collection[Place]) -> bool:
        """Whether the messages of the rule need a value at one of these paths of the new object, or one of these facts.

        ``leaves`` are paths that the stamp may name.
        """
        return (
            any(not each.facts.isdisjoint(facts) for each in self.rule.texts)
            or any((OBJECT, *path) in self.texts for path in paths)
            or self._asks_stamp_of(leaves, self.texts)
        )

    def reads_stamp_of(self, leaf: Place) -> bool:
        """Whether the rule or its messages ask the stamp for a leaf."""
        return self._asks_stamp_of([leaf], self.reads) or self._asks_stamp_of([leaf], self.texts)

    def _asks_stamp_of(self, leaves: Collection[Place], reads: Reads) -> bool:
        """Whether the stamp is read for one of the leaves: it is a text, in which expressions look for their names."""
        if not leaves or _STAMP not in reads:
            return False
        return any(field_path(leaf) in name or leaf[-1] == name for leaf in leaves for name in self.names)

    def _needs_field(self, path: Place) -> bool:
        at, values = (OBJECT, *path), self.anywhere.values | self.texts_anywhere.values
        tests = self.anywhere.tests | self.texts_anywhere.tests
        if any(is_above(at, each) for each in ((OBJECT, *self.rule.about.keys), *values, *tests)):
            return True
        # A part of the items of a list, or of an object that is read as a whole, is needed if it is named.
        return any(
            is_above(each, at) and all(key in self.names for key in at[len(each) :] if key != "*") for each in values
        )


def _trees(expressions: Collection[Expression]) -> list[Expr]:
    return [each.program.tree() for each in expressions]


def _of_fields(path: Keys) -> Keys:
    """A path with the names of fields, not with those that expressions have for them."""
    return tuple(unescape(key) or key for key in path)


def _names(tree: Expr) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, Select):
            yield unescape(node.field) or node.field
        elif isinstance(node, Const) and isinstance(node.value, str):
            yield node.value
