"""How the engine decides: strictness, what the view covers, and the deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from webhook.admission import Request
from webhook.cel import RUNTIME_BUDGET
from webhook.engine.native import Native
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.policy import Profile

__all__ = ["DEFAULT_OPTIONS", "NAMESPACE", "OBJECT_BUDGET", "Checkpoint", "Options"]

NAMESPACE: Final = "default"
"""The namespace in which kubectl creates an object that names none."""
OBJECT_BUDGET: Final = RUNTIME_BUDGET
"""CEL cost units for all rules of one object, about a second: the API server's limit for a custom resource."""

Checkpoint = Callable[[str], object]
"""Called with the name of each step before it runs; raises DeadlineExceeded when no time is left."""


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
    native: Native | None = None
    checkpoint: Checkpoint = _no_deadline
    written: Callable[[Request], bool] = _not_known


DEFAULT_OPTIONS: Final = Options()
