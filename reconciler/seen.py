"""A view that notes what is read, so that a change of it leads to a new judgement."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from reconciler.resource import Item
from reconciler.say.conditions import NORMALISED
from webhook.cluster import LISTED, ClusterAnswer, ClusterQuestion, Key, Reference, RequestView
from webhook.cluster.live import LiveView
from webhook.cluster.view import Kind, Sought, Unwatched

READ_SECONDS: Final = 10.0
"""For an answer that is not in memory: OME's ConfigMap, and questions of native policies."""


class Read(NamedTuple):
    """An object by name, or (``name`` empty) all objects of a kind, in one namespace or (None) in all."""

    kind: Kind
    namespace: str | None
    name: str = ""


class Seen(RequestView):
    """The cluster, for one judgement. What is not in memory is read at once: no user waits."""

    def __init__(self, view: LiveView) -> None:
        super().__init__(view, {})
        self._live = view
        self.reads: set[Read] = set()

    def ask(self, question: ClusterQuestion) -> ClusterAnswer:
        """The answer.

        Raises:
            Unavailable: the API server does not answer.
        """
        if isinstance(question, Reference) and not question.version and self._live.watches(question.kind, question.key):
            self.reads.add(Read(question.kind, question.namespace, question.name))
            return self._live.held(question.kind, question.key)
        if isinstance(question, Reference) and not question.version and self._live.outside(question.namespace):
            return None
        return self._live.read(question, READ_SECONDS)

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        if kind in LISTED or (isinstance(kind, Sought) and not self._live.follows(kind)):
            return super().list(kind, namespace)
        if self._live.follows_one(kind):
            raise Unwatched(f"{kind.kind} objects are read by name")
        self.reads.add(Read(kind, namespace))
        return self._live.list(kind, namespace)


def essence(obj: dict[str, Any] | None) -> Any:
    """What others may have read of an object: not its version, and not the condition that this process writes."""
    if obj is None:
        return None
    metadata = {name: obj["metadata"].get(name) for name in ("uid", "labels", "annotations")}
    rest = {name: value for name, value in obj.items() if name not in {"metadata", "status"}}
    status = obj.get("status") or {}
    if isinstance(conditions := status.get("conditions"), list):
        status = {**status, "conditions": [each for each in conditions if each.get("type") != NORMALISED]}
    return metadata, rest, status


def reads_of(kind: Kind, key: Key) -> tuple[Read, ...]:
    """What reads an object: by its name, or a list that holds it."""
    return Read(kind, key.namespace, key.name), Read(kind, key.namespace), Read(kind, None)


M = TypeVar("M")


class Index(Generic[M]):
    """Objects by their marks: what was read for them, or the UID of their owner."""

    def __init__(self) -> None:
        self._marks: dict[Item, frozenset[M]] = {}
        self._items: dict[M, set[Item]] = {}
        self._lock = threading.Lock()

    def note(self, item: Item, marks: Iterable[M]) -> None:
        """Replace the marks of an object; none: forget it."""
        new = frozenset(marks)
        with self._lock:
            old = self._marks.pop(item, frozenset())
            for mark in old - new:
                self._items[mark].discard(item)
                if not self._items[mark]:
                    del self._items[mark]
            for mark in new - old:
                self._items.setdefault(mark, set()).add(item)
            if new:
                self._marks[item] = new

    def of(self, *marks: M) -> set[Item]:
        """The objects with one of these marks."""
        with self._lock:
            return {item for mark in marks for item in self._items.get(mark, ())}
