"""The stamp rule: act only on objects whose stamp the gate itself would write; send any other through the gate first.

A stamp has no key, so an annotation alone proves nothing. Before the reconciler acts on a stamp that it has not
verified, it sends a patch with ``dryRun=All`` that removes the stamp. The gate writes it anew, and the API server
returns it. If the mutating webhook does not run, no stamp comes back, and a forged one cannot take its place. If the
stored object has another stamp, an empty patch sends it through the gate in earnest.

The gate does not refuse an update that changes nothing. If the object is invalid, its new stamp matches nothing, and
warnings name the faults: the reconciler treats that as a refusal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reconciler.conditions import Condition
from reconciler.resource import APIResource, Key
from reconciler.writer import ApiError, Writer
from webhook.admission.stamp import ANNOTATION, UNSTAMPED, Stamp

__all__ = ["ABSENT", "NORMALISED", "REFUSED", "GateAnswer", "Verified", "ask", "stamped"]

# The type of the condition that reports whether the object has passed the gate.
NORMALISED = "Normalised"

REFUSED = "Refused"
ABSENT = "GateAbsent"

# HTTP codes of a decision about the object; other errors do not concern it.
_DECISIONS = frozenset({400, 403, 422})

WITHOUT_STAMP: dict[str, Any] = {"metadata": {"annotations": {ANNOTATION: None}}}

_DENIED = "denied the request"  # part of the API server's message for a refusal of a webhook or an admission policy


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """The stored object, and the gate's decision as a condition."""

    obj: dict[str, Any]
    condition: Condition


class Verified:
    """The stamps that the gate has confirmed, one for each object. A stamp contains the catalog and the profile."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[str, str]] = {}

    def __contains__(self, obj: dict[str, Any]) -> bool:
        return stamped(obj) and self._known.get(Key.of(obj)) == _identity(obj)

    def add(self, obj: dict[str, Any]) -> None:
        self._known[Key.of(obj)] = _identity(obj)

    def forget(self, key: Key) -> None:
        self._known.pop(key, None)


def _identity(obj: dict[str, Any]) -> tuple[str, str]:
    return obj["metadata"]["uid"], obj["metadata"]["annotations"][ANNOTATION]


def stamped(obj: dict[str, Any]) -> bool:
    """Whether the specification is exactly the one that the stamp states."""
    stamp = Stamp.read(obj)
    return stamp is not None and stamp.matches(obj)


def ask(api: Writer, resource: APIResource, obj: dict[str, Any], verified: Verified) -> GateAnswer:
    """The verified object, or the reason why it is not; raises ApiError if the API server does not answer."""
    if obj in verified:
        return _passed(obj)
    key = Key.of(obj)
    try:
        expected, warnings = api.merge_patch(resource, key.namespace, key.name, WITHOUT_STAMP, dry_run=True)
        if not stamped(expected):
            return GateAnswer(obj, _tolerated(warnings) or _absent("the mutating webhook did not run"))
        if not _confirms(expected, obj):
            obj, warnings = api.merge_patch(resource, key.namespace, key.name, {})
    except ApiError as error:
        return GateAnswer(obj, _refusal(error))
    if not _confirms(expected, obj):
        return GateAnswer(obj, _tolerated(warnings) or _absent("the mutating webhook did not run"))
    verified.add(obj)
    return _passed(obj)


def _confirms(expected: dict[str, Any], obj: dict[str, Any]) -> bool:
    """Whether an object carries the stamp that the gate writes. The catalog may be older, if the result is the same."""
    ours, theirs = Stamp.read(expected), Stamp.read(obj)
    if ours is None or theirs is None or not theirs.matches(obj):
        return False
    return (ours.spec, ours.profile) == (theirs.spec, theirs.profile)


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
