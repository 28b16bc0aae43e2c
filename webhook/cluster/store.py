"""The objects of one kind in memory, reduced and in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from webhook.cluster.locks import MEMORY
from webhook.cluster.resource import APIResource, Key

__all__ = ["Store", "light"]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Store:
    """Written by the thread that follows the kind, and with the results of writes; read by many.

    ``packed``: objects are held as JSON text, a fifth of their size as Python objects, and parsed for each reader.
    """

    def __init__(self, *, packed: bool = False) -> None:
        self._packed = packed
        self._objects: dict[Key, dict[str, Any] | bytes] = {}
        self._replaced: dict[Key, frozenset[str]] = {}  # versions that a watch may still bring
        self._lists: dict[str | None, tuple[dict[str, Any], ...]] = {}  # built on demand, dropped by every change

    def put(self, key: Key, obj: dict[str, Any]) -> bool:
        """Take what a list or watch brings; False if it is older than the result of a write."""
        with MEMORY:
            if _version(obj) in self._replaced.get(key, ()):
                return False
            self._replaced.pop(key, None)
            self._hold(key, obj)
            return True

    def written(self, key: Key, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Take the result of a write that has replaced ``before``, until the watch brings it or a later version."""
        with MEMORY:
            replaced = self._replaced.get(key, frozenset()) | {_version(before)}
            held = self._objects.get(key)
            if held is not None and _version(_unpacked(held)) in replaced:
                self._replaced[key] = replaced
                self._hold(key, after)

    def _hold(self, key: Key, obj: dict[str, Any]) -> None:
        self._objects[key] = orjson.dumps(obj) if self._packed else obj
        self._lists.clear()

    def drop(self, key: Key) -> None:
        with MEMORY:
            self._objects.pop(key, None)
            self._replaced.pop(key, None)
            self._lists.clear()

    def get(self, key: Key) -> dict[str, Any] | None:
        with MEMORY:
            held = self._objects.get(key)
        return None if held is None else _unpacked(held)

    def count(self) -> int:
        return len(self._objects)

    def names(self) -> Sequence[Key]:
        with MEMORY:
            return tuple(self._objects)

    def list(self, namespace: str | None) -> Sequence[dict[str, Any]]:
        """Ordered by namespace and name."""
        with MEMORY:
            found = self._lists.get(namespace)
            if found is None:
                keys = sorted(key for key in self._objects if namespace is None or key.namespace == namespace)
                found = tuple(_unpacked(self._objects[key]) for key in keys)
                if not self._packed:
                    self._lists[namespace] = found
            return found


def _version(obj: dict[str, Any]) -> str:
    version: str = obj["metadata"].get("resourceVersion", "")
    return version


def _unpacked(held: dict[str, Any] | bytes) -> dict[str, Any]:
    if isinstance(held, dict):
        return held
    parsed: dict[str, Any] = orjson.loads(held)
    return parsed


def light(obj: dict[str, Any], resource: APIResource) -> dict[str, Any]:
    """An object without the parts that facts never read, and with the kind, which lists of built-in kinds omit.

    ``managedFields`` and kubectl's copy of the object are each as large as the object itself. Of nodes (thousands in a
    cluster, each with a list of images) facts read only the labels.
    """
    if resource.kind == "Node" and not resource.group:
        obj = {"metadata": obj["metadata"]}
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    annotations = metadata.get("annotations") or {}
    if LAST_APPLIED in annotations:
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    return {**obj, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
