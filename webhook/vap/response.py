"""The answer of all policies to one request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.admission import Cause, Refusal, Warn, one_line

CODES: Final = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
"""The HTTP status for each reason of a validation."""

FAILURE_KEY: Final = "validation.policy.admission.k8s.io/validation_failure"
_KEY_LENGTH: Final = 63
"""The greatest length of an audit annotation's key after the webhook's name (apimachinery, ``IsQualifiedName``)."""
_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class Denial:
    """One reason to refuse a request.

    ``text`` is the API server's message. ``binding`` is "" if the policy itself fails.

    The first denial gives the answer its ``reason`` and its HTTP status ``code``.
    """

    policy: str
    binding: str
    message: str
    text: str
    reason: str = "Invalid"
    code: int = 422


@dataclass(frozen=True, slots=True)
class PolicyResponse:
    """``object`` is the mutated object; if nothing changed, it is the request's own object, by identity.

    The first denial gives the answer its message (after ``prefix``), reason and status code. ``audit`` uses the API
    server's keys. ``evaluated`` are the names of the evaluated policies, in their order.
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

        The API server adds the prefix ``<webhook>/`` to each key. It allows one ``/`` and 63 characters after it. So
        ``<policy>/<key>`` becomes ``<policy>_<key>`` (the name of a policy cannot contain ``_``). A longer key is
        cut and ends with some digits of its digest. ``validation.policy.admission.k8s.io/validation_failure``
        becomes ``validation-failure``.
        """
        return {_webhook_key(key): one_line(value) for key, value in self.audit.items()}


def _webhook_key(key: str) -> str:
    if key == FAILURE_KEY:
        return "validation-failure"
    name = key.replace("/", "_")
    if len(name) <= _KEY_LENGTH:
        return name
    return f"{name[: _KEY_LENGTH - _DIGITS - 1]}-{hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]}"
