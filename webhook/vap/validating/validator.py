"""ValidatingAdmissionPolicy: compiled, and evaluated for one request and one param."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from webhook.cel import RUNTIME_BUDGET, Budget, BudgetExceeded
from webhook.cel.types import BOOL, NULL, STRING
from webhook.vap.expressions import Evaluation, Expression, Scope
from webhook.vap.head import Compilation, Head, Invocation
from webhook.vap.matching.conditions import ConditionError
from webhook.vap.models import ValidatingPolicy
from webhook.vap.validating.decisions import Annotation, PolicyDecision, Said, annotate, conclude, failed

__all__ = ["Result", "Validator", "compile_validator"]


@dataclass(frozen=True, slots=True)
class Result:
    """What one policy says with one param; nothing where its match conditions do not hold."""

    decisions: tuple[PolicyDecision, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    applies: bool = True


_SILENT: Final = Result(applies=False)


@dataclass(frozen=True, slots=True)
class Validator:
    """A compiled policy; safe in many threads.

    ``messages`` has the messageExpression of each validation, None where there is none.
    """

    head: Head
    said: tuple[Said, ...]
    validations: tuple[Expression, ...]
    messages: tuple[Expression | None, ...]
    annotations: tuple[tuple[str, Expression], ...]

    def validate(self, invocation: Invocation) -> Result:
        """Evaluate; never raises for what the policy does, failurePolicy decides then.

        Validations and their messages share one cost budget, audit annotations have their own.
        """
        try:
            if not self.head.applies(invocation):
                return _SILENT
        except ConditionError as error:
            return self._failed(str(error))
        bindings = invocation.bindings()
        budget = invocation.budget(RUNTIME_BUDGET)
        try:
            scope = Scope(bindings, self.head.variables, budget)
            evaluations = [scope.evaluate(expression) for expression in self.validations]
        except BudgetExceeded as error:
            return self._failed(error.message)
        messages, overspent = self._messages(bindings, budget)
        decisions = conclude(self.said, evaluations, messages, ignore=self.head.ignore, overspent=overspent)
        try:
            return Result(tuple(decisions), self._annotations(bindings, invocation))
        except BudgetExceeded as error:
            return self._failed(error.message)

    def _failed(self, message: str) -> Result:
        return Result((failed(message, ignore=self.head.ignore),))

    def _messages(self, bindings: dict[str, Any], budget: Budget) -> tuple[list[Evaluation | None], str]:
        """All messages, even those that nobody will read: the API server counts what they cost."""
        scope = Scope(bindings, self.head.variables, budget)
        try:
            return [None if message is None else scope.evaluate(message) for message in self.messages], ""
        except BudgetExceeded as error:
            return [], error.message

    def _annotations(self, bindings: dict[str, Any], invocation: Invocation) -> tuple[Annotation, ...]:
        scope = Scope(bindings, self.head.variables, invocation.budget(RUNTIME_BUDGET))
        return tuple(
            annotate(key, expression.source, scope.evaluate(expression), ignore=self.head.ignore)
            for key, expression in self.annotations
        )


def compile_validator(document: ValidatingPolicy, compilation: Compilation) -> Validator:
    """Compile a policy; what is wrong with it is in ``compilation.problems`` then."""
    head = compilation.head(document)
    spec = document.spec
    said, validations, messages = [], [], []
    for index, validation in enumerate(spec.validations):
        at = ("spec", "validations", index)
        said.append(Said(validation.expression, validation.message, validation.reason))
        validations.append(compilation.expression((*at, "expression"), validation.expression, (BOOL,)))
        message = None
        if validation.messageExpression:
            place = (*at, "messageExpression")
            message = compilation.expression(place, validation.messageExpression, (STRING,), authorizer=False)
        messages.append(message)
    annotations = tuple(
        (
            annotation.key,
            compilation.expression(
                ("spec", "auditAnnotations", index, "valueExpression"), annotation.valueExpression, (STRING, NULL)
            ),
        )
        for index, annotation in enumerate(spec.auditAnnotations)
    )
    return Validator(head, tuple(said), tuple(validations), tuple(messages), annotations)
