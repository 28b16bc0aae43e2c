"""A compiled expression, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.closures import Compiler
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.steps import COST, LIMIT, UNSET, Run, over_limit

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


_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class Budget:
    """What evaluations may still cost together; one for each object under review, never shared by threads.

    ``per_call`` limits each evaluation by itself. ``interrupt`` is asked now and then inside
    loops whether to give up (a deadline). An evaluation spends its cost whether it succeeds
    or not.
    """

    __slots__ = ("interrupt", "per_call", "remaining", "spent")

    def __init__(
        self,
        remaining: int = RUNTIME_BUDGET,
        per_call: int = PER_CALL_LIMIT,
        interrupt: Callable[[], bool] | None = None,
    ) -> None:
        self.remaining = remaining
        self.per_call = per_call
        self.interrupt = interrupt
        self.spent = 0

    def spend(self, cost: int) -> None:
        """Count a cost.

        Raises:
            BudgetExceeded: if it was more than remained.
        """
        self.spent += cost
        self.remaining -= cost
        if self.remaining < 0:
            raise BudgetExceeded(_SPENT)


@dataclass(frozen=True, slots=True)
class Program:
    """An expression ready to run: immutable, and safe in many threads at once.

    >>> program = Environment(variables={"x": INT}).compile("x + 1")
    >>> program.evaluate({"x": 2})
    3
    """

    source: str
    result: Type
    variables: frozenset[str]
    _run: Run
    _slots: tuple[str, ...]
    _locals: tuple[object, ...]

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The value of the expression.

        ``bindings`` gives each variable a CEL value, or raw JSON where the environment has a
        schema for it, or a ``CelError`` to be raised when it is read.

        Raises:
            CelError: the evaluation failed.
            BudgetExceeded: it cost more than the limit of a call, or than the budget.
        """
        limit = PER_CALL_LIMIT if budget is None else budget.per_call
        interrupt = None if budget is None else budget.interrupt
        frame = [0, limit, interrupt, *[bindings.get(name, UNSET) for name in self._slots], *self._locals]
        try:
            value = self._run(frame)
        except CelError as error:
            _settle(frame, budget)
            raise error from None
        _settle(frame, budget)
        return value


def _settle(frame: list[Any], budget: Budget | None) -> None:
    if budget is not None:
        budget.spend(min(frame[COST], frame[LIMIT] + 1))
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
    compiler = Compiler(checked, functions, nodes, make)
    run = compiler.value(checked.expr)
    slots = tuple(compiler.globals)
    return Program(checked.source, checked.result, frozenset(slots), run, slots, (UNSET,) * compiler.local_slots)
