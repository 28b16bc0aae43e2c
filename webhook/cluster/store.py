"""What memory holds of a cluster: the objects of a watched kind, recent answers, and the lock of both.

A thread that forks holds the lock, so that a child never finds it taken. A child has one thread, a copy of the one that
forked. A lock that another thread held at that moment is never released in the child. Large reviews are decided in
children, and read the view, which informer threads write all the time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from webhook.cluster.readthrough import ClusterAnswer, ClusterQuestion, LabelSelection, Reference, is_optional
from webhook.cluster.view import Key, Kind

MEMORY: Final = threading.Lock()
"""One lock for all stores and recent answers: it is held only for dictionary operations, so threads rarely wait."""

os.register_at_fork(before=MEMORY.acquire, after_in_parent=MEMORY.release, after_in_child=MEMORY.release)


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


SLOW: Final = {
    Kind("", "ConfigMap"): 30.0,
    Kind("", "LimitRange"): 5.0,
    Kind("", "ResourceQuota"): 5.0,
    Kind("apiextensions.k8s.io", "CustomResourceDefinition"): 30.0,
    Kind("resource.k8s.io", "DeviceClass"): 30.0,
}
"""Seconds for which answers about the surroundings of pods are kept: they seldom change, and are asked for each pod."""

KEEP: Final = 1.0
"""Seconds. Long enough for both webhooks of a request and for a burst of objects with the same reference. An object
that is created just after a refusal is found at the next attempt."""

LIMIT: Final = 10_000
"""Entries, limited because names come from users: enough for a thousand requests a second with ten new names each."""


class RecentAnswers:
    """Answers by question, each for ``KEEP`` seconds; also that an object does not exist."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[ClusterQuestion, tuple[float, ClusterAnswer]] = {}

    def get(self, question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        """Whether there is a recent answer, and the answer."""
        with MEMORY:
            until, found = self._entries.get(question, (float("-inf"), None))
        return (True, found) if self._clock() < until else (False, None)

    def put(self, question: ClusterQuestion, found: ClusterAnswer) -> None:
        now = self._clock()
        keep = KEEP
        if isinstance(question, Reference | LabelSelection) and is_optional(question):
            keep = SLOW.get(question.kind, KEEP)
        with MEMORY:
            self._entries.pop(question, None)  # inserted again, so that the oldest entries come first
            self._entries[question] = now + keep, found
            while len(self._entries) > LIMIT or next(iter(self._entries.values()))[0] <= now:
                del self._entries[next(iter(self._entries))]
