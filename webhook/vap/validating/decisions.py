"""From the values of a policy's expressions to its decisions (``policy/validating/validator.go``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from webhook.cel.values import type_name, type_of_value
from webhook.vap.expressions import Evaluation

__all__ = ["Annotation", "PolicyDecision", "ValidationSource", "annotate", "conclude", "failed"]

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
