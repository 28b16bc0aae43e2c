"""The places of a default in the items of lists, and in the values of maps.

An item is known by its keys, where the list has some (``x-kubernetes-list-map-keys``): then its default follows its
inputs as every other. Another list has nothing that tells an item from one that a user has put at its place: what is
filled in there stays, as if the user had written it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from webhook.policy import DefaultRule, Withdrawn

Step = str | dict[str, Any]
"""A field or the key of a map, or the keys of an item."""


class ItemPlace(NamedTuple):
    """Where an item is: its ``keys`` in the object, and the ``steps`` by which it is known; None if it is not."""

    keys: tuple[str | int, ...] = ()
    steps: tuple[Step, ...] | None = ()

    def below(self, key: str) -> ItemPlace:
        """The field of a node, or the value of a map."""
        return ItemPlace((*self.keys, key), None if self.steps is None else (*self.steps, key))

    def item(self, index: int, item: Any, names: Sequence[str]) -> ItemPlace:
        """An item of a list whose items are known by the fields of these names."""
        has_keys = bool(names) and self.steps is not None and isinstance(item, dict)
        own = {name: item.get(name) for name in names} if has_keys else {}
        is_known = has_keys and all(isinstance(value, str | int) for value in own.values())
        return ItemPlace((*self.keys, index), (*(self.steps or ()), own) if is_known else None)

    @property
    def text(self) -> str:
        """What a stamp calls it: ``spec.ports[name=http].protocol``; "" if it is not known."""
        text = ""
        for step in self.steps or ():
            if isinstance(step, dict):
                text += f"[{','.join(f'{name}={value}' for name, value in step.items())}]"
            else:
                text += f".{step}" if text else step
        return text


def changed(
    obj: dict[str, Any], rule: DefaultRule | Withdrawn, change: Callable[[ItemPlace, Any], Any]
) -> dict[str, Any]:
    """The object with each node that has, or may have, a leaf of the rule changed; itself if none is."""
    changed_object: dict[str, Any] = _changed(obj, rule.path.around, rule.lists, change, ItemPlace())
    return changed_object


def _changed(
    node: Any,
    keys: Sequence[str],
    lists: Sequence[Sequence[str]],
    change: Callable[[ItemPlace, Any], Any],
    place: ItemPlace,
) -> Any:
    if not keys:
        return change(place, node) if node.__class__ is dict else node
    key, rest = keys[0], keys[1:]
    if key == "*" and node.__class__ is list:
        items = [
            _changed(item, rest, lists[1:], change, place.item(index, item, lists[0]))
            for index, item in enumerate(node)
        ]
        return node if all(map(_is_same, items, node)) else items
    if key == "*" and node.__class__ is dict:
        values = {name: _changed(item, rest, lists[1:], change, place.below(name)) for name, item in node.items()}
        return node if all(map(_is_same, values.values(), node.values())) else values
    if node.__class__ is dict and key in node:
        child = _changed(node[key], rest, lists, change, place.below(key))
        return node if child is node[key] else {**node, key: child}
    return node


def _is_same(one: Any, other: Any) -> bool:
    return one is other
