"""Estimates the cost of an expression before it runs.

The API server refuses rules that could be too expensive for an object that its schema allows.
As cel-go's ``checker/cost.go``, the estimator computes for every part its cost and, if possible,
the size of its value. ``maxLength``, ``maxItems`` and ``maxProperties`` bound the size of a field;
without them, the size of a request does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from webhook.cel.cost.calls import STANDARD, CallEstimate, Operand, Operands
from webhook.cel.cost.libraries import EXTENSIONS, KUBERNETES
from webhook.cel.cost.runtime import LIST_CREATE, MAP_CREATE, STRUCT_CREATE
from webhook.cel.cost.sizes import MAX, ZERO, Bounds, Entries, Local, Sizes, fixed
from webhook.cel.syntax.ast import Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr, Select, StructExpr
from webhook.cel.syntax.macros import ACCUMULATOR

if TYPE_CHECKING:
    from webhook.cel.cost.sizes import SizeHint
    from webhook.cel.typing.checker import Checked

_ONE = fixed(1)
_OPTIONAL_SELECT = "select_optional_field"


def estimate(checked: Checked, hint: SizeHint) -> Bounds:
    """The minimal and maximal cost of evaluating the expression.

    ``hint`` returns the sizes that the variables' schemas declare; other sizes are unbounded.
    """
    return Estimator(checked, Sizes(checked, hint)).cost(checked.expr)


class Estimator:
    """The cost of the parts of one expression, by the sizes of values."""

    def __init__(self, checked: Checked, sizes: Sizes) -> None:
        self.checked = checked
        self.sizes = sizes
        self.costs: dict[Expr, Bounds] = {}

    def cost(self, expr: Expr) -> Bounds:
        """The cost of a node, computed once, even if a macro uses the node twice (and pays twice)."""
        found = self.costs.get(expr)
        if found is None:
            found = self.costs[expr] = self._COSTS[type(expr)](self, expr)
        return found

    def _const(self, _expr: Const) -> Bounds:
        return ZERO

    def _ident(self, expr: Ident) -> Bounds:
        local = self.sizes.local(expr.name)
        self.sizes.paths[expr] = (expr.name,) if local is None else local.path
        return _ONE

    def _select(self, expr: Select) -> Bounds:
        reference = self.checked.references.get(expr)
        if reference is not None:  # a name with dots
            self.sizes.paths[expr] = (reference.name,)
            return _ONE
        cost = self.cost(expr.operand)
        if expr.test_only:
            return cost  # has() is free: Kubernetes sets PresenceTestHasCost(false)
        self.sizes.paths[expr] = (*self.sizes.path(expr.operand), expr.field)
        return cost.plus(_ONE) if self.checked.types[expr.operand].kind in ("map", "object") else cost

    # Calls

    def _call(self, expr: Call) -> Bounds:
        reference = self.checked.references.get(expr)
        if expr.function == "dyn" and expr.target is None:
            cost = _ONE.plus(self.cost(expr.args[0]))
            self.sizes.set(expr, self.sizes.size(expr.args[0]), self.sizes.entries(expr.args[0]))
            return cost
        costs: list[Bounds] = []
        operands: list[Operand] = []
        for arg in expr.args:
            costs.append(self.cost(arg))
            operands.append(self._operand(arg))
        if reference is None:
            return ZERO
        receiver = ZERO
        if expr.target is not None and not reference.namespaced:
            receiver = self.cost(expr.target)
            operands.insert(0, self._operand(expr.target))
        ids = [overload.id for overload in reference.overloads] or [_OPTIONAL_SELECT]
        return receiver.plus(self._dispatch(expr, reference.name, ids, operands, costs))

    def _dispatch(
        self,
        expr: Call,
        function: str,
        ids: Sequence[str],
        operands: Operands,
        costs: Sequence[Bounds],
    ) -> Bounds:
        total = Bounds(MAX, 0)
        size: Bounds | None = None
        for overload in ids:
            found = self._overload(expr, function, overload, operands, costs)
            total = total.union(found.cost)
            if found.result is not None:
                size = found.result if size is None else size.union(found.result)
            if overload in ("index_list", "index_map") and operands:
                size = self._index(expr, operands[0].expr, "@items" if overload == "index_list" else "@values")
            if size is None:
                size = self.sizes.size(expr)
        self.sizes.set(expr, size)
        return total

    def _index(self, expr: Call, container: Expr, step: str) -> Bounds | None:
        self.sizes.paths[expr] = (*self.sizes.path(container), step)
        entries = self.sizes.entries(container)
        return None if entries is None else entries.value

    def _overload(
        self,
        expr: Call,
        function: str,
        overload: str,
        operands: Operands,
        costs: Sequence[Bounds],
    ) -> CallEstimate:
        if overload in ("logical_and", "logical_or"):
            return CallEstimate(Bounds(costs[0].min, costs[0].plus(costs[1]).max))
        if overload == "conditional":
            self._union_entries(expr, operands[1].expr, operands[2].expr)
            size = operands[1].known_size.union(operands[2].known_size)
            return CallEstimate(costs[0].plus(costs[1].union(costs[2])), size)
        found = _estimate_call(function, overload, operands)
        if overload in ("add_string", "add_bytes", "add_list"):
            self._union_entries(expr, operands[0].expr, operands[1].expr)
        total = found.cost
        for cost in costs:
            total = total.plus(cost)
        return CallEstimate(total, found.result)

    def _union_entries(self, expr: Expr, one: Expr, other: Expr) -> None:
        first, second = self.sizes.entries(one), self.sizes.entries(other)
        if first is not None and second is not None:
            self.sizes.entry_sizes[expr] = first.union(second)

    def _operand(self, expr: Expr) -> Operand:
        of = self.checked.types[expr]
        path = self.sizes.path(expr)
        path = () if path and path[0] in (ACCUMULATOR, "__result__") else path
        items = self.sizes.hint((*path, "@items") if path else (), of.params[0]) if of.params else None
        return Operand(expr, of, self.sizes.size(expr), items)

    # Literals

    def _list(self, expr: ListExpr) -> Bounds:
        total, item = fixed(LIST_CREATE), Bounds(MAX if expr.elements else 0, 0)
        for element in expr.elements:
            total = total.plus(self.cost(element))
            item = item.union(self.sizes.known_size(element))
        self.sizes.entry_sizes[expr] = Entries("list", _ONE, item)
        return total

    def _map(self, expr: MapExpr) -> Bounds:
        total = fixed(MAP_CREATE)
        key_size = value_size = Bounds(MAX if expr.entries else 0, 0)
        for entry in expr.entries:
            assert isinstance(entry.key, Expr)
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key_size = key_size.union(self.sizes.known_size(entry.key))
            value_size = value_size.union(self.sizes.known_size(entry.value))
        self.sizes.entry_sizes[expr] = Entries("map", key_size, value_size)
        return total

    def _struct(self, expr: StructExpr) -> Bounds:
        total = fixed(STRUCT_CREATE)
        for entry in expr.entries:
            total = total.plus(self.cost(entry.value))
        return total

    # Macros

    def _comprehension(self, expr: Comprehension) -> Bounds:
        sizes = self.sizes
        total = self.cost(expr.iter_range).plus(self.cost(expr.accu_init))
        init = expr.accu_init
        accumulator = {expr.accu_var: Local(sizes.path(init), sizes.size(init), sizes.entries(init))}
        if _is_binding(expr):
            with sizes.scope(accumulator):
                total = total.plus(self.cost(expr.result))
            sizes.set(expr, sizes.size(expr.result), sizes.entries(expr.result))
            return total
        with sizes.scope(accumulator):
            with sizes.scope(self._loop_variables(expr)):
                once = self.cost(expr.loop_condition).plus(self.cost(expr.loop_step))
            total = total.plus(self.cost(expr.result))
        count = sizes.count(expr.iter_range)
        if isinstance(init, Const):
            sizes.set(expr, sizes.size(init))
        elif isinstance(init, (ListExpr, MapExpr)):
            sizes.set(expr, count, sizes.entries(expr.loop_step))
        return total.plus(self.rounds(count, once))

    def rounds(self, count: Bounds, once: Bounds) -> Bounds:
        """The cost of a loop whose step costs ``once``."""
        return count.times(once)

    def _loop_variables(self, expr: Comprehension) -> dict[str, Local]:
        entries = self.sizes.entries(expr.iter_range)
        kind = entries.kind if entries else self.checked.types[expr.iter_range].kind
        path = self.sizes.path(expr.iter_range)
        key_size, value_size = (entries.key, entries.value) if entries else (None, None)
        key = Local((*path, "@indices" if kind == "list" else "@keys"), key_size)
        value = Local((*path, "@items" if kind == "list" else "@values"), value_size)
        if expr.iter_var2 is not None:
            return {expr.iter_var: key, expr.iter_var2: value}
        return {expr.iter_var: value if kind == "list" else key}

    _COSTS: ClassVar[Mapping[type[Expr], Callable[[Estimator, Any], Bounds]]] = {
        Const: _const,
        Ident: _ident,
        Select: _select,
        Call: _call,
        ListExpr: _list,
        MapExpr: _map,
        StructExpr: _struct,
        Comprehension: _comprehension,
    }


def _estimate_call(function: str, overload: str, operands: Operands) -> CallEstimate:
    for estimator in (EXTENSIONS.get(overload), KUBERNETES.get(function), STANDARD.get(overload)):
        found = estimator(overload, operands) if estimator is not None else None
        if found is not None:
            return found
    return CallEstimate(_ONE)


def _is_binding(expr: Comprehension) -> bool:
    """Whether the comprehension has an empty range and only names a value (optMap, sortBy)."""
    is_empty = isinstance(expr.iter_range, ListExpr) and not expr.iter_range.elements
    never = isinstance(expr.loop_condition, Const) and expr.loop_condition.value is False
    return is_empty and never and expr.accu_var != "__result__"
