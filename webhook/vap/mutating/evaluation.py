"""What both sorts of mutation share: they evaluate an expression, limit the size of its value, and name what fails.

An expression can refer to a value many times, and references multiply.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from webhook.cel import RUNTIME_BUDGET, BudgetExceeded
from webhook.cel.values import Opt
from webhook.vap.compiled import Invocation
from webhook.vap.expressions import EvaluationScope, Expression, VariableSet

_FIELDS = r'APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\""'


class Failure(StrEnum):
    """The texts of failed mutations: the API server's, except ``UNKNOWN_LISTS`` and ``TOO_LARGE``."""

    EXPRESSION = "{}"
    TYPE_NAMES = "type mismatch: {}"
    RESULT = "invalid return type: *dynamic.ObjectVal"
    MERGE = "error applying patch: {}"
    UNKNOWN_LISTS = (
        "error applying patch: {}: the schema of {} is unknown, so its lists cannot be merged: "
        "use a JSONPatch, or provide its CustomResourceDefinition"
    )
    TOO_LARGE = "the expression makes more than {} bytes, the most that an object may have"
    PATCH = "JSON Patch: {}"
    COPIES = (
        "JSON Patch: Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {}"
    )
    PATCH_VALUE = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {}"
    NO_KIND = "Internal error occurred: Object 'Kind' is missing in '{}'"
    NO_OBJECT = (
        "Internal error occurred: couldn't get version/kind; json parse error: "
        f"json: cannot unmarshal array into Go value of type struct {{{{ {_FIELDS} }}}}"
    )


class MutationError(Exception):
    """A mutation that cannot be made; failurePolicy decides."""

    def __init__(self, failure: Failure, *details: object) -> None:
        super().__init__(failure.format(*details))


MOST_BYTES: Final = 3 * 1024 * 1024
"""The API server stores no larger object, and lets the ``copy`` operations of a JSON Patch add no more
(``JSONPatchMaxCopyBytes`` of ``k8s.io/apiserver``)."""

_MOST_VALUES: Final = 200_000
"""Four times what an object may have that the gate judges. Counting so many takes tenths of a second."""


def size_of(value: Any) -> int:
    """Bytes of a value as compact JSON, without escapes; some number over :data:`MOST_BYTES` if it is larger.

    A value of a few references can be larger than any memory, so counting ends there, and after many values. Not
    recursive: it may be nested deeply.
    """
    size, count, nodes = 0, 0, [value]
    while nodes and size <= MOST_BYTES:
        node = nodes.pop()
        count += 1
        if count > _MOST_VALUES:
            return size + MOST_BYTES
        if isinstance(node, str | bytes):
            size += len(node) + 2
        elif isinstance(node, dict):
            size += max(4 * len(node) + 1, 2) + sum(map(len, map(str, node)))
            nodes += node.values()
        elif isinstance(node, list | tuple):
            size += max(len(node) + 1, 2)
            nodes += node
        elif isinstance(node, Opt):
            nodes.append(node.value)
        else:
            size += len(str(node))
    return size


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
