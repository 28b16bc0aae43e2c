"""Items of lists by their keys (``x-kubernetes-list-type``), which two questions need.

:class:`Correlated` finds the old value of a new one, for ratcheting and transition rules. :func:`validate_lists` finds
items of sets and map lists that repeat. How a key is made of an item is here; what an update is spared is not.
"""

from __future__ import annotations

from typing import Any

from webhook.golang.json import deep_equal, marshal
from webhook.golang.strconv import quote
from webhook.schema.fielderror import ERRORS, FieldError, duplicate, invalid
from webhook.schema.node import MISSING, NO_PARTS, CleanParts, SchemaNode


class Correlated:
    """A value with its old value (cel/common ``CorrelatedObject``).

    Properties and map entries correlate by key, items of map lists by their key fields;
    items of atomic and set lists do not correlate.
    """

    __slots__ = ("_children", "_equal", "_old_items", "node", "old", "value")

    def __init__(self, value: Any, old: Any, node: SchemaNode) -> None:
        self.value = value
        self.old = old
        self.node = node
        self._children: dict[str | int, Correlated] = {}
        self._equal: bool | None = None
        self._old_items: dict[Any, dict[str, Any]] | None = None

    def key(self, name: str) -> Correlated | None:
        found = self._children.get(name)
        if found is None and isinstance(self.value, dict) and isinstance(self.old, dict):
            value, old, node = self.value.get(name, MISSING), self.old.get(name, MISSING), self.node.child(name)
            if value is MISSING or old is MISSING or node is None:
                return None
            found = self._children[name] = Correlated(value, old, node)
        return found

    def index(self, position: int) -> Correlated | None:
        found = self._children.get(position)
        if found is None and isinstance(self.value, list) and self.node.items is not None:
            old = self._old_item(position)
            if old is None:
                return None
            found = self._children[position] = Correlated(self.value[position], old, self.node.items)
        return found

    @property
    def unchanged(self) -> bool:
        """Whether the value equals the old one; the order of map lists is ignored."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        value, old = self.value, self.old
        if isinstance(value, dict) and isinstance(old, dict):
            return len(value) == len(old) and all(_same(self.key(name)) for name in value)
        if isinstance(value, list) and isinstance(old, list) and self.node.list_type == "map":
            return len(value) == len(old) and all(_same(self.index(position)) for position in range(len(value)))
        return deep_equal(old, value)

    def _old_item(self, position: int) -> dict[str, Any] | None:
        node, item = self.node, self.value[position]
        if node.list_type != "map" or node.type != "array" or not node.list_keys or not isinstance(self.old, list):
            return None
        if self._old_items is None:
            self._old_items = {}
            for old in self.old:
                key = item_key(node, old)
                if key is not None:
                    self._old_items.setdefault(key, old)
        key = item_key(node, item)
        return None if key is None else self._old_items.get(key)


def _same(child: Correlated | None) -> bool:
    return child is not None and child.unchanged


def item_key(node: SchemaNode, item: Any) -> Any:
    """The key of an item of a map list; None if a key field is absent or not a scalar."""
    if not isinstance(item, dict):
        return None
    values = [item.get(key, MISSING) for key in node.list_keys]
    if any(value is MISSING or value is None or isinstance(value, list | dict) for value in values):
        return None
    if len(values) == 1:
        return type(values[0]), values[0]
    return tuple(map(_composite, values))


def _composite(value: Any) -> str:
    """One part of a composite key as cel/common prints it: ``%f`` rounds floats to six digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    return f"{value:f}" if isinstance(value, float) else f"{value:d}"


def validate_lists(node: SchemaNode, value: Any, path: str = "", *, clean: CleanParts = NO_PARTS) -> list[FieldError]:
    """One Duplicate error for each repeated item, at the index of its second occurrence.

    The root must be an object (``ValidateListSetsAndMaps``); path "" is the root. ``clean`` are parts without any.
    """
    return _check_object(node, value, path, clean) if isinstance(value, dict) else []


def _check_object(node: SchemaNode, value: dict[str, Any], path: str, clean: CleanParts) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, item in value.items():
        child = node.properties.get(key)
        if node.additional is not None:
            errors += _check_value(node.additional, item, f"{path}[{key}]" if path else f"[{key}]", clean)
        if child is not None:
            errors += _check_value(child, item, f"{path}.{key}" if path else key, clean)
    return errors


def _check_value(node: SchemaNode, value: Any, path: str, clean: CleanParts) -> list[FieldError]:
    if clean and (id(node), id(value)) in clean:
        return []
    if isinstance(value, dict):
        return _check_object(node, value, path, clean)
    if not isinstance(value, list):
        return []
    errors: list[FieldError] = []
    if node.list_type == "set":
        errors += [duplicate(f"{path}[{i}]", value[i]) for i in repeated(value)[:ERRORS]]
    elif node.list_type == "map":
        errors += _map_errors(node, value, path)
    if node.items is not None:
        for i, item in enumerate(value):
            if isinstance(item, dict | list):
                errors += _check_value(node.items, item, f"{path}[{i}]", clean)
    return errors


def _map_errors(node: SchemaNode, value: list[Any], path: str) -> list[FieldError]:
    for i, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            return [invalid(f"{path}[{i}]", item, "must be an object for an array of list-type map")]
    keys = [{key: item[key] for key in node.list_keys if key in item} if item else {} for item in value]
    return [duplicate(f"{path}[{i}]", keys[i]) for i in repeated(keys)[:ERRORS]]


def repeated(values: list[Any]) -> list[int]:
    """The indexes of second occurrences. 1, 1.0 and true differ; the order of keys is ignored."""
    times: dict[Any, int] = {}
    found = []
    for i, value in enumerate(values):
        key = (type(value), marshal(value) if isinstance(value, dict | list) else value)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            found.append(i)
    return found
