"""The stamp rule: act only on objects with a valid stamp of the gate; send any other object through the gate first.

An empty patch does that: it passes admission like any update, so the gate defaults and stamps the object or refuses it,
and the API server returns what it has stored. The gate does not refuse an update that changes nothing. If the object is
invalid, its new stamp matches nothing, and warnings name the faults: the reconciler treats that as a refusal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reconciler.conditions import Condition
from reconciler.resource import APIResource, Key
from reconciler.writer import ApiError, Writer
from webhook.admission.stamp import UNSTAMPED, Stamp

__all__ = ["ABSENT", "NORMALISED", "REFUSED", "GateAnswer", "ask", "stamped"]

# The type of the condition that reports whether the object has passed the gate.
NORMALISED = "Normalised"

REFUSED = "Refused"
ABSENT = "GateAbsent"

# HTTP codes of a decision about the object; other errors do not concern it.
_DECISIONS = frozenset({400, 403, 422})

_DENIED = "denied the request"  # part of the API server's message for a refusal of a webhook or an admission policy


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """The stored object, and the gate's decision as a condition."""

    obj: dict[str, Any]
    condition: Condition


def stamped(obj: dict[str, Any]) -> bool:
    """Whether the specification is exactly the one that the gate stamped."""
    stamp = Stamp.read(obj)
    return stamp is not None and stamp.matches(obj)


def ask(api: Writer, resource: APIResource, obj: dict[str, Any]) -> GateAnswer:
    """The stamped object, or the reason why it is not stamped; raises ApiError if the API server does not answer."""
    if stamped(obj):
        return _passed(obj)
    key = Key.of(obj)
    try:
        returned, warnings = api.merge_patch(resource, key.namespace, key.name, {})
    except ApiError as error:
        return GateAnswer(obj, _refusal(error))
    if stamped(returned):
        return _passed(returned)
    return GateAnswer(returned, _tolerated(warnings) or _absent("the mutating webhook did not run"))


def _passed(obj: dict[str, Any]) -> GateAnswer:
    return GateAnswer(
        obj, Condition(NORMALISED, True, "Stamped", "the specification is the one that the webhook stamped")
    )


def _tolerated(warnings: list[str]) -> Condition | None:
    """The faults of an object that ratcheting alone lets pass, and that is therefore not stamped."""
    reasons = [text.removeprefix(UNSTAMPED) for text in warnings if text.startswith(UNSTAMPED)]
    return Condition(NORMALISED, False, REFUSED, "\n".join(reasons)) if reasons else None


def _refusal(error: ApiError) -> Condition:
    if _is_refusal(error):
        return Condition(NORMALISED, False, REFUSED, error.message)
    if error.status >= 500:  # the webhook fails closed and does not answer
        return _absent(error.message)
    raise error


def _is_refusal(error: ApiError) -> bool:
    if error.status == 403 and _DENIED not in error.message:
        return False  # the reconciler lacks the right to patch
    return error.status in _DECISIONS


def _absent(why: str) -> Condition:
    return Condition(NORMALISED, False, ABSENT, f"not normalised, so the reconciler does not act on it: {why}")
