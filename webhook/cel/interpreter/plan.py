"""The interpreter's entry: plan a checked expression, as cel-go's planner does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.cel.interpreter import aggregates, attributes, calls, comprehensions
from webhook.cel.interpreter.compiler import UNSET, Compiler, Forms, Frame, MakeObject, Run
from webhook.cel.limits import DEEP_RECURSION
from webhook.cel.syntax.ast import Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr, Select, StructExpr

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function
    from webhook.cel.values.nodes import Node

FORMS: Final[Forms] = {
    Const: attributes.compile_const,
    Ident: attributes.compile_ident,
    Select: attributes.compile_select,
    Call: calls.compile_call,
    ListExpr: aggregates.compile_list,
    MapExpr: aggregates.compile_map,
    StructExpr: aggregates.compile_struct,
    Comprehension: comprehensions.compile_comprehension,
}
"""The function that compiles each kind of expression."""

_DEEP: Final = 100
"""Levels of a syntax tree, up to three Python frames each, that fit Python's usual recursion limit of 1,000."""


class Plan(NamedTuple):
    """A compiled expression and the shape of its frame: ``slots`` are its variables, ``local_slots`` count the rest."""

    run: Run
    slots: tuple[str, ...]
    local_slots: int

    def frame(self, bindings: Mapping[str, Any], limit: int, interrupt: Callable[[], bool] | None) -> Frame:
        values = [bindings.get(name, UNSET) for name in self.slots]
        return [0, limit, interrupt, 0, *values, *[UNSET] * self.local_slots]


def plan(
    checked: Checked,
    functions: Mapping[str, Function],
    nodes: Mapping[str, Node],
    make: MakeObject | None = None,
) -> Plan:
    """Compile what the checker accepted.

    Args:
        checked: the expression with its types.
        functions: all functions of the environment, by name.
        nodes: the schema of each variable that holds raw JSON.
        make: makes objects of the environment's types.

    Raises:
        CelError: a constant part of the expression fails, so no evaluation can succeed.
    """
    compiler = Compiler(checked, functions, nodes, FORMS, make)
    run = compiler.value(checked.expr)
    if len(checked.types) > _DEEP and _is_deep(checked.expr):  # as many types as nodes
        run = _recursing(run)
    return Plan(run, tuple(compiler.globals), compiler.local_slots)


def _is_deep(expr: Expr) -> bool:
    level, depth = {expr}, 0
    while level:
        level, depth = {child for parent in level for child in parent.children}, depth + 1
    return depth > _DEEP


def _recursing(run: Run) -> Run:
    def deep(frame: Frame) -> Any:
        with DEEP_RECURSION:
            return run(frame)

    return deep
