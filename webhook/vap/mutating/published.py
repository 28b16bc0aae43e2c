"""The schema of a custom resource as the API server publishes it: with the metadata that its CRD leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["OBJECT_FIELDS", "published"]

_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_TEXTS: Final = {"type": "object", "additionalProperties": _TEXT}
_INTEGER: Final = {"type": "integer"}
_BOOLEAN: Final = {"type": "boolean"}
_OWNER: Final = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "properties": {
        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _TEXT),
        **dict.fromkeys(("controller", "blockOwnerDeletion"), _BOOLEAN),
    },
}
_OBJECT_META: Final = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion", "selfLink"), _TEXT),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), _INTEGER),
        **dict.fromkeys(("labels", "annotations"), _TEXTS),
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": _TEXT},
        "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object"}},
        "ownerReferences": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "items": _OWNER,
        },
    },
}
OBJECT_FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _OBJECT_META}
"""The fields that every object has."""


def published(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The published schema, made from the schema in the CRD."""
    return {**schema, "type": "object", "properties": {**(schema.get("properties") or {}), **OBJECT_FIELDS}}
