"""Checks lists with x-kubernetes-list-type set and map for duplicate items."""

from __future__ import annotations

from typing import Any

from webhook.golang.json import marshal
from webhook.schema.fielderror import ERRORS, FieldError, duplicate, invalid
from webhook.schema.node import NO_PARTS, CleanParts, SchemaNode


def validate_lists(node: SchemaNode, value: Any, path: str = "", *, clean: CleanParts = NO_PARTS) -> list[FieldError]:
    """One Duplicate error for each repeated item, at the index of its second occurrence.

    The root must be an object (``ValidateListSetsAndMaps``); path "" is the root. ``clean`` are parts without any.
    """
    return _object(node, value, path, clean) if isinstance(value, dict) else []


def _object(node: SchemaNode, value: dict[str, Any], path: str, clean: CleanParts) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, item in value.items():
        child = node.properties.get(key)
        if node.additional is not None:
            errors += _value(node.additional, item, f"{path}[{key}]" if path else f"[{key}]", clean)
        if child is not None:
            errors += _value(child, item, f"{path}.{key}" if path else key, clean)
    return errors


def _value(node: SchemaNode, value: Any, path: str, clean: CleanParts) -> list[FieldError]:
    if clean and (id(node), id(value)) in clean:
        return []
    if isinstance(value, dict):
        return _object(node, value, path, clean)
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
                errors += _value(node.items, item, f"{path}[{i}]", clean)
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
