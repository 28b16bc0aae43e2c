"""Write into the status: one condition, or the whole of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from reconciler.audit import Outlet
from reconciler.guard import trimmed, writers
from reconciler.resource import APIResource
from reconciler.say.conditions import Condition, find, merged, with_condition
from reconciler.writer import FIELD_MANAGER, Writer

__all__ = ["write_conditions", "write_status"]

_IDENTITY: Final = ("name", "namespace", "uid")


def write_conditions(
    api: Writer,
    resource: APIResource,
    outlet: Outlet,
    obj: dict[str, Any],
    conditions: Sequence[Condition],
    now: datetime,
) -> dict[str, Any]:
    """Write the conditions if they differ; returns the stored object.

    The rest of the status belongs to others. Where the list of conditions is atomic, a write replaces theirs, too, so
    nothing is written beside another manager.
    """
    status = obj.get("status") or {}
    before, generation = status.get("conditions") or [], obj["metadata"].get("generation", 0)
    wanted = merged(before, conditions, generation, now)
    if outlet is Outlet.NONE or all(_is_said(find(before, each["type"]), each) for each in wanted):
        return obj
    if outlet is Outlet.APPLY:
        body = _body(resource, obj, {"conditions": wanted})
        return trimmed(api.apply(resource, body, "status"), resource)
    if set(writers(obj)) - {FIELD_MANAGER}:
        return obj
    for condition in conditions:
        status = with_condition(status, before, condition, generation, now)
    return write_status(api, resource, obj, status)


def write_status(api: Writer, resource: APIResource, obj: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    """Replace the whole status if it differs; returns the stored object.

    The API server refuses the write (409) if the object has changed since it was read, so that the stored object is
    the one that was reconciled.
    """
    if _is_written(obj.get("status") or {}, status):
        return obj
    body = _body(resource, obj, status)
    body["metadata"]["resourceVersion"] = obj["metadata"]["resourceVersion"]
    return trimmed(api.replace(resource, body, "status"), resource)


def _is_written(before: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether the status is there, except members of conditions that the definition does not have."""
    found, conditions = before.get("conditions") or [], wanted.get("conditions") or []
    rest = {**before, "conditions": []} == {**wanted, "conditions": []}
    return rest and len(found) == len(conditions) and all(map(_is_said, found, conditions))


def _body(resource: APIResource, obj: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: obj["metadata"][key] for key in _IDENTITY if key in obj["metadata"]}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "status": status}


def _is_said(before: dict[str, Any] | None, wanted: dict[str, Any]) -> bool:
    """Whether the condition is there; some kinds have no observedGeneration, and lose it."""
    return before is not None and before == {key: value for key, value in wanted.items() if key in before}
