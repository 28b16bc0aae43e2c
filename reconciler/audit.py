"""The judgement of stored objects, and where a kind has room for the verdict.

This is the only module of the reconciler that knows the engine.
"""

from __future__ import annotations

from enum import Enum

from webhook.admission import GroupVersionKind
from webhook.cluster import APIResource
from webhook.engine.audit import Ruling, Standing, Verdict, judge, load, made, native_policies

__all__ = ["Outlet", "Ruling", "Standing", "Verdict", "judge", "load", "made", "native_policies", "outlet"]


class Outlet(Enum):
    """How the verdict can be written into the status of a kind."""

    APPLY = "by server-side apply of one condition"
    REPLACE = "by replacing the status, because its list of conditions is atomic"
    NONE = "not at all: there are no conditions, or a write of the status would be a new generation"


def outlet(rules: Ruling, resource: APIResource) -> Outlet:
    """Where the installed definition of a kind has room for a verdict."""
    known = rules.catalog.find(GroupVersionKind(resource.group, resource.version, resource.kind))
    if known is None or not known.status:
        return Outlet.NONE
    conditions = known.schema.raw.get("properties", {}).get("status", {}).get("properties", {}).get("conditions")
    if not conditions:
        return Outlet.NONE
    return Outlet.APPLY if conditions.get("x-kubernetes-list-type") == "map" else Outlet.REPLACE
