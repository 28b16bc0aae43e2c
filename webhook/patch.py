"""JSON Patch (RFC 6902): the difference of two JSON values.

The patch is minimal for what admission does (a few leaves set, changed or removed in a large
tree): subtrees shared by identity are skipped without being read, so copying only what is
changed makes the difference cheap. Values compare strictly: ``1``, ``1.0`` and ``true`` are
three different JSON texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NotRequired, TypedDict

__all__ = ["Operation", "apply", "diff", "keys", "pointer"]


class Operation(TypedDict):
    """One operation: ``add``, ``replace`` or ``remove`` (which has no value)."""

    op: str
    path: str
    value: NotRequired[Any]


def pointer(*keys: str | int) -> str:
    """The JSON Pointer (RFC 6901) of a sequence of keys: ``pointer("a/b", 0) == "/a~1b/0"``."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)


def diff(before: Any, after: Any) -> list[Operation]:
    """The operations that turn ``before`` into ``after``, in an order in which they can be applied."""
    operations: list[Operation] = []
    _diff(before, after, "", operations)
    return operations


def _diff(before: Any, after: Any, path: str, out: list[Operation]) -> None:
    if before is after:
        return
    if before.__class__ is not after.__class__:
        out.append({"op": "replace", "path": path, "value": after})
    elif isinstance(before, dict):
        _diff_objects(before, after, path, out)
    elif isinstance(before, list):
        _diff_arrays(before, after, path, out)
    elif before != after:
        out.append({"op": "replace", "path": path, "value": after})


def _diff_objects(before: dict[str, Any], after: dict[str, Any], path: str, out: list[Operation]) -> None:
    out.extend({"op": "remove", "path": path + pointer(key)} for key in before if key not in after)
    for key, value in after.items():
        if key in before:
            _diff(before[key], value, path + pointer(key), out)
        else:
            out.append({"op": "add", "path": path + pointer(key), "value": value})


def _diff_arrays(before: list[Any], after: list[Any], path: str, out: list[Operation]) -> None:
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        _diff(old, new, f"{path}/{index}", out)
    # From the end, so that no index moves under an operation still to come.
    out.extend({"op": "remove", "path": f"{path}/{index}"} for index in range(len(before) - 1, len(after) - 1, -1))
    out.extend({"op": "add", "path": f"{path}/-", "value": value} for value in after[len(before) :])


def keys(path: str) -> tuple[str, ...]:
    """The keys of a JSON Pointer, the inverse of :func:`pointer` (array indices stay text)."""
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in path.split("/")[1:])


def apply(document: Any, operations: Iterable[Operation]) -> Any:
    """The document with the operations applied (add, replace, remove); the parents on the way are copied.

    Raises:
        ValueError: an operation that does not fit the document.
    """
    for operation in operations:
        document = _apply(document, keys(operation["path"]), operation)
    return document


def _apply(node: Any, path: tuple[str, ...], operation: Operation) -> Any:
    if not path:
        return operation.get("value")
    key, rest = path[0], path[1:]
    adds = operation["op"] == "add" and not rest
    if isinstance(node, dict) and (adds or key in node):
        fields = dict(node)
        if operation["op"] == "remove" and not rest:
            del fields[key]
        else:
            fields[key] = _apply(fields.get(key), rest, operation)
        return fields
    if isinstance(node, list) and (key == "-" or key.isdecimal()):
        index = len(node) if key == "-" else int(key)
        if adds and index <= len(node):
            return [*node[:index], operation["value"], *node[index:]]
        if index < len(node):
            removed = operation["op"] == "remove" and not rest
            return [*node[:index], *([] if removed else [_apply(node[index], rest, operation)]), *node[index + 1 :]]
    raise ValueError(f"{operation['op']} {operation['path']}: nothing is there")
