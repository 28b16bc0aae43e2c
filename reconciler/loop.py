"""The loop for every kind: judge, heal, say, and act on what is right. It writes only changes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from reconciler.audit import Outlet, Rules, Verdict, judge
from reconciler.children import Children, owner_of
from reconciler.guard import Guard
from reconciler.heal import ABSENT, OUTDATED, Answer, Healer
from reconciler.metrics import Metrics
from reconciler.projection import Controller, Happening, Observed, Projection
from reconciler.queue import Queue
from reconciler.resource import APIResource, Item, Key, Kind
from reconciler.say.conditions import NORMALISED, Condition, utc_now, with_condition
from reconciler.say.events import record
from reconciler.say.speaker import Speaker
from reconciler.say.status import write_status
from reconciler.seen import Dependents, Seen
from reconciler.writer import ApiError, Writer
from webhook.admission.errors import ModelgateError
from webhook.cluster.live import LiveView

__all__ = ["Loop"]

log = logging.getLogger(__name__)

FIRST_RETRY, LONGEST_RETRY = 1.0, 300.0
"""Seconds after an error: soon at first, because most errors pass within seconds; later at a rate that a broken cluster
can bear."""

FIRST_REFUSED, LONGEST_REFUSED = 60.0, 3600.0
"""After a refusal by the gate or by another policy of what the rules here allow."""

FIRST_ABSENT, LONGEST_ABSENT = 5.0, 300.0
"""A gate that does not answer restarts (seconds) or is scaled to zero (hours)."""

AUDIT: Final = 3600.0
"""Every object is judged again, also when no change was seen: facts of native policies are not watched."""

REFUSALS: Final = {400, 403, 404, 422}
"""What the API server answers if it would refuse the same child again."""

CONFLICT: Final = "ChildConflict"
"""The reason of the Event about a child that could not be made."""

DEBOUNCE: Final = 1.0
"""An object may refer to many that change together, as when a release of runtimes is installed."""


class Loop:
    """Reconciles all kinds. ``changed`` feeds it; any number of threads ``work``."""

    def __init__(
        self,
        api: Writer,
        view: LiveView,
        rules: Rules,
        controllers: Mapping[Kind, Controller],
        now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._view = view
        self._rules = rules
        self._controllers = controllers
        self._now = now
        self._clock = clock
        self._kinds = {Kind(each.group, each.kind): each for each in rules.kinds()}
        read = {kind.kind for each in controllers.values() for kind in each.reads}
        self._judged_by_status = rules.judged_by_status() | read
        self._dependents = Dependents()
        self._children = Children(api, view)
        self._healer = Healer(api, clock)
        self._speaker = Speaker(api, view, self._children, now, clock)
        self._settled: dict[Item, str] = {}
        self._ahead: dict[Item, tuple[frozenset[str], dict[str, Any]]] = {}  # memory has one of these versions
        self._lock = threading.Lock()
        self.guard = Guard(now())
        self.queue: Queue[Item] = Queue(clock)
        self.metrics = Metrics(self.queue, self.guard)

    @property
    def rules(self) -> Rules:
        return self._rules

    def use(self, rules: Rules) -> None:
        """Judge by these rules from now on, and every object again if they differ."""
        changed, self._rules = rules.digest != self._rules.digest, rules
        if changed:
            log.info("rules %s: judging every object again", rules.digest)
            for kind in self._kinds:
                for key in self._view.names(kind):
                    self.queue.add(Item(kind, key))

    def changed(self, kind: Kind, key: Key, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        """Queue what a change concerns: the object, its owner, and those that were judged by it."""
        item = Item(kind, key)
        if kind in self._kinds and (after is None or not self._is_known(item, _version(after))):
            self.queue.add(item)
        self._children.changed(kind, key, before, after)
        if before is not None and (owner := owner_of(before)):  # a new child is the work of this loop
            self._wake(*owner)
        if self._essence(kind, before) != self._essence(kind, after):
            for dependent in self._dependents.of(kind, key) - {item}:
                self.queue.add_after(dependent, DEBOUNCE)

    def _wake(self, kind: Kind, key: Key) -> None:
        resource = self._kinds.get(kind)
        if resource is not None:
            self.queue.add_after(Item(kind, key if resource.namespaced else Key("", key.name)), DEBOUNCE)

    def _essence(self, kind: Kind, obj: dict[str, Any] | None) -> Any:
        """What others may have read of an object."""
        if obj is None:
            return None
        metadata = {name: obj["metadata"].get(name) for name in ("uid", "labels", "annotations")}
        rest = {name: value for name, value in obj.items() if name not in {"metadata", "status"}}
        if kind in self._kinds and kind.kind not in self._judged_by_status:
            return metadata, rest
        status = obj.get("status") or {}
        if not isinstance(conditions := status.get("conditions"), list):
            return metadata, rest, status
        others = [each for each in conditions if each.get("type") != NORMALISED]
        return metadata, rest, {**status, "conditions": others}

    def work(self) -> None:
        """Run one worker: take keys until the queue is closed."""
        while (item := self.queue.get()) is not None:
            try:
                self.step(item)
            finally:
                self.queue.done(item)

    def step(self, item: Item) -> None:
        """Reconcile one object; an error is logged and leads to a retry."""
        with self.metrics.seconds.time():
            try:
                self._look(item)
            except (ApiError, ModelgateError) as error:
                delay = self._again(item)
                gone = isinstance(error, ApiError) and error.status == 404  # as the watch will say, too
                log.log(logging.DEBUG if gone else logging.WARNING, "%s: %s; retry in %.0f s", item, error, delay)
            except Exception:  # a fault in one projection must not stop the others
                delay = self._again(item)
                log.exception("%s; retry in %.0f s", item, delay)

    def _again(self, item: Item) -> float:
        delay = self.queue.backoff(item, FIRST_RETRY, LONGEST_RETRY)
        self.queue.add_after(item, delay)
        return delay

    def _look(self, item: Item) -> None:
        resource, rules = self._kinds[item.kind], self._rules
        obj = self._current(item)
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            self._forget(item)
            return
        seen = Seen(self._view)
        verdict = judge(obj, rules, seen)
        self._dependents.note(item, seen.reads)
        if verdict is None:
            return
        answer = self._healer.stand(item, resource, obj, verdict, rules)
        if answer.obj is not obj:
            self._keep(item, obj, answer.obj)
        wait = answer.wait or self._speaker.turn(item, answer.obj, answer.condition)
        if wait:
            self.queue.add_after(item, wait)
            return
        self._conclude(item, resource, answer, verdict, rules)

    def _conclude(self, item: Item, resource: APIResource, answer: Answer, verdict: Verdict, rules: Rules) -> None:
        obj, condition = answer.obj, answer.condition
        log.debug("%s: %s", item, condition.reason)
        self.metrics.note(item, condition.reason, verdict.codes)
        self._speaker.announce(item, obj, condition)
        self._speaker.report(obj, resource, rules, verdict, condition)
        again = AUDIT * _jitter(item) if condition.status or not verdict.clean else self._patience(item, condition)
        controller = self._controllers.get(item.kind)
        if controller is not None and condition.status and not self._is_held(item, obj, controller.api):
            again = min(again, self._act(item, controller, obj, condition))
        elif not self._is_held(item, obj, rules.api(resource)):
            refused = controller.refused if controller is not None and not verdict.clean else None
            more = () if refused is None else (refused(verdict.causes),)
            stored = self._speaker.conditions(item, obj, resource, rules.outlet(resource), *more, condition)
            self._keep(item, obj, stored)
        if condition.status:
            self.queue.forget(item)
        self.queue.add_after(item, again)

    def _act(self, item: Item, controller: Controller, obj: dict[str, Any], condition: Condition) -> float:
        """Make children and status as the projection says; returns the seconds until the next look."""
        seen = Seen(self._view)
        kinds = {Kind(each.group, each.kind) for each in controller.children}
        absent = frozenset(kind for kind in kinds if self._view.resource(kind) is None)
        measured = controller.observe(obj, seen) if controller.observe else None
        observed = Observed(self._now(), seen, measured, absent)
        projection = self._projected(controller, obj, observed)
        self._dependents.note(item, seen.reads | self._dependents.reads(item))
        self.metrics.show(item, projection.gauges)
        refused, error = self._made(controller, obj, projection, kinds - absent - projection.keep)
        if refused:
            projection = self._projected(controller, obj, replace(observed, refused="; ".join(refused)))
        if projection.status is not None:
            status = projection.status
            if self._rules.outlet(controller.resource) is not Outlet.NONE:
                status = self._whole(obj, status, condition, controller.owns)
            stored = write_status(self._api, controller.resource, obj, status)
            self._speaker.wrote(item, stored)
            self._keep(item, obj, stored)
        for happening in (*projection.events, *(Happening("Warning", CONFLICT, each) for each in refused)):
            record(self._api, obj, happening, self._now())
        if error is not None:
            raise error
        return AUDIT * _jitter(item) if projection.requeue is None else projection.requeue

    def _projected(self, controller: Controller, obj: dict[str, Any], observed: Observed) -> Projection:
        try:
            return controller.project(obj, observed)
        except ModelgateError:
            raise  # the cluster could not be read
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            record(self._api, obj, Happening("Warning", "ProjectionFailed", text), self._now())
            raise

    def _made(
        self, controller: Controller, obj: dict[str, Any], projection: Projection, kinds: Collection[Kind]
    ) -> tuple[list[str], ApiError | None]:
        """Make the children; returns what is wrong with them for good, and the error that says it."""
        wanted = [(controller.child(child), child) for child in projection.children]
        try:
            for shared in projection.shared:
                self._children.share(controller.child(shared), shared)
            present = [each for each in wanted if Kind(each[0].group, each[0].kind) in kinds]
            conflicts = self._children.sync(obj, present, kinds)
        except ApiError as error:
            if error.status not in REFUSALS:
                raise
            return [str(error)], error
        return [f"{each} belongs to another owner" for each in conflicts], None

    def _whole(
        self, obj: dict[str, Any], status: dict[str, Any], condition: Condition, owns: frozenset[str]
    ) -> dict[str, Any]:
        """The projected status with the verdict, and with the conditions of other controllers."""
        before = (obj.get("status") or {}).get("conditions") or []
        own = {each["type"] for each in status.get("conditions") or ()} | owns
        foreign = [each for each in before if each.get("type") not in own]
        joined = {**status, "conditions": [*status.get("conditions", ()), *foreign]}
        return with_condition(joined, before, condition, obj["metadata"].get("generation", 0), self._now())

    def _is_held(self, item: Item, obj: dict[str, Any], api: str) -> bool:
        """Whether the status of the API's objects is left to another manager."""
        why = ""
        if item.kind in self._controllers:
            why = self.guard.check(api, obj)
        if api not in self.guard.held and self._speaker.is_erased(item, obj):
            why = self.guard.hold(api, obj)
        if why:
            log.warning("%s: %s", item, why)
            record(self._api, obj, Happening("Warning", "HeldBack", why), self._now())
        return api in self.guard.held

    def _patience(self, item: Item, condition: Condition) -> float:
        """Seconds until the gate is asked again about an object that the rules here allow."""
        soon = condition.reason in {ABSENT, OUTDATED}
        first, most = (FIRST_ABSENT, LONGEST_ABSENT) if soon else (FIRST_REFUSED, LONGEST_REFUSED)
        return self.queue.backoff(item, first, most)

    def _current(self, item: Item) -> dict[str, Any] | None:
        """The object in memory, or what was stored last if memory does not have it yet."""
        obj = self._view.held(item.kind, item.key)
        with self._lock:
            older, stored = self._ahead.get(item, (frozenset[str](), None))
            if obj is not None and stored is not None and _version(obj) in older:
                return stored
            self._ahead.pop(item, None)
        return obj

    def _is_known(self, item: Item, version: str) -> bool:
        """Whether a version is the result of a write of this loop, or older than that."""
        with self._lock:
            if self._settled.get(item) == version:
                self._ahead.pop(item, None)
                return True
            return version in self._ahead.get(item, (frozenset[str](), None))[0]

    def _keep(self, item: Item, before: dict[str, Any], stored: dict[str, Any]) -> None:
        """Remember the result of a write, until the watch has it, too."""
        if stored is before:
            return
        with self._lock:
            older = self._ahead.get(item, (frozenset[str](), None))[0]
            self._ahead[item] = older | {_version(before)}, stored
            self._settled[item] = _version(stored)

    def _forget(self, item: Item) -> None:
        self._healer.forget(item)
        self._speaker.forget(item)
        self._dependents.note(item, ())
        self.queue.forget(item)
        self.metrics.forget(item)
        with self._lock:
            self._settled.pop(item, None)
            self._ahead.pop(item, None)


def _jitter(item: Item) -> float:
    """From 0.9 to 1.1, the same for the same object: not all are judged at one time."""
    return 0.9 + (hash(item) % 1000) / 5000


def _version(obj: dict[str, Any]) -> str:
    version: str = obj["metadata"]["resourceVersion"]
    return version
