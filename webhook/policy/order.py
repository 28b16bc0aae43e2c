"""The order of defaults: each comes after those that it reads. A cycle is an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from webhook.cel.syntax.ast import Call, Const, Expr, Ident, Select
from webhook.cel.typing.literals import children

__all__ = ["Reads", "in_order"]

Keys = tuple[str, ...]


@dataclass(slots=True)
class Reads:
    """The paths that some expressions read.

    ``values`` are read with everything below them. For ``tests`` only presence counts: a change below them has no
    effect.
    """

    values: set[Keys] = field(default_factory=set)
    tests: set[Keys] = field(default_factory=set)

    @classmethod
    def of(cls, expressions: Iterable[Expr], variables: Mapping[str, Expr], at: Keys = ()) -> Reads:
        """The paths that the expressions read, directly or through variables of the policy; ``self`` is ``at``."""
        reads = cls()
        for expression in expressions:
            reads._collect(expression, variables, at)
        return reads

    def __contains__(self, path: Keys) -> bool:
        """Whether setting the leaf at the path may change the result."""
        if any(test[: len(path)] == path for test in self.tests):
            return True
        return any(value[: len(path)] == path or path[: len(value)] == value for value in self.values)

    def _collect(self, node: Expr, variables: Mapping[str, Expr], at: Keys) -> None:
        tested = _tested(node)
        path = _path(tested or node, variables, at)
        if path is not None:
            (self.tests if tested else self.values).add(path)
        elif isinstance(node, Select) and _is_variable(node):
            self._collect(variables[node.field], variables, at)
        else:
            for child in children(node):
                self._collect(child, variables, at)


def in_order(rules: Sequence[tuple[Keys, Reads]]) -> list[int]:
    """The indices of the rules, each (the path it sets, what it reads) after those it depends on.

    Independent rules keep their order. ``graphlib.CycleError`` names the indices of a cycle.
    """
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for index, (path, reads) in enumerate(rules):
        inputs = [other for other, (set_there, _) in enumerate(rules) if set_there != path and set_there in reads]
        sorter.add(index, *inputs)
    sorter.prepare()
    found: list[int] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        found += ready
        sorter.done(*ready)
    return found


def _path(node: Expr, variables: Mapping[str, Expr], at: Keys) -> Keys | None:
    """The path of a chain of members of ``object`` or ``self``, or of a variable that is such a chain; else None."""
    if isinstance(node, Ident):
        return () if node.name == "object" else at if node.name == "self" else None
    if isinstance(node, Select):
        if _is_variable(node):
            return _path(variables[node.field], variables, at)
        above = _path(node.operand, variables, at)
        return None if above is None else (*above, node.field)
    if isinstance(node, Call) and node.function in {"_?._", "_[_]", "_[?_]"}:
        above = _path(node.args[0], variables, at)
        key = node.args[1]
        if above is None or not isinstance(key, Const) or not isinstance(key.value, str):
            return None
        return (*above, key.value)
    return None


def _tested(node: Expr) -> Expr | None:
    """The operand of a presence test: ``has(a.b)``, ``a.?b.hasValue()``."""
    if isinstance(node, Select) and node.test_only:
        return Select(node.pos, node.operand, node.field)
    return node.target if isinstance(node, Call) and node.function == "hasValue" else None


def _is_variable(node: Select) -> bool:
    return isinstance(node.operand, Ident) and node.operand.name == "variables"
