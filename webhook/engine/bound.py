"""The bound on the size of an object: a count, so that every call about the same object comes to the same decision.

A bound by time would admit an object on a quiet machine and refuse its next update on a busy one.
"""

from __future__ import annotations

from typing import Any, Final

from webhook.admission import Cause, Refusal, Request
from webhook.catalog import KnownKind

__all__ = ["MAX_VALUES", "over_bound"]

MAX_VALUES: Final = 50_000
"""JSON values of an object: 20 times the largest real one known (a ClusterBaseModel with 2,505). A value takes at most
12 µs, so an object takes less than a second."""

_SMALL_BYTES: Final = 2 * MAX_VALUES
"""An object within so many bytes needs no count: a value takes a byte, and a second one to set it apart."""

_TOO_LARGE: Final = Refusal("", "RequestEntityTooLarge", 413, "Request entity too large: ")


def over_bound(kind: KnownKind, request: Request) -> Cause | None:
    """The refusal of an object with more values than :data:`MAX_VALUES`.

    What its user does not write does not count: ``metadata.managedFields``, and a status that is a subresource. It may
    grow after the object is admitted, and the object must then still be changeable.
    """
    if request.object is None or kind.foreign or 0 < request.size <= _SMALL_BYTES:
        return None
    count = _count(_written(kind, request.object))
    if count <= MAX_VALUES:
        return None
    text = f"the object has {count:,} values; the gate judges objects of at most {MAX_VALUES:,}"
    return Cause("", "FieldValueTooMany", text, refusal=_TOO_LARGE)


def _written(kind: KnownKind, obj: dict[str, Any]) -> dict[str, Any]:
    """The object without the parts that its user does not write."""
    metadata = obj.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        obj = {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
    return {key: value for key, value in obj.items() if key != "status"} if kind.status and "status" in obj else obj


def _count(value: Any) -> int:
    """The number of JSON values in a value, itself included. Not recursive: an object may be nested deeply."""
    count, containers = 1, [value]
    while containers:
        node = containers.pop()
        children = node.values() if node.__class__ is dict else node
        count += len(children)
        containers += [child for child in children if child.__class__ is dict or child.__class__ is list]
    return count
