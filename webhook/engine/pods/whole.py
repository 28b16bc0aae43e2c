"""What only the whole pod shows, of an object over what completes it, and where in the object a fault belongs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from webhook.facts import Whole
from webhook.facts.nodes import items
from webhook.ground.fieldpath import field_keys, field_path
from webhook.kubernetes import validate, warned
from webhook.schema import FieldError

_INDEX: Final = re.compile(r"\[[0-9]+\]")
_ABSENT: Final = "FieldValueRequired"
_NOT_FOUND: Final = "FieldValueNotFound"

Keys = list[str | int]
Texts = Collection[tuple[str, str]]
"""Fields, and what Kubernetes says of them."""


class PodFault(NamedTuple):
    """The ``reason`` of Kubernetes, the nearest field that the object has, and the text."""

    reason: str
    field: str
    text: str


class JudgedPod:
    """A whole pod, and what Kubernetes says of it. It warns only of what it does not refuse."""

    def __init__(self, whole: Whole, owner: str) -> None:
        self.whole, self._owner = whole, owner
        self.errors = self._refused(whole.pod)
        self.warnings = [] if self.errors else warned("PodSpec", whole.pod)

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
        alone = {_unplaced(error.field, error.body()) for error in self._refused(self.whole.alone())}
        for error in self.errors:
            if error.type == _NOT_FOUND and error.bad_value in volumes:
                continue  # a volume that the operator adds, or that has a fault of its own
            placed = self._placed(error.field, error.body(), alone, of_parts, absent=error.type == _ABSENT)
            if placed is not None:
                yield PodFault(error.type, *placed)

    def warnings_besides(self, of_parts: Texts) -> Iterator[tuple[str, str]]:
        """As :meth:`faults`, of the warnings: field and text."""
        alone = {_unplaced(*warning) for warning in warned("PodSpec", self.whole.alone())} if self.warnings else set()
        for field, text in self.warnings:
            placed = self._placed(field, text, alone, of_parts)
            if placed is not None:
                yield placed

    def _refused(self, pod: dict[str, Any]) -> list[FieldError]:
        return validate("PodSpec", pod, templates=True, owner=self._owner)

    def _placed(
        self, field: str, text: str, alone: Texts, of_parts: Texts, *, absent: bool = False
    ) -> tuple[str, str] | None:
        """The nearest field of the object, and the text with what completes the object; None if it is not the object's.

        A fault of the pod ``alone``, without the object, is not the object's. But an object that has the node may give
        what it lacks.
        """
        place, rest = _nearest(self.whole, field_keys(field))
        if rest and _unplaced(field, text) in alone and not (absent and len(rest) == 1):
            return None
        if (field_path((*place, *rest)), text) in of_parts:
            return None
        where = [f"at {field_path(rest)}"] if rest else []
        if self.whole.origin:
            where.append(f"merged with {self.whole.origin}")
        return field_path(place), f"{text} ({', '.join(where)})" if where else text


def _unplaced(field: str, text: str) -> tuple[str, str]:
    """A fault without the indexes of its field: an item of a merged list moves."""
    return _INDEX.sub("[]", field), text


def _nearest(whole: Whole, path: Keys) -> tuple[Keys, Keys]:
    """The node of the object that is nearest to a field of the pod, and the keys that it lacks."""
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
        step = _index(written, merged, key, whole.keys.get(list_name, "")) if isinstance(written, list) else key
        written, list_name = _child(written, step), str(key)
        if written is None:
            return place, path[position:]
        place = [*place, step]
    return place, []


def _index(items: list[Any], item: Any, index: str | int, key: str) -> str | int:
    """Where a list of the object has an item of the merged list."""
    if not key or not isinstance(item, dict):
        return index
    same = (place for place, each in enumerate(items) if isinstance(each, dict) and each.get(key) == item.get(key))
    return next(same, -1)


def _child(node: Any, key: str | int) -> Any:
    if isinstance(node, dict):
        return node.get(key)
    return node[key] if isinstance(node, list) and isinstance(key, int) and 0 <= key < len(node) else None
