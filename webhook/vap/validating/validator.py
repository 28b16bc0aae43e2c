"""Compiles a ValidatingAdmissionPolicy and evaluates it for one request and one param (``validating/validator.go``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from webhook.cel import RUNTIME_BUDGET, Budget, BudgetExceeded
from webhook.cel.types import BOOL, NULL, STRING
from webhook.cel.values import type_name, type_of_value
from webhook.vap.compiled import Compilation, CompiledPolicy, ConditionError, Invocation
from webhook.vap.expressions import Evaluation, EvaluationScope, Expression
from webhook.vap.models import ValidatingPolicy

_MESSAGE_LIMIT: Final = 5 * 1024
"""Bytes of an evaluated message (``celconfig.MaxEvaluatedMessageExpressionSizeBytes``)."""


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The outcome of one validation. ``reason`` is a StatusReason; "" if the policy could not be evaluated."""

    action: Literal["admit", "deny"]
    evaluation: Literal["admit", "deny", "error"]
    message: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """An audit annotation. ``error`` is the reason of the action "error"."""

    key: str
    action: Literal["publish", "exclude", "error"]
    value: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class ValidationSource:
    """The texts of a validation in the policy."""

    expression: str
    message: str = ""
    reason: str | None = None


def failed(message: str, *, ignore: bool) -> PolicyDecision:
    """The decision of a policy that cannot be evaluated."""
    return PolicyDecision("admit" if ignore else "deny", "error", message)


def conclude(
    sources: Sequence[ValidationSource],
    evaluations: Sequence[Evaluation],
    messages: Sequence[Evaluation | None],
    *,
    ignore: bool,
    overspent: str = "",
) -> list[PolicyDecision]:
    """One decision for each validation.

    ``messages`` are the values of the messageExpressions; None for a validation without one. If the budget ended
    before them, ``overspent`` is the error and ``messages`` is empty.
    """
    decisions = []
    for index, (validation, evaluation) in enumerate(zip(sources, evaluations, strict=True)):
        message = messages[index] if index < len(messages) else None
        if evaluation.error is not None:
            decisions.append(failed(evaluation.error, ignore=ignore))
        elif overspent:
            decisions.append(failed(f"failed messageExpression: {overspent}", ignore=ignore))
        elif evaluation.value is True:
            decisions.append(PolicyDecision("admit", "admit"))
        else:
            text = _message(validation, message)
            decisions.append(PolicyDecision("deny", "deny", text, validation.reason or "Invalid"))
    return decisions


def _message(validation: ValidationSource, evaluated: Evaluation | None) -> str:
    """The evaluated message if it is one short line, else the written message, else the expression."""
    text = ""
    if evaluated is not None and isinstance(evaluated.value, str):
        text = evaluated.value.strip()
        if "\n" in text or len(text.encode()) > _MESSAGE_LIMIT:
            text = ""
    return text or validation.message.strip() or f"failed expression: {validation.expression.strip()}"


def annotate(key: str, expression: str, evaluation: Evaluation, *, ignore: bool) -> Annotation:
    """The audit annotation of an evaluated valueExpression; null and a blank text exclude it."""
    if evaluation.error is not None:
        return Annotation(key, "exclude" if ignore else "error", error=evaluation.error)
    value = evaluation.value
    if value is None:
        return Annotation(key, "exclude")
    if isinstance(value, str):
        text = value.strip()
        return Annotation(key, "publish", text) if text else Annotation(key, "exclude")
    found = type_name(type_of_value(value))
    wanted = "Return type must be either string or null."
    error = f"valueExpression '{expression}' resulted in unsupported return type: {found}. {wanted}"
    return Annotation(key, "error", error=error)


@dataclass(frozen=True, slots=True)
class ValidatorResult:
    """The decisions of one policy with one param. ``applies`` is False if a match condition is false."""

    decisions: tuple[PolicyDecision, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    applies: bool = True

    def without_errors(self) -> ValidatorResult:
        """What has been evaluated."""
        decisions = tuple(decision for decision in self.decisions if decision.evaluation != "error")
        return replace(self, decisions=decisions, annotations=tuple(a for a in self.annotations if a.action != "error"))


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
