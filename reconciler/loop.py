"""The loop for every kind: take a key, read, check the stamp, project, apply. It writes only changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reconciler import admission
from reconciler.apply import apply_child, apply_status
from reconciler.conditions import Condition, find, merged, utc_now
from reconciler.events import record
from reconciler.observer import Observer
from reconciler.projection import Controller, Happening, Projection
from reconciler.queue import Queue
from reconciler.resource import Key
from reconciler.writer import ApiError, Writer

__all__ = ["Loop"]

log = logging.getLogger(__name__)

# Seconds after an error: soon at first, because most errors pass within seconds; later at a rate that a broken cluster
# can bear.
FIRST_RETRY, LONGEST_RETRY = 1.0, 300.0

# A refused object stays refused until it is edited, which triggers the loop anyway, or the rules change.
FIRST_REFUSED, LONGEST_REFUSED = 60.0, 3600.0

# A gate that does not answer restarts (seconds) or is scaled to zero (hours).
FIRST_ABSENT, LONGEST_ABSENT = 5.0, 300.0


@dataclass(frozen=True, slots=True)
class Settled:
    """The resource version of a reconciled object, and when to check it again (clock; None: never)."""

    version: str
    due: float | None


class Loop:
    """Applies one controller's projections. ``changed`` and ``deleted`` feed it; any number of threads ``work``."""

    def __init__(
        self,
        api: Writer,
        controller: Controller,
        now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._controller = controller
        self._now = now
        self._clock = clock
        self._observer = Observer(api, now, clock)
        self._settled: dict[Key, Settled] = {}
        self._verified = admission.Verified()
        self.queue: Queue[Key] = Queue(clock)

    def changed(self, key: Key, version: str) -> None:
        """Queue an object that exists or has changed; the loop's own writes are recognised and skipped."""
        settled = self._settled.get(key)
        if settled is None or settled.version != version:
            self.queue.add(key)

    def deleted(self, key: Key) -> None:
        self._settled.pop(key, None)
        self._verified.forget(key)
        self.queue.forget(key)

    def work(self) -> None:
        """Run one worker: take keys until the queue is closed."""
        while (key := self.queue.get()) is not None:
            try:
                self.step(key)
            finally:
                self.queue.done(key)

    def step(self, key: Key) -> None:
        """Reconcile one key; an error is logged and leads to a retry."""
        try:
            self._reconcile(key)
        except ApiError as error:
            delay = self._again(key)
            log.warning("%s %s: %s; retry in %.0f s", self._controller.resource.kind, key, error, delay)
        except Exception:  # a fault in one projection must not stop the others
            delay = self._again(key)
            log.exception("%s %s; retry in %.0f s", self._controller.resource.kind, key, delay)

    def _again(self, key: Key) -> float:
        self._settled.pop(key, None)
        delay = self.queue.backoff(key, FIRST_RETRY, LONGEST_RETRY)
        self.queue.add_after(key, delay)
        return delay

    def _reconcile(self, key: Key) -> None:
        obj = self._api.get(self._controller.resource, key.namespace, key.name)
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            self.deleted(key)
        elif not self._rests(key, obj):
            self._act(key, obj)

    def _rests(self, key: Key, obj: dict[str, Any]) -> bool:
        """Whether the object is unchanged since it was reconciled and not due yet."""
        settled = self._settled.get(key)
        if settled is None or settled.version != obj["metadata"]["resourceVersion"]:
            return False
        if settled.due is None:
            return True
        left = settled.due - self._clock()
        if left > 0:
            self.queue.add_after(key, left)
        return left > 0

    def _act(self, key: Key, obj: dict[str, Any]) -> None:
        answer = admission.ask(self._api, self._controller.resource, obj, self._verified)
        if not answer.condition.status:
            self._hold_back(key, answer)
            return
        projection = self._project(answer.obj)
        for child in projection.children:
            apply_child(self._api, self._controller.child(child), answer.obj, child)
        stored = self._write_status(answer.obj, projection, answer.condition)
        for happening in projection.events:
            record(self._api, stored, happening, self._now())
        self.queue.forget(key)
        self._settle(key, stored, projection.requeue)

    def _project(self, obj: dict[str, Any]) -> Projection:
        observed = self._observer.observe(self._controller.lookups(obj))
        facts = self._controller.facts(obj, observed.view)
        return self._controller.project(obj, facts, observed)

    def _write_status(self, obj: dict[str, Any], projection: Projection, condition: Condition) -> dict[str, Any]:
        if projection.status is None:
            return obj
        return apply_status(self._api, self._controller.resource, obj, self._with(obj, projection.status, condition))

    def _hold_back(self, key: Key, answer: admission.GateAnswer) -> None:
        """Report on the object why the reconciler does not act on it; the rest of its status stays."""
        before = find((answer.obj.get("status") or {}).get("conditions") or (), admission.NORMALISED)
        status = self._with(answer.obj, answer.obj.get("status") or {}, answer.condition)
        stored = apply_status(self._api, self._controller.resource, answer.obj, status)
        if before is None or _said(before) != _said(status["conditions"][-1]):
            happening = Happening("Warning", answer.condition.reason, answer.condition.message)
            record(self._api, stored, happening, self._now())
        absent = answer.condition.reason == admission.ABSENT
        first, most = (FIRST_ABSENT, LONGEST_ABSENT) if absent else (FIRST_REFUSED, LONGEST_REFUSED)
        self._settle(key, stored, self.queue.backoff(key, first, most))

    def _with(self, obj: dict[str, Any], status: dict[str, Any], condition: Condition) -> dict[str, Any]:
        """A status with the condition as the last of its conditions."""
        before = (obj.get("status") or {}).get("conditions") or []
        generation = obj["metadata"].get("generation", 0)
        others = [item for item in status.get("conditions", ()) if item["type"] != condition.type]
        return {**status, "conditions": others + merged(before, [condition], generation, self._now())}

    def _settle(self, key: Key, stored: dict[str, Any], requeue: float | None) -> None:
        due = None if requeue is None else self._clock() + requeue
        self._settled[key] = Settled(stored["metadata"]["resourceVersion"], due)
        if requeue is not None:
            self.queue.add_after(key, requeue)


def _said(condition: dict[str, Any]) -> tuple[str, str, str]:
    return condition["status"], condition["reason"], condition["message"]
