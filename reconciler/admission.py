"""The stamp rule: an object that the gate has not stamped is not acted upon; the gate is asked first.

Asking is a patch that changes nothing: it passes admission like every other, so the gate
fills in, stamps or refuses, and what comes back is what the API server has stored. An update
that makes nothing worse is never refused; where the object was wrong before, the gate lets it
pass with a stamp that matches nothing, and says in warnings what is wrong: a refusal to us.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reconciler.conditions import Condition
from reconciler.resource import APIResource, Key
from reconciler.writer import ApiError, Writer
from webhook.admission.stamp import UNSTAMPED, Stamp

__all__ = ["ABSENT", "NORMALISED", "REFUSED", "GateAnswer", "ask", "stamped"]

# The type of the condition that says whether the object has passed the gate.
NORMALISED = "Normalised"

REFUSED = "Refused"
ABSENT = "GateAbsent"

# Codes of a decision about the object; all other errors say nothing about it.
_DECISIONS = frozenset({400, 403, 422})

_DENIED = "denied the request"  # the API server's words around every refusal of a webhook or an admission policy


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """The object as it is stored now, and what the gate has to say about it."""

    obj: dict[str, Any]
    condition: Condition


def stamped(obj: dict[str, Any]) -> bool:
    """Whether the specification is exactly what the gate let through."""
    stamp = Stamp.read(obj)
    return stamp is not None and stamp.matches(obj)


def ask(api: Writer, resource: APIResource, obj: dict[str, Any]) -> GateAnswer:
    """The stamped object, or why there is none; raises ApiError where the API server could not be asked."""
    if stamped(obj):
        return _passed(obj)
    key = Key.of(obj)
    try:
        returned, warnings = api.merge_patch(resource, key.namespace, key.name, {})
    except ApiError as error:
        return GateAnswer(obj, _refusal(error))
    if stamped(returned):
        return _passed(returned)
    return GateAnswer(returned, _tolerated(warnings) or _absent("the gate's mutating webhook has not answered"))


def _passed(obj: dict[str, Any]) -> GateAnswer:
    return GateAnswer(obj, Condition(NORMALISED, True, "Stamped", "the specification is what the gate let through"))


def _tolerated(warnings: list[str]) -> Condition | None:
    """What the gate says of an object that may stay as it was, wrong, and is therefore not stamped."""
    reasons = [text.removeprefix(UNSTAMPED) for text in warnings if text.startswith(UNSTAMPED)]
    return Condition(NORMALISED, False, REFUSED, "\n".join(reasons)) if reasons else None


def _refusal(error: ApiError) -> Condition:
    if _is_refusal(error):
        return Condition(NORMALISED, False, REFUSED, error.message)
    if error.status >= 500:  # a webhook that fails closed and does not answer
        return _absent(error.message)
    raise error


def _is_refusal(error: ApiError) -> bool:
    if error.status == 403 and _DENIED not in error.message:
        return False  # it is we who may not patch
    return error.status in _DECISIONS


def _absent(why: str) -> Condition:
    return Condition(NORMALISED, False, ABSENT, f"not normalised, so nothing is done with it: {why}")
