"""What only the whole pod shows, of an object over what completes it, and where in the object a fault belongs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from webhook.facts import Whole
from webhook.facts.nodes import items
from webhook.kubernetes import validate, warned
from webhook.manifests.places import keys
from webhook.policy import field_path
from webhook.schema import FieldError

__all__ = ["Fault", "Pod"]

_INDEX: Final = re.compile(r"\[[0-9]+\]")
_ABSENT: Final = "FieldValueRequired"
_NOT_FOUND: Final = "FieldValueNotFound"

Keys = list[str | int]
Said = Collection[tuple[str, str]]
"""Fields and texts of what the parts say."""


class Fault(NamedTuple):
    """The ``reason`` of Kubernetes, the nearest field that the object has, and the text."""

    reason: str
    field: str
    text: str


class Pod:
    """A whole pod, and what Kubernetes says of it. It warns only of what it does not refuse."""

    def __init__(self, whole: Whole, owner: str) -> None:
        self.whole, self._owner = whole, owner
        self.errors = self._refused(whole.pod)
        self.warnings = [] if self.errors else warned("PodSpec", whole.pod, "")

    @property
    def is_right(self) -> bool:
        return not self.errors and not self.warnings

    @property
    def uses_volumes(self) -> bool:
        """Whether it is accepted because the operator adds a volume."""
        return any(error.type == _NOT_FOUND and error.bad_value in self.whole.volumes for error in self.errors)

    def faults(self, said: Said) -> Iterator[Fault]:
        """The faults in which the object has a share, without what a part has ``said``."""
        if not self.errors:
            return
        names = (volume.get("name") for volume in items(self.whole.pod, "volumes"))
        known = {*self.whole.volumes, *(name for name in names if isinstance(name, str))}
        others = {_key(each.field, each.body()) for each in self._refused(self.whole.alone())}
        for error in self.errors:
            if error.type == _NOT_FOUND and error.bad_value in known:
                continue  # a volume that the operator adds, or whose own fault is said
            place = self._placed(error.field, error.body(), others, said, absent=error.type == _ABSENT)
            if place is not None:
                yield Fault(error.type, *place)

    def notes(self, said: Said) -> Iterator[tuple[str, str]]:
        """As :meth:`faults`, of the warnings: field and text."""
        others = {_key(*each) for each in warned("PodSpec", self.whole.alone(), "")} if self.warnings else set()
        for field, text in self.warnings:
            place = self._placed(field, text, others, said)
            if place is not None:
                yield place

    def _refused(self, pod: dict[str, Any]) -> list[FieldError]:
        return validate("PodSpec", pod, templates=True, owner=self._owner)

    def _placed(
        self, field: str, text: str, others: Said, said: Said, *, absent: bool = False
    ) -> tuple[str, str] | None:
        """The nearest field of the object, and the text with what completes the object; None if it is not to be said.

        A fault that is there without the object is not its own. But an object that has the node may give what it lacks.
        """
        place, rest = _nearest(self.whole, keys(field))
        if rest and _key(field, text) in others and not (absent and len(rest) == 1):
            return None
        if (field_path((*place, *rest)), text) in said:
            return None
        where = [f"at {field_path(rest)}"] if rest else []
        if self.whole.origin:
            where.append(f"merged with {self.whole.origin}")
        return field_path(place), f"{text} ({', '.join(where)})" if where else text


def _key(field: str, text: str) -> tuple[str, str]:
    """A fault without the indexes of its field: an item of a merged list moves."""
    return _INDEX.sub("[]", field), text


def _nearest(whole: Whole, path: Keys) -> tuple[Keys, Keys]:
    """The node of the object that is nearest to a field of the pod, and the keys that it lacks."""
    node, both, place, name = whole.given, whole.pod, keys(whole.path), ""  # type: Any, Any, Keys, str
    runner = whole.runners.get(path[1]) if len(path) > 1 and path[0] == "containers" else None
    if runner is not None:
        both, path = both["containers"][path[1]], path[2:]
        if runner and _child(node, runner) is None:
            return place, [runner, *path]
        node, place = (node[runner], [*place, runner]) if runner else (node, place)
    for position, key in enumerate(path):
        both = _child(both, key)
        found = _index(node, both, key, whole.keys.get(name, "")) if isinstance(node, list) else key
        node, name = _child(node, found), str(key)
        if node is None:
            return place, path[position:]
        place = [*place, found]
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
