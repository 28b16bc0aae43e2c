"""How the engine decides: strictness, what the view covers, Kubernetes' own policies, and the deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from webhook.admission import Request
from webhook.cel import RUNTIME_BUDGET
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.ground.budget import STEPS, Budget
from webhook.policy import Profile

if TYPE_CHECKING:  # a server without such policies does not load the language of their documents
    from webhook.enforcement import Degrees
    from webhook.vap import AdmissionContext, NativePolicies, PolicyResponse

NAMESPACE: Final = "default"
"""The namespace in which kubectl creates an object that names none."""
OBJECT_BUDGET: Final = RUNTIME_BUDGET
"""CEL cost units for all rules of one object, about a second: the API server's limit for a custom resource."""

Checkpoint = Callable[[str], object]
"""Called now and then with the name of the step that comes next; raises DeadlineExceeded when no time is left."""


@dataclass(frozen=True, slots=True)
class Native:
    """Kubernetes' own policies beside Modelgate's rules, and what they can read of the cluster."""

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


def _no_deadline(_step: str) -> None:
    pass


def _not_known(_request: Request) -> bool:
    return False


@dataclass(slots=True)  # never changed: one is made for each request
class Options:
    """How to decide.

    ``strict_fields``: decide for the API server, too, as for a file: an unknown field is an error, as in kubectl's
    validation, and the schema refuses under every profile. Otherwise an unknown field is a warning: a webhook receives
    one only where the installed CRD has it.
    ``faults_told``: a rule that cannot be evaluated is a finding of it, as for a file: one of many, and the others are
    judged all the same. Otherwise it is a Fault.
    ``references``: there is a view of other objects; without one, rules about them are skipped.
    ``complete``: the view is complete: an object missing from it does not exist. Otherwise it is unknown, and a rule
    that fails because of it only warns.
    ``settings``: which behaviour to follow where an API has more than one correct behaviour.
    ``checkpoint``: called now and then with the name of a step; ``steps``: how many one judgement may take.
    ``degrees``: the Enforcements and PolicyExceptions in force, which change what the profile says of rules.
    ``native``: Kubernetes' own policies, evaluated for every request.
    ``written``: whether this process has written the stamp of the request's object in the mutation of the same request.
    It saves computing the stamp again; without this knowledge the answer is the same.
    """

    profile: Profile = Profile.STANDARD
    strict_fields: bool = False
    faults_told: bool = False
    references: bool = True
    complete: bool = True
    settings: Settings = DEFAULT_SETTINGS
    degrees: Degrees | None = None
    native: Native | None = None
    checkpoint: Checkpoint = _no_deadline
    steps: int = STEPS
    written: Callable[[Request], bool] = _not_known

    def budget(self) -> Budget:
        """What the judgement of one object may take."""
        return Budget(self.checkpoint, self.steps)


DEFAULT_OPTIONS: Final = Options()
