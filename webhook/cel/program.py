"""A compiled expression, and what it may cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from webhook.cel.codegen.generate import generate
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.interpreter.compiler import Compiler
from webhook.cel.interpreter.frame import COST, LIMIT, UNSET, Frame, Run, over_limit

if TYPE_CHECKING:
    from webhook.cel.codegen.generate import Generated
    from webhook.cel.interpreter.compiler import Build
    from webhook.cel.types import Type
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function
    from webhook.cel.values.nodes import Node

__all__ = [
    "MATCH_CONDITIONS_BUDGET",
    "PER_CALL_LIMIT",
    "RECURSION",
    "RUNTIME_BUDGET",
    "Budget",
    "Compiled",
    "Program",
    "build",
]

Evaluate = Callable[..., Any]

# The API server's limits (apiserver/pkg/apis/cel/config.go).
PER_CALL_LIMIT: Final = 1_000_000  # of one evaluation: about a tenth of a second in Go
RUNTIME_BUDGET: Final = 10_000_000  # of all rules of one object, or all validations of one policy binding
MATCH_CONDITIONS_BUDGET: Final = 2_500_000  # of all match conditions for one object


RECURSION: Final = 3_000
"""Python frames: the 250 levels that cel-go allows take a dozen each to compile. Only ever raised."""

sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))

_NEVER_LEFT: Final = 2**63
_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class Costed(Protocol):
    """What can tell afterwards what an evaluation has cost."""

    def cost(self, bindings: Mapping[str, Any], /) -> int: ...


class Budget:
    """What evaluations may still cost together; one for each object under review, never shared by threads.

    ``per_call`` limits each evaluation by itself. ``interrupt`` is asked now and then inside
    loops whether to give up (a deadline). An evaluation spends its cost whether it succeeds
    or not.

    The generated functions do not count: such an evaluation is noted here with the most it
    can have cost. Only when the sum of those bounds might not fit are the noted evaluations
    repeated with the closures, to know exactly. What fits they note themselves, which is a
    third of the time of a short rule: they take the bound from ``left`` and append to ``noted``.
    """

    __slots__ = ("_allowed", "_reserve", "_spent", "interrupt", "left", "noted", "per_call")

    def __init__(
        self,
        remaining: int = RUNTIME_BUDGET,
        per_call: int = PER_CALL_LIMIT,
        interrupt: Callable[[], bool] | None = None,
    ) -> None:
        self.per_call = per_call
        self.interrupt = interrupt
        self.noted: list[tuple[Costed, Mapping[str, Any]]] = []
        self._allowed = remaining
        self._spent = 0
        # No bound is above the usual limit; where it is lower every evaluation has to ask.
        self._reserve = 0 if per_call >= PER_CALL_LIMIT else _NEVER_LEFT
        self.left = remaining - self._reserve

    @property
    def remaining(self) -> int:
        """At least this remains; exact where it is not positive."""
        if self.left + self._reserve <= 0:
            self.settle()
        return self.left + self._reserve

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
        if cost > self.left + self._reserve:
            self.settle()
        self._spent += cost
        self.left -= cost
        if self.left + self._reserve < 0:
            raise BudgetExceeded(_SPENT)

    def note(self, exact: Exact, bindings: Mapping[str, Any], bound: int) -> bool:
        """Remember an evaluation that cost ``bound`` at most; False if that might be too much."""
        if bound > self.left + self._reserve:
            self.settle()
        if bound > self.left + self._reserve or bound > self.per_call:
            return False
        self.left -= bound
        self.noted.append((exact, bindings))
        return True

    def settle(self) -> None:
        """Count what was noted; it fits."""
        noted, self.noted = self.noted, []
        for exact, bindings in noted:
            self._spent += exact.cost(bindings)
        self.left = self._allowed - self._spent - self._reserve


class Exact:
    """The closures of an expression, made when they are first needed: most rules never are wrong."""

    __slots__ = ("_compile", "_compiled")

    def __init__(self, compile_: Callable[[], Compiled]) -> None:
        self._compile = compile_
        self._compiled: Compiled | None = None

    @property
    def compiled(self) -> Compiled:
        if self._compiled is None:
            self._compiled = self._compile()  # twice at the same time does no harm
        return self._compiled

    def __call__(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The value, every cost counted; as :meth:`Program.evaluate`."""
        limit, interrupt = (PER_CALL_LIMIT, None) if budget is None else (budget.per_call, budget.interrupt)
        compiled = self.compiled
        frame = compiled.frame(bindings, limit, interrupt)
        try:
            value = compiled.run(frame)
        except CelError as error:
            _settle(frame, budget)
            raise error from None
        _settle(frame, budget)
        return value

    def cost(self, bindings: Mapping[str, Any]) -> int:
        """What an evaluation costs."""
        compiled = self.compiled
        frame = compiled.frame(bindings, PER_CALL_LIMIT, None)
        with suppress(CelError):
            compiled.run(frame)
        cost: int = frame[COST]
        return cost


class Compiled(NamedTuple):
    """Closures, and the frame they run on."""

    run: Run
    slots: tuple[str, ...]
    local_slots: int

    def frame(self, bindings: Mapping[str, Any], limit: int, interrupt: Callable[[], bool] | None) -> Frame:
        values = [bindings.get(name, UNSET) for name in self.slots]
        return [0, limit, interrupt, 0, *values, *[UNSET] * self.local_slots]


class Program:
    """An expression ready to run: immutable, and safe in many threads at once.

    ``result`` is the type of its value, ``variables`` are the names it reads.

    >>> program = Environment(variables={"x": INT}).compile("x + 1")
    >>> program.evaluate({"x": 2})
    3

    ``evaluate(bindings, budget=None)`` gives the value of the expression. ``bindings`` has a
    CEL value for each variable, or raw JSON where the environment has a schema for it; what is
    in them must not change while the budget is in use. It raises ``CelError`` if the evaluation
    fails, and ``BudgetExceeded`` if it costs more than the limit of a call or the budget allow.
    ``attempt`` and ``bound`` are for :mod:`webhook.cel.group`.
    """

    __slots__ = ("attempt", "bound", "evaluate", "evaluate_exactly", "result", "source", "variables")

    evaluate: Evaluate
    evaluate_exactly: Exact

    def __init__(
        self, source: str, result: Type, variables: frozenset[str], fast: Generated | None, exact: Exact
    ) -> None:
        self.source = source
        self.result = result
        self.variables = variables
        self.evaluate = exact if fast is None else fast.evaluate
        self.attempt = None if fast is None else fast.attempt
        self.bound = None if fast is None else fast.bound
        self.evaluate_exactly = exact


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
    again: Callable[[], Checked] | None = None,
) -> Program:
    """Compile what the checker let through.

    ``functions`` are all functions of the environment; ``nodes`` the schemas of variables that
    hold raw JSON; ``make`` makes objects of its types. ``again`` checks the expression anew:
    with it, the program of an expression that has a generated function keeps nothing else.

    Raises:
        CelError: a constant part of the expression fails, so no evaluation could succeed.
    """
    compiled = _compile(checked, functions, nodes, make)
    exact = Exact(_always(compiled) if again is None else partial(_compile_again, again, functions, nodes, make))
    fast = generate(checked, functions, nodes, exact)
    if fast is None:
        exact = Exact(_always(compiled))
    return Program(checked.source, checked.result, frozenset(compiled.slots), fast, exact)


def _always(compiled: Compiled) -> Callable[[], Compiled]:
    return lambda: compiled


def _compile_again(
    again: Callable[[], Checked], functions: Mapping[str, Function], nodes: Mapping[str, Node], make: Build | None
) -> Compiled:
    return _compile(again(), functions, nodes, make)


def _compile(
    checked: Checked, functions: Mapping[str, Function], nodes: Mapping[str, Node], make: Build | None
) -> Compiled:
    compiler = Compiler(checked, functions, nodes, make)
    run = compiler.value(checked.expr)
    return Compiled(run, tuple(compiler.globals), compiler.local_slots)
