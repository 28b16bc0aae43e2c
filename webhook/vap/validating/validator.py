"""Compiles a ValidatingAdmissionPolicy and evaluates it for one request and one param."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from webhook.cel import RUNTIME_BUDGET, Budget, BudgetExceeded
from webhook.cel.types import BOOL, NULL, STRING
from webhook.vap.compiled import Compilation, CompiledPolicy, Invocation
from webhook.vap.expressions import Evaluation, EvaluationScope, Expression
from webhook.vap.matching.conditions import ConditionError
from webhook.vap.models import ValidatingPolicy
from webhook.vap.validating.decisions import Annotation, PolicyDecision, ValidationSource, annotate, conclude, failed

__all__ = ["Validator", "ValidatorResult", "compile_validator"]


@dataclass(frozen=True, slots=True)
class ValidatorResult:
    """The decisions of one policy with one param. ``applies`` is False if a match condition is false."""

    decisions: tuple[PolicyDecision, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    applies: bool = True


_SILENT: Final = ValidatorResult(applies=False)


@dataclass(frozen=True, slots=True)
class Validator:
    """A compiled policy; thread-safe.

    ``messages`` are the messageExpressions of the validations; None for a validation without one.
    """

    compiled: CompiledPolicy
    sources: tuple[ValidationSource, ...]
    validations: tuple[Expression, ...]
    messages: tuple[Expression | None, ...]
    annotations: tuple[tuple[str, Expression], ...]

    def validate(self, invocation: Invocation) -> ValidatorResult:
        """Evaluate the policy. Errors of its expressions are never raised: failurePolicy decides.

        Validations and their messages share one cost budget; audit annotations have a second one.
        """
        try:
            if not self.compiled.applies(invocation):
                return _SILENT
        except ConditionError as error:
            return self._failed(str(error))
        bindings = invocation.bindings()
        budget = invocation.budget(RUNTIME_BUDGET)
        try:
            scope = EvaluationScope(bindings, self.compiled.variables, budget)
            evaluations = [scope.evaluate(expression) for expression in self.validations]
        except BudgetExceeded as error:
            return self._failed(error.message)
        messages, overspent = self._messages(bindings, budget)
        decisions = conclude(self.sources, evaluations, messages, ignore=self.compiled.ignore, overspent=overspent)
        try:
            return ValidatorResult(tuple(decisions), self._annotations(bindings, invocation))
        except BudgetExceeded as error:
            return self._failed(error.message)

    def expressions(self) -> list[Expression]:
        """All expressions but those of the variables."""
        messages = [each for each in self.messages if each is not None]
        annotations = [expression for _, expression in self.annotations]
        return [*self.compiled.conditions, *self.validations, *messages, *annotations]

    def _failed(self, message: str) -> ValidatorResult:
        return ValidatorResult((failed(message, ignore=self.compiled.ignore),))

    def _messages(self, bindings: dict[str, Any], budget: Budget) -> tuple[list[Evaluation | None], str]:
        """Evaluate all messages, even of validations that hold: the API server counts their cost."""
        scope = EvaluationScope(bindings, self.compiled.variables, budget)
        try:
            return [None if message is None else scope.evaluate(message) for message in self.messages], ""
        except BudgetExceeded as error:
            return [], error.message

    def _annotations(self, bindings: dict[str, Any], invocation: Invocation) -> tuple[Annotation, ...]:
        scope = EvaluationScope(bindings, self.compiled.variables, invocation.budget(RUNTIME_BUDGET))
        return tuple(
            annotate(key, expression.source, scope.evaluate(expression), ignore=self.compiled.ignore)
            for key, expression in self.annotations
        )


def compile_validator(document: ValidatingPolicy, compilation: Compilation) -> Validator:
    """Compile a policy; ``compilation.problems`` collects its errors."""
    compiled = compilation.policy(document)
    spec = document.spec
    sources, validations, messages = [], [], []
    for index, validation in enumerate(spec.validations):
        at = ("spec", "validations", index)
        sources.append(ValidationSource(validation.expression, validation.message, validation.reason))
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
    return Validator(compiled, tuple(sources), tuple(validations), tuple(messages), annotations)
