"""Write into the status: one condition, or the whole of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from reconciler.audit import Outlet, outlet
from reconciler.guard import trimmed, writers
from reconciler.known import Review
from reconciler.say.conditions import Condition, find, merged, with_conditions
from reconciler.writer import FIELD_MANAGER, Writer
from webhook.cluster import APIResource

_IDENTITY: Final = ("name", "namespace", "uid")


def write_conditions(api: Writer, review: Review, conditions: Sequence[Condition], now: datetime) -> dict[str, Any]:
    """Write the conditions if they differ; returns the stored object.

    The rest of the status belongs to others. Where the list of conditions is atomic, a write replaces theirs, too, so
    nothing is written beside another manager.
    """
    obj, resource, room = review.obj, review.resource, outlet(review.rules, review.resource)
    status = obj.get("status") or {}
    before, generation = status.get("conditions") or [], obj["metadata"].get("generation", 0)
    wanted = merged(before, conditions, generation, now)
    if room is Outlet.NONE or all(_is_said(find(before, each["type"]), each) for each in wanted):
        return obj
    if room is Outlet.APPLY:
        return trimmed(api.apply(resource, _bare(obj, {"conditions": wanted}), "status"), resource)
    if set(writers(obj)) - {FIELD_MANAGER}:
        return obj
    return write_status(api, resource, obj, with_conditions(status, wanted))


def write_status(api: Writer, resource: APIResource, obj: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    """Replace the whole status if it differs; returns the stored object.

    The API server refuses the write (409) if the object has changed since it was read, so that the stored object is
    the one that was reconciled.
    """
    if _is_written(obj.get("status") or {}, status):
        return obj
    return trimmed(api.replace(resource, _bare(obj, status, "resourceVersion"), "status"), resource)


def whole_status(
    obj: dict[str, Any], status: dict[str, Any], verdict: Condition, now: datetime, owns: Collection[str] = ()
) -> dict[str, Any]:
    """A projected status with the verdict, and with the conditions of other controllers, of types not in ``owns``."""
    before = (obj.get("status") or {}).get("conditions") or []
    own = status.get("conditions", ())
    types = {each["type"] for each in own}.union(owns)
    joined = {**status, "conditions": [*own, *(each for each in before if each.get("type") not in types)]}
    return with_conditions(joined, merged(before, [verdict], obj["metadata"].get("generation", 0), now))


def _is_written(before: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether the status is there, except members of conditions that the definition does not have."""
    found, conditions = before.get("conditions") or [], wanted.get("conditions") or []
    rest = {**before, "conditions": []} == {**wanted, "conditions": []}
    return rest and len(found) == len(conditions) and all(map(_is_said, found, conditions))


def _is_said(before: dict[str, Any] | None, wanted: dict[str, Any]) -> bool:
    """Whether the condition is there; some kinds have no observedGeneration, and lose it."""
    return before is not None and before == {key: value for key, value in wanted.items() if key in before}


def _bare(obj: dict[str, Any], status: dict[str, Any], *more: str) -> dict[str, Any]:
    metadata = {key: obj["metadata"][key] for key in (*_IDENTITY, *more) if key in obj["metadata"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, "status": status}
