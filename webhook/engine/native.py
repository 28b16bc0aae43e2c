"""Kubernetes' own policies beside Modelgate's rules: their part in a decision, and how a webhook reports it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webhook.admission import Cause, Request, Warn

if TYPE_CHECKING:  # a server without such policies does not load the language of their documents
    from webhook.vap import AdmissionContext, NativePolicies, PolicyResponse

__all__ = ["Native", "refusals_as_warnings"]

Checkpoint = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Native:
    """A set of policies, and what they can read of the cluster."""

    policies: NativePolicies
    surroundings: AdmissionContext

    def may_mutate(self, request: Request) -> bool:
        """Whether a mutating policy is about the resource of the request."""
        return self.policies.may_mutate(request, self.surroundings)

    def may_validate(self, request: Request) -> bool:
        """Whether a validating policy is about the resource of the request."""
        return self.policies.may_validate(request, self.surroundings)

    def mutate(
        self,
        request: Request,
        checkpoint: Checkpoint,
        webhooks: Callable[[dict[str, Any] | None], dict[str, Any] | None],
    ) -> PolicyResponse:
        """Apply the mutating policies to the request's object; ``webhooks`` mutates it after them."""
        return self.policies.mutate(request, self.surroundings, _interrupt(checkpoint), webhooks)

    def validate(self, request: Request, checkpoint: Checkpoint) -> PolicyResponse:
        """What the validating policies say about the request."""
        return self.policies.validate(request, self.surroundings, _interrupt(checkpoint))


def _interrupt(checkpoint: Checkpoint) -> Callable[[], bool]:
    checkpoint("admission policies")

    def interrupt() -> bool:
        checkpoint("the end of admission policies")
        return False

    return interrupt


def refusals_as_warnings(causes: Iterable[Cause]) -> tuple[Warn, ...]:
    """Warnings of what another profile would refuse. Hints come first: a long warning is cut at its end."""
    return tuple(_as_warning(cause) for cause in causes)


def _as_warning(cause: Cause) -> Warn:
    text = "; ".join((*map(str, cause.hints), cause.message))
    return Warn(cause.field, f"would be refused: {text}", cause.code, cause.refusal.policy if cause.refusal else "")
