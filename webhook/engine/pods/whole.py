"""What only the whole pod shows, of an object over what completes it, and where in the object a fault belongs."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator
from typing import Any, Final, NamedTuple

from webhook.facts import Whole
from webhook.facts.nodes import items
from webhook.ground.budget import Budget
from webhook.ground.fieldpath import ROOT, FieldPath, field_keys, field_path
from webhook.kubernetes import Fault, Spot, advised_warning, faults_of, validate, warned
from webhook.schema import FieldError

_INDEX: Final = re.compile(r"\[[0-9]+\]")
_ABSENT: Final = "FieldValueRequired"
_TOO_MANY: Final = "FieldValueTooMany"
_NOT_FOUND: Final = "FieldValueNotFound"

Keys = list[str | int]
Texts = Collection[tuple[str, str]]
"""Fields as :func:`field_path` writes them, and what Kubernetes says of them."""


class PodFault(NamedTuple):
    """The ``reason`` of Kubernetes, the nearest field that the object has, and the text with a remedy.

    ``value`` is the whole error, of which the text may have only a part.
    """

    reason: str
    field: str
    text: str
    value: str = ""

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
        place = spot.place
        return self.errors(place.kind, spot.value, spot.path, part=not place.whole, runners=place.runners)

    def warnings_of_part(self, spot: Spot) -> list[tuple[str, str]]:
        return self.warnings(spot.place.kind, spot.value, spot.path, part=not spot.place.whole)

    def warnings(self, kind: str, value: Any, path: FieldPath = ROOT, *, part: bool = False) -> list[tuple[str, str]]:
        """The warnings of a value, each with its field."""
        sentences = warned(kind, value, path, part=part, budget=self.budget)
        return [(field, advised_warning(field, sentence)) for field, sentence in sentences]

    def errors(
        self, kind: str, value: Any, path: FieldPath = ROOT, *, part: bool = False, runners: tuple[str, ...] = ()
    ) -> list[FieldError]:
        """The errors of a value. Its warnings take fewer steps, and the same number is spent for them here."""
        owner, budget, before = self.owner, self.budget, self.budget.left
        errors = validate(kind, value, path, part=part, templates=True, owner=owner, runners=runners, budget=budget)
        budget.spend(before - budget.left, path)
        return errors


class JudgedPod:
    """A whole pod, and what Kubernetes says of it. It warns only of what it does not refuse."""

    def __init__(self, whole: Whole, judge: KubernetesJudge) -> None:
        self.whole, self._judge = whole, judge
        self.errors = judge.errors("PodSpec", whole.pod)
        self.warnings = [] if self.errors else judge.warnings("PodSpec", whole.pod)
        self._indexes: dict[tuple[int, str], dict[Any, int]] = {}

    @property
    def is_right(self) -> bool:
        return not self.errors and not self.warnings

    @property
    def uses_volumes(self) -> bool:
        """Whether it is accepted because the operator adds a volume."""
        return any(error.type == _NOT_FOUND and error.bad_value in self.whole.volumes for error in self.errors)

    def faults(self, of_parts: Texts) -> Iterator[PodFault]:
        """The faults in which the object has a share, without those ``of_parts``."""
        if not self.errors:
            return
        names = (volume.get("name") for volume in items(self.whole.pod, "volumes"))
        volumes = {*self.whole.volumes, *(name for name in names if isinstance(name, str))}
        of_alone = map(PodFault.of, faults_of(self._judge.errors("PodSpec", self.whole.alone())))
        alone = {_unplaced(fault.field, fault.text) for fault in of_alone}
        for fault_of_value in faults_of(self.errors):
            error = fault_of_value.error
            if error.type == _NOT_FOUND and error.bad_value in volumes:
                continue  # a volume that the operator adds, or that has a fault of its own
            fault = PodFault.of(fault_of_value)
            if error.type == _TOO_MANY and not fault.field and ("", fault.text) in alone:
                continue  # what completes the object has more faults than are looked at
            placed = self._placed(fault.field, fault.text, alone, of_parts, absent=error.type == _ABSENT)
            if placed is not None:
                yield PodFault(error.type, *placed, fault.value)

    def warnings_besides(self, of_parts: Texts) -> Iterator[tuple[str, str]]:
        """As :meth:`faults`, of the warnings: field and text."""
        if not self.warnings:
            return
        of_alone = self._judge.warnings("PodSpec", self.whole.alone())
        alone = {_unplaced(*warning) for warning in of_alone}
        for field, text in self.warnings:
            placed = self._placed(field, text, alone, of_parts)
            if placed is not None:
                yield placed

    def _placed(
        self, field: str, text: str, alone: Texts, of_parts: Texts, *, absent: bool = False
    ) -> tuple[str, str] | None:
        """The nearest field of the object, and the text with what completes the object; None if it is not the object's.

        A fault of the pod ``alone``, without the object, is not the object's. But an object that has the node may give
        what it lacks.
        """
        place, rest = self._nearest(field_keys(field))
        if rest and _unplaced(field, text) in alone and not (absent and len(rest) == 1):
            return None
        if (field_path((*place, *rest)), text) in of_parts:
            return None
        where = [f"at {field_path(rest)}"] if rest else []
        if self.whole.origin:
            where.append(f"merged with {self.whole.origin}")
        return field_path(place), f"{text} ({', '.join(where)})" if where else text

    def _nearest(self, path: Keys) -> tuple[Keys, Keys]:
        """The node of the object that is nearest to a field of the pod, and the keys that it lacks."""
        whole = self.whole
        written: Any = whole.given
        merged: Any = whole.pod
        place: Keys = field_keys(whole.path)
        runner = whole.runners.get(path[1]) if len(path) > 1 and path[0] == "containers" else None
        if runner is not None:
            merged, path = merged["containers"][path[1]], path[2:]
            if runner:
                if _child(written, runner) is None:
                    return place, [runner, *path]
                written, place = written[runner], [*place, runner]
        list_name = ""
        for position, key in enumerate(path):
            merged = _child(merged, key)
            step = (
                self._index(written, merged, key, whole.keys.get(list_name, "")) if isinstance(written, list) else key
            )
            written, list_name = _child(written, step), str(key)
            if written is None:
                return place, path[position:]
            place = [*place, step]
        return place, []

    def _index(self, items: list[Any], item: Any, index: str | int, key: str) -> str | int:
        """Where a list of the object has an item of the merged list. The list is searched once for all faults."""
        if not key or not isinstance(item, dict):
            return index
        places = self._indexes.get((id(items), key))
        if places is None:
            values = ((place, value.get(key)) for place, value in enumerate(items) if isinstance(value, dict))
            places = {value: place for place, value in reversed([*values]) if isinstance(value, Hashable)}
            self._indexes[id(items), key] = places
        value = item.get(key)
        return places.get(value, -1) if isinstance(value, Hashable) else -1


def _unplaced(field: str, text: str) -> tuple[str, str]:
    """A fault without the indexes of its field: an item of a merged list moves."""
    return _INDEX.sub("[]", field), text


def _child(node: Any, key: str | int) -> Any:
    if isinstance(node, dict):
        return node.get(key)
    return node[key] if isinstance(node, list) and isinstance(key, int) and 0 <= key < len(node) else None
