"""What a rule or default depends on: whether a field, a value or a fact concerns it.

A rule is written for objects of the catalog's definition, of which all is known. Some of that may be open: the
installed definition lacks a field or accepts more values, a value is not known yet, or a fact reads such a value of
another object. This module says which rules that concerns; :class:`webhook.catalog.Dependences` adds what facts read.
What is concerned is left out by others: of a kind where a field is absent (:mod:`webhook.catalog.fitting`), and of one
review where a value is unexpected (:mod:`webhook.catalog.applies`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from webhook.admission.stamp import ANNOTATION
from webhook.cel.syntax import Const, Expr, Select
from webhook.cel.values import unescape
from webhook.ground.fieldpath import field_path
from webhook.policy.policy import DefaultRule, Policy, ValidationRule
from webhook.policy.reads import OBJECT, SELF, STORED, Expression, Keys, Reads, is_above, meet

Rule: TypeAlias = ValidationRule | DefaultRule

Place: TypeAlias = Sequence[str | int]
"""A path of an object; ``*`` is any key."""

_OLD: Final = frozenset({"oldSelf", "oldObject"})
_STAMP: Final = (OBJECT, "metadata", "annotations", ANNOTATION)


class Open(NamedTuple):
    """What is open about an object: ``paths``, and ``facts``. ``leaves`` are the paths that the stamp may name."""

    paths: Collection[Place] = ()
    facts: Collection[str] = ()
    leaves: Collection[Place] = ()


class _Named(NamedTuple):
    """What expressions read, and the fields that they name."""

    reads: Reads
    names: frozenset[str]


class Dependence:
    """What one rule of a policy reads, by the names of fields. It is looked up when it is first asked for.

    ``reads`` decide the rule, and ``texts`` its messages; what is below one of many nodes starts with
    :data:`~webhook.policy.reads.SELF`.
    """

    def __init__(self, policy: Policy, rule: Rule) -> None:
        self.rule, self._policy = rule, policy

    @cached_property
    def _deciding(self) -> _Named:
        found = self._named(self.rule.conditions)
        if isinstance(self.rule, ValidationRule):
            found.reads.tests.add((OBJECT, *self.rule.at.keys))  # without a node, the rule does not apply
        return found

    @cached_property
    def _wording(self) -> _Named:
        return self._named(self.rule.texts)

    def _named(self, parts: Sequence[Expression]) -> _Named:
        reads = self._policy.reads_of(parts, self.rule.roots)
        trees = (*(part.program.tree() for part in parts), *self._policy.variable_trees(parts).values())
        fields = frozenset(name for tree in trees for name in _names_in(tree))
        return _Named(Reads(*(set(map(_of_fields, paths)) for paths in (reads.values, reads.tests))), fields)

    @property
    def reads(self) -> Reads:
        return self._deciding.reads

    @property
    def texts(self) -> Reads:
        return self._wording.reads

    @property
    def reads_stored(self) -> bool:
        """Whether the stored object decides the rule, too."""
        conditions = self.rule.conditions
        variables = (self._policy.variables[name] for part in conditions for name in part.variables)
        return any(not _OLD.isdisjoint(part.program.variables) for part in (*conditions, *variables))

    def needs(self, absent: Open) -> bool:
        """Whether the rule or its messages need a field or a fact that is not there."""
        named = self.rule.facts.union(*(each.facts for each in self.rule.texts))
        return not named.isdisjoint(absent.facts) or any(map(self._needs_field, absent.paths))

    def _needs_field(self, path: Place) -> bool:
        values, tests = self.reads.values | self.texts.values, self.reads.tests | self.texts.tests
        if is_above(path, self.rule.about.keys):
            return True
        # A part of the items of a list, or of an object that is read as a whole, is needed if it is named.
        return any(
            any(is_above(at, each) for each in (*values, *tests))
            or any(is_above(each, at) and self._names.issuperset({*at[len(each) :]} - {"*"}) for each in values)
            for at in self._places(path)
        )

    def is_decided_by(self, values: Open) -> bool:
        """Whether something that is open, of the new or the stored object, decides the rule at one node or more."""
        return not self.rule.facts.isdisjoint(values.facts) or any(
            is_above(path, self.rule.about.keys) or any(at in self.reads for at in self._places(path))
            for path in values.paths
        )

    def _places(self, path: Place) -> Iterator[Place]:
        """What the expressions may call a path of the object."""
        yield (OBJECT, *path)
        if isinstance(self.rule, DefaultRule):
            yield (STORED, *path)
        elif is_above(self.rule.at.keys, path):
            yield (SELF, *path[len(self.rule.at.keys) :])

    def is_decided_wholly_by(self, values: Open) -> bool:
        """Whether something that is open of the new object decides the rule at each of its nodes, or what a default
        sets.
        """
        sets = isinstance(self.rule, DefaultRule) and any(meet(path, self.rule.path.keys) for path in values.paths)
        return sets or not self.rule.facts.isdisjoint(values.facts) or self._are_read(values, self.reads)

    def is_worded_by(self, values: Open) -> bool:
        """Whether something that is open of the new object makes the messages of the rule."""
        read = any(not each.facts.isdisjoint(values.facts) for each in self.rule.texts)
        return read or self._are_read(values, self.texts)

    def _are_read(self, values: Open, reads: Reads) -> bool:
        """Whether one of the paths is read, or the stamp for a leaf: it is a text that is searched for its name."""
        if any((OBJECT, *path) in reads for path in values.paths):
            return True
        if not values.leaves or _STAMP not in reads:
            return False
        return any(field_path(leaf) in name or leaf[-1] == name for leaf in values.leaves for name in self._names)

    @property
    def _names(self) -> frozenset[str]:
        """The fields and texts in its expressions: ``stamp.contains('spec.engine.minReplicas')`` asks for a leaf."""
        return self._deciding.names | self._wording.names


def _of_fields(path: Keys) -> Keys:
    """A path by the names of fields, not by those that expressions have for them."""
    return tuple(unescape(key) or key for key in path)


def _names_in(tree: Expr) -> Iterator[str]:
    for node in tree.walk():
        if isinstance(node, Select):
            yield unescape(node.field) or node.field
        elif isinstance(node, Const) and isinstance(node.value, str):
            yield node.value
