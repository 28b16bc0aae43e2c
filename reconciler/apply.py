"""Write the desired state by server-side apply, only if something differs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import orjson

from reconciler.resource import APIResource
from reconciler.writer import Writer

__all__ = ["apply_child", "apply_status", "covers"]

# A digest of what was applied last, on every child: only this shows that a field was removed.
APPLIED = "modelgate.dev/applied"

IDENTITY = ("name", "namespace", "uid", "resourceVersion")


def apply_status(api: Writer, resource: APIResource, obj: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    """Write the whole status if it differs; returns the stored object.

    The API server refuses the write (409) if the object has changed since it was read, so that the stored object is
    the one that was reconciled.
    """
    if obj.get("status", {}) == status:
        return obj
    metadata = {key: obj["metadata"][key] for key in IDENTITY if key in obj["metadata"]}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "status": status}
    return api.apply(resource, body, "status")


def apply_child(api: Writer, resource: APIResource, owner: dict[str, Any], child: dict[str, Any]) -> None:
    """Write one child, in its owner's namespace and with an owner reference, if it differs."""
    wanted = _owned(child, owner)
    metadata = wanted["metadata"]
    existing = api.get(resource, metadata.get("namespace", ""), metadata["name"])
    if existing is None or not covers(existing, wanted):
        api.apply(resource, wanted)


def covers(existing: Any, wanted: Any) -> bool:
    """Whether everything wanted is present; other keys of a map are ignored."""
    if isinstance(wanted, dict):
        return isinstance(existing, dict) and all(
            key in existing and covers(existing[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return _covers_items(existing, wanted)
    return bool(existing == wanted)


def _covers_items(existing: Any, wanted: Sequence[Any]) -> bool:
    """Compare items in order; the API server fills in fields of items, but does not add items."""
    return isinstance(existing, list) and len(existing) == len(wanted) and all(map(covers, existing, wanted))


def _owned(child: dict[str, Any], owner: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(child["metadata"])
    if "namespace" in owner["metadata"]:
        metadata["namespace"] = owner["metadata"]["namespace"]
    metadata["ownerReferences"] = [_reference(owner)]
    metadata["annotations"] = {**metadata.get("annotations", {}), APPLIED: _digest(child)}
    return {**child, "metadata": metadata}


def _reference(owner: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _digest(child: dict[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(child, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
