"""What Kubernetes says of a part of a pod."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from webhook.ground.budget import Budget
from webhook.kubernetes import Fault, Spot, advised_warning, validate, warned
from webhook.schema import FieldError

REFUSED: Final = "KP001"
"""Kubernetes refuses the pods."""

_INDEX: Final = re.compile(r"\[[0-9]+\]")


class PodFault(NamedTuple):
    """The ``reason`` of Kubernetes, the nearest field that the object has, and the text with a remedy.

    ``value`` is the whole error, of which the text may have only a part.
    """

    reason: str
    field: str
    text: str
    value: str = ""

    @property
    def code(self) -> str:
        return REFUSED

    @classmethod
    def of(cls, fault: Fault) -> PodFault:
        return cls(fault.error.type, fault.error.field, fault.text, fault.bodies)

    def unplaced(self) -> PodFault:
        """The fault without the indexes of its field: an item of a list may move."""
        return self._replace(field=_INDEX.sub("[]", self.field))


class KubernetesJudge(NamedTuple):
    """Kubernetes as it judges the pods of an ``owner``, a Deployment or a Job, with a budget."""

    owner: str
    budget: Budget

    def errors_of_part(self, spot: Spot) -> list[FieldError]:
        """The errors of a value. Its warnings take fewer steps, and the same number is spent for them here."""
        owner, budget, before = self.owner, self.budget, self.budget.left
        kind, part, runners = spot.place.kind, not spot.place.whole, spot.place.runners
        errors = validate(
            kind, spot.value, spot.path, part=part, templates=True, owner=owner, runners=runners, budget=budget
        )
        budget.spend(before - budget.left, spot.path)
        return errors

    def warnings_of_part(self, spot: Spot) -> list[tuple[str, str]]:
        """The warnings of a value, each with its field."""
        sentences = warned(spot.place.kind, spot.value, spot.path, part=not spot.place.whole, budget=self.budget)
        return [(field, advised_warning(field, sentence)) for field, sentence in sentences]
