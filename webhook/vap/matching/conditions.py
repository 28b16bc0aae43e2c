"""Match conditions: whether a policy that matches a request is evaluated (``webhook/matchconditions``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webhook.vap.expressions import Evaluation

__all__ = ["ConditionError", "aggregate", "conditions_hold"]


class ConditionError(Exception):
    """The conditions cannot be evaluated, and failurePolicy is Fail."""


def conditions_hold(evaluations: Sequence[Evaluation], *, ignore: bool) -> bool:
    """Whether all conditions are true. A false condition wins over one that fails.

    Raises:
        ConditionError: a condition fails, none is false, and failures are not ignored.
    """
    if any(evaluation.error is None and evaluation.value is False for evaluation in evaluations):
        return False
    errors = [evaluation.error for evaluation in evaluations if evaluation.error is not None]
    if not errors:
        return True
    if ignore:
        return False
    raise ConditionError(aggregate(errors))


def aggregate(errors: Iterable[str]) -> str:
    """Several errors as one text, each once (``utilerrors.NewAggregate``)."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
