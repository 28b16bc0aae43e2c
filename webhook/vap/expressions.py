"""Expressions of a policy: compiled once, evaluated with variables that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cel import Budget, BudgetExceeded, CelError, CompileFailure, Environment, Issue, Program, ResultFailure
from webhook.cel.types import DYN, Type
from webhook.vap.environments import with_variables

__all__ = ["Evaluation", "Expression", "Scope", "VariableSet", "compile_expression"]

_PER_CALL: Final = "operation cancelled"


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, compiled or not: one that is wrong fails whenever it is evaluated, as failurePolicy has it.

    ``issues`` says what is wrong, one sentence each, for who writes the policy; ``error`` is
    the API server's text.
    """

    source: str
    program: Program | None
    error: str = ""
    issues: tuple[str, ...] = ()


def compile_expression(environment: Environment, source: str, expect: Sequence[Type] = ()) -> Expression:
    """Compile; the result must be of one of the types of ``expect``, if there are any."""
    try:
        return Expression(source, environment.compile(source, tuple(expect) or None))
    except ResultFailure:
        return Expression(source, None, *_wrong_result(environment, source, expect))
    except CompileFailure as failure:
        return Expression(source, None, f"{failure.stage}: {failure}", tuple(map(_placed, failure.issues)))


def _placed(issue: Issue) -> str:
    return f"{issue.message} (line {issue.line}, column {issue.column + 1} of the expression)"


def _wrong_result(environment: Environment, source: str, expect: Sequence[Type]) -> tuple[str, tuple[str, ...]]:
    found = environment.check(source).result
    names = " ".join(map(_name, expect))
    message = f"must evaluate to {names if len(expect) == 1 else f'one of [{names}]'} but got {_name(found)}"
    return message, (message,)


def _name(of: Type) -> str:
    """As cel-go prints a type outside the checker."""
    return "null_type" if of.kind == "null" else str(of)


class VariableSet:
    """The variables of a policy, in their order: each sees those before it."""

    __slots__ = ("compiled", "types")

    def __init__(self) -> None:
        self.compiled: dict[str, Expression] = {}
        self.types: dict[str, Type] = {}

    def add(self, environment: Environment, name: str, source: str) -> Expression:
        """Compile and keep a variable. ``environment`` is that of the policy's expressions."""
        expression = compile_expression(with_variables(environment, self.types), source)
        self.compiled[name] = expression
        self.types[name] = DYN if expression.program is None else _declared(expression.program.result)
        return expression


_KEPT: Final = frozenset(
    {"any", "bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint", "list", "map"}
)


def _declared(of: Type) -> Type:
    """What the API server remembers of a variable's type: scalars, lists and maps; anything else is dyn."""
    if of.kind not in _KEPT:
        return DYN
    return Type(of.kind, tuple(map(_declared, of.params))) if of.params else of


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The value of an expression; or why it has none, in the API server's words."""

    value: Any = None
    error: str | None = None


class _Variables(Mapping[str, Any]):
    """``variables`` while expressions are evaluated: computes each once, and repeats its error."""

    def __init__(self, scope: Scope, compiled: Mapping[str, Expression]) -> None:
        self._scope = scope
        self._compiled = compiled
        self._known: dict[str, Evaluation] = {}

    def __getitem__(self, name: str) -> Any:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._scope.variable(name, self._compiled[name])
        if known.error is not None:
            raise CelError(known.error)
        return known.value

    def __iter__(self) -> Iterator[str]:
        return iter(self._compiled)

    def __len__(self) -> int:
        return len(self._compiled)

    def __contains__(self, name: object) -> bool:
        return name in self._compiled


class Scope:
    """What a group of expressions sees in one request: bindings, variables, a budget. Not for several threads."""

    def __init__(self, bindings: Mapping[str, Any], variables: VariableSet, budget: Budget) -> None:
        self._bindings = {**bindings, "variables": _Variables(self, variables.compiled)}
        self._budget = budget

    def evaluate(self, expression: Expression) -> Evaluation:
        """The value of an expression, or its error.

        Raises:
            BudgetExceeded: nothing more can be evaluated here.
        """
        if expression.program is None:
            return Evaluation(error=f"compilation error: {expression.error}")
        try:
            return Evaluation(expression.program.evaluate(self._bindings, self._budget))
        except BudgetExceeded as error:
            if not error.message.startswith(_PER_CALL):
                raise
            return Evaluation(error=_failed(expression, error))
        except CelError as error:
            return Evaluation(error=_failed(expression, error))

    def variable(self, name: str, expression: Expression) -> Evaluation:
        """The value of a variable. That the budget is spent is found when who reads it is accounted for."""
        if expression.program is None:
            return Evaluation(error=f'composited variable "{name}" fails to compile: {expression.error}')
        try:
            return Evaluation(expression.program.evaluate(self._bindings, self._budget))
        except CelError as error:
            return Evaluation(error=f'composited variable "{name}" fails to evaluate: {error.message}')


def _failed(expression: Expression, error: CelError) -> str:
    return f"expression '{expression.source}' resulted in error: {error.message}"
