"""What projections read of the objects of Kubernetes, and how they name their own."""

from __future__ import annotations

import re
from typing import Any

from reconciler.projection import Happening
from reconciler.resource import kind_of
from webhook.admission import one_line
from webhook.cluster import APIResource
from webhook.cluster.view import ClusterView
from webhook.facts import LABEL, label, named

__all__ = [
    "LABEL",
    "child_of",
    "condition_of",
    "given",
    "job_state",
    "label",
    "mine",
    "named",
    "new",
    "news",
    "on_nodes",
    "short",
]


def mine(child: dict[str, Any] | None, owner: dict[str, Any]) -> bool:
    """Whether the child exists and its controller is the owner."""
    references = (child or {}).get("metadata", {}).get("ownerReferences") or ()
    return any(each.get("controller") and each["uid"] == owner["metadata"].get("uid") for each in references)


def child_of(owner: dict[str, Any], view: ClusterView, resource: APIResource, name: str) -> dict[str, Any] | None:
    """The child of this name in the owner's namespace, if the owner is its controller."""
    found = view.get(kind_of(resource), owner["metadata"]["namespace"], name)
    return found if mine(found, owner) else None


def job_state(job: dict[str, Any] | None) -> str:
    """What a Job does: "succeeded", "failed" or "active"; empty if it does not exist."""
    if job is None:
        return ""
    found = {each["type"]: each["status"] for each in (job.get("status") or {}).get("conditions") or ()}
    if found.get("Complete") == "True":
        return "succeeded"
    return "failed" if found.get("Failed") == "True" else "active"


def condition_of(obj: dict[str, Any] | None, type_: str) -> dict[str, Any]:
    """The condition of this type in the status; empty without one."""
    found: list[dict[str, Any]] = ((obj or {}).get("status") or {}).get("conditions") or []
    return next((each for each in found if each.get("type") == type_), {})


def news(obj: dict[str, Any], type_: str, reason: str, message: str) -> tuple[Happening, ...]:
    """A warning, unless the condition of this type says it already."""
    before = condition_of(obj, type_)
    said = (before.get("status"), before.get("reason"), before.get("message"))
    return () if said == ("True", reason, one_line(message)) else (Happening("Warning", reason, message),)


def new(resource: APIResource, metadata: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An object to make."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **more}


def given(**members: Any) -> dict[str, Any]:
    """The members that are not empty."""
    return {key: value for key, value in members.items() if value}


def on_nodes(key: str, values: list[str]) -> dict[str, Any]:
    """The affinity to nodes whose label has one of these values."""
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": values}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def short(name: str) -> str:
    """A name of at most 63 characters, as AIM's operator cuts it."""
    return re.sub("[^a-z0-9-]", "-", name.lower())[:LABEL].strip("-")
