"""What native policies say about a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from webhook.decision import Cause, Warn

__all__ = ["Denial", "Verdict"]

_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}


@dataclass(frozen=True, slots=True)
class Denial:
    """One reason to refuse. ``text`` is what the API server prints; ``binding`` is "" for an error of the policy."""

    policy: str
    binding: str
    message: str
    text: str
    reason: str = "Invalid"

    @property
    def code(self) -> int:
        """The HTTP status of the answer, if this is the first reason."""
        return _CODES.get(self.reason, 422)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``object`` is the mutated object (the request's own, by identity, when nothing changed).

    The first denial gives the answer its message, reason and status code. ``audit`` has the
    API server's own keys. ``evaluated`` are the policies that had a say, in their order.
    """

    object: dict[str, Any] | None
    denials: tuple[Denial, ...] = ()
    warnings: tuple[Warn, ...] = ()
    audit: dict[str, str] = field(default_factory=dict)
    evaluated: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        return not self.denials

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The denials as causes of a :class:`~webhook.decision.Decision`; they name no field."""
        return tuple(Cause("", "", denial.text) for denial in self.denials)
