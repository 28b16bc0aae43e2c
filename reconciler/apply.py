"""Brings what should be to the API server: by server-side apply, and only where something differs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import orjson

from reconciler.resource import APIResource
from reconciler.writer import Writer

__all__ = ["apply_child", "apply_status", "covers"]

# What we applied last, on every child: a field that we no longer want shows in this alone.
APPLIED = "modelgate.dev/applied"

IDENTITY = ("name", "namespace", "uid", "resourceVersion")


def apply_status(api: Writer, resource: APIResource, obj: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    """Writes the whole status unless it is already so; returns the object as it is then stored.

    It is refused (409) where the object has changed since it was read: of what is stored after a
    write we believe that we have seen it.
    """
    if obj.get("status", {}) == status:
        return obj
    metadata = {key: obj["metadata"][key] for key in IDENTITY if key in obj["metadata"]}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "status": status}
    return api.apply(resource, body, "status")


def apply_child(api: Writer, resource: APIResource, owner: dict[str, Any], child: dict[str, Any]) -> None:
    """Writes one child, in its owner's namespace and owned by it, unless it is already so."""
    wanted = _owned(child, owner)
    metadata = wanted["metadata"]
    existing = api.get(resource, metadata.get("namespace", ""), metadata["name"])
    if existing is None or not covers(existing, wanted):
        api.apply(resource, wanted)


def covers(existing: Any, wanted: Any) -> bool:
    """Whether everything wanted is there; what others added to a map does not matter."""
    if isinstance(wanted, dict):
        return isinstance(existing, dict) and all(
            key in existing and covers(existing[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return _covers_items(existing, wanted)
    return bool(existing == wanted)


def _covers_items(existing: Any, wanted: Sequence[Any]) -> bool:
    """Items in order; the API server fills in fields of an item, but adds none."""
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
