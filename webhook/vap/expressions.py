"""The expressions of a policy: compiled once, evaluated with variables that are computed on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cel import Budget, BudgetExceeded, CelError, CompileFailure, Environment, Issue, Program, ResultFailure
from webhook.cel.types import DYN, Type
from webhook.vap.environments import with_variables

_PER_CALL: Final = "operation cancelled"


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression and its program. Without a program every evaluation fails, and failurePolicy decides.

    ``issues`` are the faults for the author of the policy, one sentence each; ``error`` is the API server's text.
    """

    source: str
    program: Program | None
    error: str = ""
    issues: tuple[str, ...] = ()


def compile_expression(environment: Environment, source: str, expect: Sequence[Type] = ()) -> Expression:
    """Compile an expression. Its result must have one of the types in ``expect``, if any are given."""
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
    """The name of a type, as cel-go prints it outside the checker."""
    return "null_type" if of.kind == "null" else str(of)


class VariableSet:
    """The variables of a policy, in their order: each can read the variables before it."""

    __slots__ = ("compiled", "types")

    def __init__(self) -> None:
        self.compiled: dict[str, Expression] = {}
        self.types: dict[str, Type] = {}

    def add(self, environment: Environment, name: str, source: str) -> Expression:
        """Compile and add a variable. ``environment`` is the environment of the policy's expressions."""
        expression = compile_expression(with_variables(environment, self.types), source)
        self.compiled[name] = expression
        self.types[name] = DYN if expression.program is None else _kept_type(expression.program.result)
        return expression


_KEPT: Final = frozenset(
    {"any", "bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint", "list", "map"}
)


def _kept_type(of: Type) -> Type:
    """The type that the API server keeps for a variable: scalars, lists and maps; any other type becomes dyn."""
    if of.kind not in _KEPT:
        return DYN
    return Type(of.kind, tuple(map(_kept_type, of.params))) if of.params else of


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The value of an expression, or its error in the API server's words."""

    value: Any = None
    error: str | None = None


class _Variables(Mapping[str, Any]):
    """The value of ``variables``: computes each variable once, and repeats its error."""

    def __init__(self, scope: EvaluationScope, compiled: Mapping[str, Expression]) -> None:
        self._scope = scope
        self._compiled = compiled
        self._evaluations: dict[str, Evaluation] = {}

    def __getitem__(self, name: str) -> Any:
        evaluation = self._evaluations.get(name)
        if evaluation is None:
            evaluation = self._evaluations[name] = self._scope.variable(name, self._compiled[name])
        if evaluation.error is not None:
            raise CelError(evaluation.error)
        return evaluation.value

    def __iter__(self) -> Iterator[str]:
        return iter(self._compiled)

    def __len__(self) -> int:
        return len(self._compiled)

    def __contains__(self, name: object) -> bool:
        return name in self._compiled


class EvaluationScope:
    """The bindings, variables and budget that a group of expressions shares in one request. Not thread-safe."""

    def __init__(self, bindings: Mapping[str, Any], variables: VariableSet, budget: Budget) -> None:
        self._bindings = {**bindings, "variables": _Variables(self, variables.compiled)}
        self._budget = budget

    def evaluate(self, expression: Expression) -> Evaluation:
        """The value of an expression, or its error.

        Raises:
            BudgetExceeded: the budget is spent; no further expression can be evaluated.
        """
        if expression.program is None:
            return Evaluation(error=f"compilation error: {expression.error}")
        try:
            return Evaluation(self._evaluated(expression.program))
        except BudgetExceeded as error:
            if not error.message.startswith(_PER_CALL):
                raise
            return Evaluation(error=_failed(expression, error))
        except CelError as error:
            return Evaluation(error=_failed(expression, error))

    def variable(self, name: str, expression: Expression) -> Evaluation:
        """The value of a variable, or its error. If the budget is spent, the expression that reads it raises."""
        if expression.program is None:
            return Evaluation(error=f'composited variable "{name}" fails to compile: {expression.error}')
        try:
            return Evaluation(self._evaluated(expression.program))
        except CelError as error:
            return Evaluation(error=f'composited variable "{name}" fails to evaluate: {error.message}')

    def _evaluated(self, program: Program) -> Any:
        self._budget.look()
        return program.evaluate(self._bindings, self._budget)


def _failed(expression: Expression, error: CelError) -> str:
    return f"expression '{expression.source}' resulted in error: {error.message}"
