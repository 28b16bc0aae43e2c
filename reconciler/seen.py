"""A view that notes what is read, so that a change of it leads to a new judgement."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from reconciler.resource import Item, Key, Kind
from reconciler.say.conditions import NORMALISED
from webhook.cluster.live import LiveView
from webhook.cluster.readthrough import ClusterAnswer, ClusterQuestion, Reference, RequestView

__all__ = ["Dependents", "Read", "Seen", "essence"]

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
        return self._live.read(question, READ_SECONDS)

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        self.reads.add(Read(kind, namespace))
        return self._live.list(kind, namespace)


def essence(obj: dict[str, Any] | None, *, with_status: bool) -> Any:
    """What others may have read of an object: not its version, and not the condition that this process writes."""
    if obj is None:
        return None
    metadata = {name: obj["metadata"].get(name) for name in ("uid", "labels", "annotations")}
    rest = {name: value for name, value in obj.items() if name not in {"metadata", "status"}}
    status = (obj.get("status") or {}) if with_status else {}
    if isinstance(conditions := status.get("conditions"), list):
        status = {**status, "conditions": [each for each in conditions if each.get("type") != NORMALISED]}
    return metadata, rest, status


class Dependents:
    """Which objects to judge again when another one changes."""

    def __init__(self) -> None:
        self._reads: dict[Item, frozenset[Read]] = {}
        self._items: dict[Read, set[Item]] = {}
        self._lock = threading.Lock()

    def note(self, item: Item, reads: Iterable[Read]) -> None:
        """Replace what is known of an object; no reads: forget it."""
        new = frozenset(reads)
        with self._lock:
            old = self._reads.get(item, frozenset())
            for read in old - new:
                self._items[read].discard(item)
                if not self._items[read]:
                    del self._items[read]
            for read in new - old:
                self._items.setdefault(read, set()).add(item)
            if new:
                self._reads[item] = new
            else:
                self._reads.pop(item, None)

    def of(self, kind: Kind, key: Key) -> set[Item]:
        """The objects whose judgement has read this one, or a list that holds it."""
        asked = (Read(kind, key.namespace, key.name), Read(kind, key.namespace), Read(kind, None))
        with self._lock:
            return {item for read in asked for item in self._items.get(read, ())}
