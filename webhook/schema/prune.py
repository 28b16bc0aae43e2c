"""Pruning: drop unknown fields, and nulls that the schema does not allow. Copies share what is unchanged.

The correct spelling of an unknown field is suggested.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final

from webhook.schema.fielderror import child_path
from webhook.schema.node import MISSING, NO_PARTS, CleanParts, SchemaNode

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(node: SchemaNode | None, value: Any, *, is_root: bool, clean: CleanParts = NO_PARTS) -> tuple[Any, list[str]]:
    """``value`` without unknown fields, and their paths, sorted (``spec.files[0].nmae``).

    If every field is known, the result is the value itself, by identity. ``is_root`` keeps apiVersion, kind and
    metadata, as in an embedded resource. ``clean`` are parts without unknown fields.
    """
    paths: list[str] = []
    pruned = _prune(node, value, "", paths, clean, embedded=is_root)
    return pruned, sorted(paths)


def _prune(
    node: SchemaNode | None,
    value: Any,
    path: str,
    paths: list[str],
    clean: CleanParts,
    *,
    embedded: bool = False,
    kept: bool = False,
) -> Any:
    """``kept``: as an item of a list with preserve-unknown-fields, also of lists in it, the value keeps its fields."""
    if clean and (id(node), id(value)) in clean:
        return value
    if type(value) is dict:
        if node is not None:
            return _prune_object(node, value, path, paths, clean, embedded=embedded or node.embedded, kept=kept)
        if kept:
            return value
        paths += [child_path(path, key) for key in value]
        return {} if value else value
    if type(value) is list:
        items = node and node.items
        kept = kept or (node is not None and node.preserve)
        return _each(value, lambda i, item: _prune(items, item, f"{path}[{i}]", paths, clean, kept=kept))
    return value


def _prune_object(
    node: SchemaNode,
    value: dict[str, Any],
    path: str,
    paths: list[str],
    clean: CleanParts,
    *,
    embedded: bool,
    kept: bool,
) -> Any:
    changed: dict[str, Any] = {}
    for key, item in value.items():
        if embedded and key in _META_FIELDS:
            continue
        child = node.properties.get(key)
        if child is not None or node.additional_known:
            if type(item) is dict or type(item) is list:
                new = _prune(child or node.additional, item, child_path(path, key), paths, clean)
                if new is not item:
                    changed[key] = new
        elif not (node.preserve or kept):
            if path or key not in _META_FIELDS:
                paths.append(child_path(path, key))
            changed[key] = MISSING
    return with_fields(value, changed)


def _each(value: list[Any], function: Any) -> list[Any]:
    return with_items(value, [function(i, item) for i, item in enumerate(value)])


def with_items(value: list[Any], new: list[Any]) -> list[Any]:
    """A list with new items; the list itself if each item is its own."""
    return new if any(a is not b for a, b in zip(new, value, strict=True)) else value


def with_fields(value: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """An object with changed fields, in its order and without those that are MISSING; itself if none is changed."""
    if not changed:
        return value
    merged = {key: changed.get(key, item) for key, item in value.items()}
    return {key: item for key, item in merged.items() if item is not MISSING}


def drop_nulls(node: SchemaNode | None, value: Any, clean: CleanParts = NO_PARTS) -> Any:
    """``value`` without nulls of fields that are neither nullable nor defaulted; ``clean`` parts have none.

    Nulls inside lists stay: validation refuses them (``PruneNonNullableNullsWithoutDefaults``).
    """
    if node is None or (clean and (id(node), id(value)) in clean):
        return value
    if type(value) is list:
        return _each(value, lambda _, item: drop_nulls(node.items, item, clean)) if node.items is not None else value
    if type(value) is not dict:
        return value
    changed: dict[str, Any] = {}
    for key, item in value.items():
        child = node.child(key)
        if child is None:
            continue
        is_dropped = item is None and not child.nullable and child.default is MISSING
        new = MISSING if is_dropped else drop_nulls(child, item, clean)
        if new is not item:
            changed[key] = new
    return with_fields(value, changed)


_MIN_RATIO: Final = 0.75
"""difflib's ratio: allows one wrong, missing or moved letter in a name of four, two in a name of eight."""


def suggest_field(node: SchemaNode, obj: Any, path: str) -> str:
    """The known field with a spelling close to the last field of the path; "" if there is none.

    Args:
        node: the schema of the object.
        obj: the object, not pruned.
        path: the path of an unknown field, as pruning prints it (``spec.files[0].nmae``).
    """
    current: SchemaNode | None = node
    while current is not None:
        if isinstance(obj, list):
            index, _, path = path.removeprefix("[").partition("]")
            current, obj = current.items, obj[int(index)]
        elif path in obj:
            return _closest(path, current.properties)
        else:
            key = max((key for key in obj if path.startswith((f"{key}.", f"{key}["))), key=len)
            current, obj, path = current.child(key), obj[key], path[len(key) :]
        path = path.removeprefix(".")
    return ""


def _closest(name: str, fields: Iterable[str]) -> str:
    """The field that differs only in case, ``_`` or ``-``; else the most similar one."""
    by_letters = {_letters(each): each for each in sorted(fields)}
    close = get_close_matches(_letters(name), by_letters, n=1, cutoff=_MIN_RATIO)
    return by_letters[close[0]] if close else ""


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
