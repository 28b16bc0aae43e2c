"""What both sorts of mutation do: evaluate the expression, and apply the defaults to the mutated object."""

from __future__ import annotations

from typing import Any

from webhook.cel import RUNTIME_BUDGET, BudgetExceeded
from webhook.vap.compiled import Invocation
from webhook.vap.expressions import EvaluationScope, Expression, VariableSet
from webhook.vap.mutating.errors import Failure, MutationError
from webhook.vap.mutating.size import MOST_BYTES, size_of

__all__ = ["defaulted", "evaluate", "live_object"]


def evaluate(expression: Expression, variables: VariableSet, invocation: Invocation) -> Any:
    """The value of a mutation's expression.

    Raises:
        MutationError: the expression does not compile, fails, exceeds its budget, or makes too large a value.
    """
    if expression.program is None:
        raise MutationError(Failure.EXPRESSION, expression.error)
    scope = EvaluationScope(invocation.bindings(), variables, invocation.budget(RUNTIME_BUDGET))
    try:
        evaluation = scope.evaluate(expression)
    except BudgetExceeded as error:
        raise MutationError(Failure.EXPRESSION, error.message) from None
    if evaluation.error is not None:
        raise MutationError(Failure.EXPRESSION, evaluation.error)
    if size_of(evaluation.value) > MOST_BYTES:
        raise MutationError(Failure.TOO_LARGE, MOST_BYTES)
    return evaluation.value


def live_object(invocation: Invocation) -> dict[str, Any]:
    """The object to mutate."""
    obj = invocation.attributes.object
    assert obj is not None  # mutating policies run only on requests with an object
    return obj


def defaulted(obj: dict[str, Any], invocation: Invocation) -> dict[str, Any]:
    """The mutated object with the defaults of its schema, if the schema is known."""
    schema = invocation.context.schema(invocation.matched.kind)
    return obj if schema is None else schema.default(obj)
