"""Expressions, and what they read: paths into the object and the facts, directly or through variables of the policy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from webhook.cel import Program
from webhook.cel.syntax import Call, Const, Expr, Ident, ListExpr, MapExpr, Select

Keys = tuple[str, ...]

OBJECT, FACTS, SELF, STORED = "object", "facts", "self", "oldObject"
"""The first keys of the paths."""

_ROOTS: Final[Mapping[str, Keys]] = {OBJECT: (OBJECT,), FACTS: (FACTS,)}


def meet(one: Sequence[str | int], other: Sequence[str | int]) -> bool:
    """Whether one path is at, above or below the other; ``*`` is any key."""
    return all(key in (another, "*") or another == "*" for key, another in zip(one, other, strict=False))


def any_meet(paths: Iterable[Sequence[str | int]], others: Collection[Sequence[str | int]]) -> bool:
    """Whether one of the paths is at, above or below one of the others."""
    return any(meet(path, other) for path in paths for other in others)


def is_above(one: Sequence[str | int], other: Sequence[str | int]) -> bool:
    """Whether one path is at or above the other."""
    return len(one) <= len(other) and meet(one, other)


@dataclass(slots=True)
class Reads:
    """The paths that some expressions read, such as ``("object", "spec", "source")``.

    ``values`` are read with everything below them. For ``tests`` only presence counts: a change below them has no
    effect.
    """

    values: set[Keys] = field(default_factory=set)
    tests: set[Keys] = field(default_factory=set)

    @classmethod
    def of(
        cls, expressions: Iterable[Expr], variables: Mapping[str, Expr], roots: Mapping[str, Keys] | None = None
    ) -> Reads:
        """The paths that the expressions read.

        Args:
            expressions: syntax trees.
            variables: the trees of the policy's variables.
            roots: further names, and the paths that they stand for.
        """
        collector = _Collector(variables, {**_ROOTS, **(roots or {})})
        for expression in expressions:
            collector.collect(expression)
        return collector.reads

    def __contains__(self, path: Sequence[str | int]) -> bool:
        """Whether setting the leaf at the path may change the result."""
        return any(is_above(path, test) for test in self.tests) or any(meet(path, value) for value in self.values)


def path_of(expression: Expr, variables: Mapping[str, Expr], roots: Mapping[str, Keys] | None = None) -> Keys | None:
    """The path that an expression is: members of a root, or of a variable that is such a path; None for another one."""
    return _Collector(variables, {**_ROOTS, **(roots or {})}).path(expression)


class _Collector:
    def __init__(self, variables: Mapping[str, Expr], roots: Mapping[str, Keys]) -> None:
        self.reads = Reads()
        self._variables, self._roots = variables, roots

    def collect(self, node: Expr) -> None:
        tested = _tested(node)
        path = self.path(tested or node)
        if path is not None:
            (self.reads.tests if tested else self.reads.values).add(path)
        elif isinstance(node, Select) and is_variable(node):
            self.collect(self._variables[node.field])
        else:
            for child in node.children:
                self.collect(child)

    def path(self, node: Expr) -> Keys | None:
        """The path of a chain of members of a root, or of a variable that is such a chain; else None."""
        if isinstance(node, Ident):
            return self._roots.get(node.name)
        if isinstance(node, Select) and not node.test_only:
            if is_variable(node):
                return self.path(self._variables[node.field])
            return _below(self.path(node.operand), node.field)
        if isinstance(node, Call) and node.function in {"_?._", "_[_]", "_[?_]"}:
            key = node.args[1]
            if isinstance(key, Const) and isinstance(key.value, str):
                return _below(self.path(node.args[0]), key.value)
        if isinstance(node, Call) and node.function == "dyn" and node.target is None:  # the same value
            return self.path(node.args[0])
        if isinstance(node, Call) and node.function == "orValue" and _is_literal(node.args[0]):
            return None if node.target is None else self.path(node.target)
        return None


def _below(path: Keys | None, key: str) -> Keys | None:
    return None if path is None else (*path, key)


def _tested(node: Expr) -> Expr | None:
    """The operand of a presence test: ``has(a.b)``, ``a.?b.hasValue()``."""
    if isinstance(node, Select) and node.test_only:
        return Select(node.pos, node.operand, node.field)
    return node.target if isinstance(node, Call) and node.function == "hasValue" else None


def is_variable(node: Select) -> bool:
    return isinstance(node.operand, Ident) and node.operand.name == "variables"


def _is_literal(node: Expr) -> bool:
    """Whether the value is a constant, or an empty list or map."""
    return isinstance(node, Const) or (
        (isinstance(node, ListExpr) and not node.elements) or (isinstance(node, MapExpr) and not node.entries)
    )


@dataclass(frozen=True, slots=True)
class Expression:
    """A program, and what it reads.

    ``variables`` are the policy's variables that it needs, directly or through others, in the order of computation.
    ``facts`` are those that it needs directly or through variables, ``named_facts`` those in its own text.
    ``local``: it reads only ``self`` and ``oldSelf``.
    """

    program: Program
    variables: tuple[str, ...]
    facts: frozenset[str]
    named_facts: tuple[str, ...]
    local: bool

    @property
    def source(self) -> str:
        return self.program.source
