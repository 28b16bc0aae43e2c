"""A compiled expression, and what it may cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.closures import Compiler
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.srcgen import Fast, generate
from webhook.cel.steps import COST, LIMIT, UNSET, Frame, Run, over_limit

if TYPE_CHECKING:
    from webhook.cel.access import Node
    from webhook.cel.checker import Checked
    from webhook.cel.closures import Build
    from webhook.cel.declarations import Function
    from webhook.cel.types import Type

__all__ = ["MATCH_CONDITIONS_BUDGET", "PER_CALL_LIMIT", "RUNTIME_BUDGET", "Budget", "Program", "build"]

# The API server's limits (apiserver/pkg/apis/cel/config.go).
PER_CALL_LIMIT: Final = 1_000_000  # of one evaluation: about a tenth of a second in Go
RUNTIME_BUDGET: Final = 10_000_000  # of all rules of one object, or all validations of one policy binding
MATCH_CONDITIONS_BUDGET: Final = 2_500_000  # of all match conditions for one object


_RECURSION: Final = 3_000
"""Python frames: the 250 levels that cel-go allows take a dozen each to compile. Only ever raised."""

_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class Budget:
    """What evaluations may still cost together; one for each object under review, never shared by threads.

    ``per_call`` limits each evaluation by itself. ``interrupt`` is asked now and then inside
    loops whether to give up (a deadline). An evaluation spends its cost whether it succeeds
    or not.

    The generated functions do not count: such an evaluation is noted here with the most it
    can have cost. Only when the sum of those bounds might not fit are the noted evaluations
    repeated with the closures, to know exactly.
    """

    __slots__ = ("_bound", "_noted", "_remaining", "_spent", "interrupt", "per_call")

    def __init__(
        self,
        remaining: int = RUNTIME_BUDGET,
        per_call: int = PER_CALL_LIMIT,
        interrupt: Callable[[], bool] | None = None,
    ) -> None:
        self.per_call = per_call
        self.interrupt = interrupt
        self._remaining = remaining
        self._spent = 0
        self._bound = 0  # the sum of the bounds of what was noted
        self._noted: list[tuple[Program, Mapping[str, Any]]] = []

    @property
    def remaining(self) -> int:
        """At least this remains; exact where it is not positive."""
        if self._bound >= self._remaining:
            self.settle()
        return self._remaining - self._bound

    @property
    def spent(self) -> int:
        """The exact cost of all evaluations so far."""
        self.settle()
        return self._spent

    def spend(self, cost: int) -> None:
        """Count a cost.

        Raises:
            BudgetExceeded: if it was more than remained.
        """
        if self._bound + cost > self._remaining:
            self.settle()
        self._spent += cost
        self._remaining -= cost
        if self._remaining < 0:
            raise BudgetExceeded(_SPENT)

    def note(self, program: Program, bindings: Mapping[str, Any], bound: int) -> None:
        """Remember an evaluation that cost ``bound`` at most, which must fit."""
        self._noted.append((program, bindings))
        self._bound += bound

    def settle(self) -> None:
        """Count what was noted; it fits."""
        noted, self._noted, self._bound = self._noted, [], 0
        for program, bindings in noted:
            cost = program.cost(bindings)
            self._spent += cost
            self._remaining -= cost


class Program:
    """An expression ready to run: immutable, and safe in many threads at once.

    >>> program = Environment(variables={"x": INT}).compile("x + 1")
    >>> program.evaluate({"x": 2})
    3
    """

    __slots__ = ("_bound", "_exact", "_fast", "_locals", "_slots", "result", "source", "variables")

    source: str
    result: Type
    variables: frozenset[str]

    def __init__(
        self, source: str, result: Type, slots: tuple[str, ...], local_slots: int, exact: Run, fast: Fast | None
    ) -> None:
        self.source = source
        self.result = result
        self.variables = frozenset(slots)
        self._slots = slots
        self._locals = (UNSET,) * local_slots
        self._exact = exact
        self._fast = None if fast is None else fast.run
        self._bound = None if fast is None else fast.bound

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The value of the expression.

        ``bindings`` gives each variable a CEL value, or raw JSON where the environment has a
        schema for it. They must not change while the budget is in use.

        Raises:
            CelError: the evaluation failed.
            BudgetExceeded: it cost more than the limit of a call, or than the budget.
        """
        fast = self._fast
        if fast is None:
            return self.evaluate_exactly(bindings, budget)
        bound = self._bound
        limit = PER_CALL_LIMIT if budget is None else min(budget.per_call, budget.remaining)
        try:
            if bound is None:
                value, left = fast(bindings, limit)
                bound = limit - left
            else:
                value = fast(bindings)
        except Exception:  # noqa: BLE001 - whatever it is, the closures know what it means
            return self.evaluate_exactly(bindings, budget)
        if bound > limit:
            return self.evaluate_exactly(bindings, budget)
        if budget is not None:
            budget.note(self, bindings, bound)
        return value

    def evaluate_exactly(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """As :meth:`evaluate`, by the closures, counting every cost."""
        limit = PER_CALL_LIMIT if budget is None else budget.per_call
        interrupt = None if budget is None else budget.interrupt
        frame = self._frame(bindings, limit, interrupt)
        try:
            value = self._exact(frame)
        except CelError as error:
            _settle(frame, budget)
            raise error from None
        _settle(frame, budget)
        return value

    def cost(self, bindings: Mapping[str, Any]) -> int:
        """What an evaluation costs."""
        frame = self._frame(bindings, PER_CALL_LIMIT, None)
        with suppress(CelError):
            self._exact(frame)
        cost: int = frame[COST]
        return cost

    def _frame(self, bindings: Mapping[str, Any], limit: int, interrupt: Callable[[], bool] | None) -> Frame:
        return [0, limit, interrupt, *[bindings.get(name, UNSET) for name in self._slots], *self._locals]


def _settle(frame: Frame, budget: Budget | None) -> None:
    if budget is not None:
        budget.spend(frame[COST])
    if frame[COST] > frame[LIMIT]:
        raise over_limit()


def build(
    checked: Checked,
    functions: Mapping[str, Function],
    nodes: Mapping[str, Node] = MappingProxyType({}),
    make: Build | None = None,
) -> Program:
    """Compile what the checker let through.

    ``functions`` are all functions of the environment; ``nodes`` the schemas of variables that
    hold raw JSON; ``make`` makes objects of its types.

    Raises:
        CelError: a constant part of the expression fails, so no evaluation could succeed.
    """
    if sys.getrecursionlimit() < _RECURSION:
        sys.setrecursionlimit(_RECURSION)
    compiler = Compiler(checked, functions, nodes, make)
    run = compiler.value(checked.expr)
    fast = generate(checked, functions, nodes)
    return Program(checked.source, checked.result, tuple(compiler.globals), compiler.local_slots, run, fast)
