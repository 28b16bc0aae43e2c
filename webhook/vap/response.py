"""What native policies say about a request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.admission.decision import Cause, Refusal, Warn

__all__ = ["CODES", "FAILURE_KEY", "Denial", "PolicyResponse"]

CODES: Final = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
"""The HTTP status that goes with the reason of a validation."""

FAILURE_KEY: Final = "validation.policy.admission.k8s.io/validation_failure"
_KEY_LENGTH: Final = 63
"""Characters of an audit annotation's key behind the webhook's name (apimachinery, ``IsQualifiedName``)."""
_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class Denial:
    """One reason to refuse. ``text`` is what the API server prints; ``binding`` is "" for an error of the policy.

    ``reason`` and the HTTP status ``code`` are those of the answer, if this is the first denial.
    """

    policy: str
    binding: str
    message: str
    text: str
    reason: str = "Invalid"
    code: int = 422


@dataclass(frozen=True, slots=True)
class PolicyResponse:
    """``object`` is the mutated object (the request's own, by identity, when nothing changed).

    The first denial gives the answer its message (behind ``prefix``), reason and status code.
    ``audit`` has the API server's own keys. ``evaluated`` are the policies that had a say, in
    their order.
    """

    object: dict[str, Any] | None
    denials: tuple[Denial, ...] = ()
    warnings: tuple[Warn, ...] = ()
    audit: dict[str, str] = field(default_factory=dict)
    evaluated: tuple[str, ...] = ()
    prefix: str = ""

    @property
    def allowed(self) -> bool:
        return not self.denials

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The denials as causes of a :class:`~webhook.admission.decision.Decision`; they name no field."""
        return tuple(
            Cause("", "", each.text, refusal=Refusal(each.policy, each.reason, each.code, self.prefix))
            for each in self.denials
        )

    @property
    def annotations(self) -> dict[str, str]:
        """The audit annotations under keys that a webhook may use.

        The API server puts ``<webhook>/`` before each, and wants one ``/`` and at most 63 characters
        behind it. So ``<policy>/<key>`` becomes ``<policy>_<key>`` (no policy has ``_`` in its name),
        cut off before some digits of its digest where it is too long, and
        ``validation.policy.admission.k8s.io/validation_failure`` becomes ``validation-failure``.
        """
        return {_webhook_key(key): value for key, value in self.audit.items()}


def _webhook_key(key: str) -> str:
    if key == FAILURE_KEY:
        return "validation-failure"
    name = key.replace("/", "_")
    if len(name) <= _KEY_LENGTH:
        return name
    return f"{name[: _KEY_LENGTH - _DIGITS - 1]}-{hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]}"
