"""A compiled expression, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Protocol

from webhook.cel.codegen.generate import Fast, file_name, generate, register, write
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.interpreter.compiler import COST, LIMIT, Frame, over_limit
from webhook.cel.interpreter.plan import Plan, plan
from webhook.cel.limits import DEEP_RECURSION

if TYPE_CHECKING:
    from webhook.cel.codegen.generate import Source
    from webhook.cel.syntax.ast import Expr
    from webhook.cel.types import Type
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function, ObjectMaker
    from webhook.cel.values.nodes import Node

Evaluate = Callable[..., Any]

# The API server's limits (apiserver/pkg/apis/cel/config.go).
PER_CALL_LIMIT: Final = 1_000_000  # of one evaluation: about a tenth of a second in Go
RUNTIME_BUDGET: Final = 10_000_000  # of all rules of one object, or all validations of one policy binding
MATCH_CONDITIONS_BUDGET: Final = 2_500_000  # of all match conditions for one object

_NEVER_LEFT: Final = 2**63
_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class Costed(Protocol):
    """Computes the exact cost of an evaluation afterwards."""

    def cost(self, bindings: Mapping[str, Any], /) -> int: ...


class Budget:
    """What evaluations may still cost together. Use one for each object under review, in one thread.

    ``per_call`` limits each evaluation. Loops call ``interrupt`` to learn whether to give up
    (at a deadline), and so does :meth:`look`. An evaluation spends its cost whether it succeeds or not.

    Generated functions do not count costs. They note each evaluation here with an upper bound
    of its cost. If the sum of the bounds might not fit, the interpreter repeats the noted
    evaluations to count exactly. If it fits, a generated function subtracts its bound from
    ``left`` and appends to ``noted`` itself: a method call would add half to the time of a
    short rule.
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
        # No bound exceeds the usual limit. If this limit is lower, every evaluation must call note().
        self._reserve = 0 if per_call >= PER_CALL_LIMIT else _NEVER_LEFT
        self.left = remaining - self._reserve

    @property
    def remaining(self) -> int:
        """A lower bound of what remains; exact if it is not positive."""
        if self.left + self._reserve <= 0:
            self.settle()
        return self.left + self._reserve

    @property
    def spent(self) -> int:
        """The exact cost of all evaluations so far."""
        self.settle()
        return self._spent

    def look(self) -> None:
        """Learn whether to give up.

        Raises:
            BudgetExceeded: the interrupt says so. It may raise something else.
        """
        if self.interrupt is not None and self.interrupt():
            raise BudgetExceeded("operation interrupted")

    def spend(self, cost: int) -> None:
        """Count a cost.

        Raises:
            BudgetExceeded: it is more than what remained.
        """
        if cost > self.left + self._reserve:
            self.settle()
        self._spent += cost
        self.left -= cost
        if self.left + self._reserve < 0:
            raise BudgetExceeded(_SPENT)

    def note(self, exact: Costed, bindings: Mapping[str, Any], bound: int) -> bool:
        """Note an evaluation that costs at most ``bound``; False if it might not fit."""
        if bound > self.left + self._reserve:
            self.settle()
        if bound > self.left + self._reserve or bound > self.per_call:
            return False
        self.left -= bound
        self.noted.append((exact, bindings))
        return True

    def settle(self) -> None:
        """Replace the bounds of the noted evaluations, which fit, by their exact costs."""
        noted, self.noted = self.noted, []
        for exact, bindings in noted:
            self._spent += exact.cost(bindings)
        self.left = self._allowed - self._spent - self._reserve


class Compiler(Protocol):
    """Compiles expressions: what this module knows of an :class:`~webhook.cel.Environment`, which makes programs."""

    @property
    def nodes(self) -> Mapping[str, Node]: ...

    @property
    def make(self) -> ObjectMaker | None: ...

    @property
    def remake(self) -> Callable[[], Compiler] | None: ...

    def all_functions(self) -> Mapping[str, Function]: ...

    def parse(self, source: str, /) -> Expr: ...

    def check(self, source: str, /) -> Checked: ...

    def program(self, checked: Checked, /, *, name: str) -> Program: ...


class Origin:
    """What a program is compiled from: an environment, and the text of the expression.

    The syntax tree takes many times the memory, so it is made anew where it is needed, unless it is ``kept`` for a
    batch. ``environment`` gives the environment; a stored program makes it anew, too.
    """

    __slots__ = ("environment", "expression", "kept")

    def __init__(self, environment: Callable[[], Compiler], expression: str, kept: Checked | None = None) -> None:
        self.environment = environment
        self.expression = expression
        self.kept = kept

    def __reduce__(self) -> tuple[type[Origin], tuple[Callable[[], Compiler], str]]:
        return Origin, (self.environment, self.expression)

    @property
    def functions(self) -> Mapping[str, Function]:
        return self.environment().all_functions()

    @property
    def nodes(self) -> Mapping[str, Node]:
        return self.environment().nodes

    def check(self) -> Checked:
        """The expression with its types."""
        return self.kept or self.environment().check(self.expression)

    def tree(self) -> Expr:
        """The syntax tree, without types if it is not kept."""
        kept = self.kept  # another thread may drop it
        if kept is not None:
            return kept.expr
        with DEEP_RECURSION:
            return self.environment().parse(self.expression)

    def plan(self) -> Plan:
        with DEEP_RECURSION:
            return plan(self.check(), self.functions, self.nodes, self.environment().make)

    def source(self) -> Source | None:
        """The generated function as text, None if there is none."""
        with DEEP_RECURSION:
            return write(self.check(), self.functions, self.nodes)

    def program(self, name: str) -> Program:
        return self.environment().program(self.check(), name=name)


class Exact:
    """The interpreter of an expression. It is compiled when it is first needed: most rules never need it."""

    __slots__ = ("__weakref__", "_plan", "origin")

    def __init__(self, origin: Origin, plan: Plan | None = None) -> None:
        self.origin = origin
        self._plan = plan

    @property
    def plan(self) -> Plan:
        if self._plan is None:
            self._plan = self.origin.plan()  # two threads may both do this; the results are equal
        return self._plan

    def __reduce__(self) -> tuple[type[Exact], tuple[Origin]]:
        return Exact, (self.origin,)

    def text(self) -> str | None:
        """The source of the generated function, for :mod:`webhook.cel.codegen.generate`."""
        source = self.origin.source()
        return None if source is None else source.text

    def __call__(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The value, every cost counted; as :meth:`Program.evaluate`."""
        limit, interrupt = (PER_CALL_LIMIT, None) if budget is None else (budget.per_call, budget.interrupt)
        plan = self.plan
        frame = plan.frame(bindings, limit, interrupt)
        try:
            value = plan.run(frame)
        except CelError as error:
            _settle(frame, budget)
            raise error from None
        except RecursionError:  # of a value that is nested in itself, by one variable after the other
            _settle(frame, budget)
            raise over_limit() from None
        _settle(frame, budget)
        return value

    def cost(self, bindings: Mapping[str, Any]) -> int:
        """What an evaluation costs."""
        plan = self.plan
        frame = plan.frame(bindings, PER_CALL_LIMIT, None)
        with suppress(CelError):
            plan.run(frame)
        cost: int = frame[COST]
        return cost


@lru_cache(1024)
def _one(names: frozenset[str]) -> frozenset[str]:
    """These names, as one set for all programs: each takes as much memory as the rest of a program."""
    return names


class Program:
    """An expression ready to run: immutable, and safe in many threads at once.

    ``result`` is the type of its value, ``variables`` are the names it reads.

    >>> program = Environment(variables={"x": INT}).compile("x + 1")
    >>> program.evaluate({"x": 2})
    3

    ``evaluate(bindings, budget=None)`` returns the value of the expression. ``bindings`` has a
    CEL value for each variable, or raw JSON if the environment has a schema for it; they must
    not change while the budget is in use. It raises ``CelError`` if the evaluation
    fails, and ``BudgetExceeded`` if it costs more than the limit of a call or the budget allow.
    :meth:`generated` shows the generated function.
    """

    __slots__ = ("evaluate", "evaluate_exactly", "result", "source", "variables")

    def __init__(self, source: str, result: Type, variables: frozenset[str], fast: Fast | None, exact: Exact) -> None:
        self.source = source
        self.result = result
        self.variables = _one(variables)
        self.evaluate: Evaluate = exact if fast is None else fast
        self.evaluate_exactly = exact
        if isinstance(fast, FunctionType):
            register(fast.__code__.co_filename, exact)

    def __reduce__(self) -> tuple[type[Program], tuple[Any, ...]]:
        fast = None if self.evaluate is self.evaluate_exactly else self.evaluate
        return Program, (self.source, self.result, self.variables, fast, self.evaluate_exactly)

    def make(self) -> None:
        """Make what waits for the first call."""
        if isinstance(self.evaluate, _OnDemand):
            self.evaluate.made()

    def tree(self) -> Expr:
        """The syntax tree."""
        return self.evaluate_exactly.origin.tree()

    def checked(self) -> Checked:
        """The expression with its types."""
        with DEEP_RECURSION:
            return self.evaluate_exactly.origin.check()

    def drop_tree(self) -> None:
        """Free the memory of the tree, which is made anew from now on."""
        self.evaluate_exactly.origin.kept = None

    def generated(self) -> Source | None:
        """The generated function as text, written again; None if only the interpreter runs this program."""
        is_interpreted = self.evaluate is self.evaluate_exactly
        return None if is_interpreted else self.evaluate_exactly.origin.source()


class _OnDemand:
    """A generated function that is made by its first call: most messages are never needed, and each takes 0.4 ms."""

    __slots__ = ("_evaluate", "_name", "_origin")

    def __init__(self, origin: Origin, name: str, evaluate: Evaluate | None = None) -> None:
        self._origin = origin
        self._name = name
        self._evaluate = evaluate

    def __reduce__(self) -> tuple[type[_OnDemand], tuple[Origin, str, Evaluate | None]]:
        return _OnDemand, (self._origin, self._name, self._evaluate)

    def __call__(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        return self.made()(bindings, budget)

    def made(self) -> Evaluate:
        if self._evaluate is None:
            self._evaluate = self._origin.program(self._name).evaluate  # two threads may both do this
        return self._evaluate


def _settle(frame: Frame, budget: Budget | None) -> None:
    if budget is not None:
        budget.spend(frame[COST])
    if frame[COST] > frame[LIMIT]:
        raise over_limit()


def build(
    checked: Checked, environment: Compiler, name: str = "", *, on_demand: bool = False, keep_tree: bool = False
) -> Program:
    """Compile what the checker accepted.

    Args:
        checked: the expression with its types.
        environment: it checked the expression.
        name: what tracebacks and profilers call the generated function; the expression itself by default.
        on_demand: make the generated function at the first call.
        keep_tree: keep the tree and its types until :meth:`Program.drop_tree`.

    Raises:
        CelError: a constant part of the expression fails, so no evaluation can succeed.
    """
    functions, nodes = environment.all_functions(), environment.nodes
    with DEEP_RECURSION:
        planned = plan(checked, functions, nodes, environment.make)
        origin = Origin(environment.remake or (lambda: environment), checked.source, checked if keep_tree else None)
        slots = frozenset(planned.slots)
        if on_demand:
            return Program(checked.source, checked.result, slots, _OnDemand(origin, name), Exact(origin))
        exact = Exact(origin)
        fast = generate(checked, functions, nodes, exact, file_name(name or checked.source))
    if fast is None:
        exact = Exact(origin, planned)
    return Program(checked.source, checked.result, slots, fast, exact)
