"""The loop for every kind: judge, heal, say, and act on what is right. It writes only changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from reconciler.audit import Outlet, Ruling, judge, made, outlet
from reconciler.children import Children, owner_of
from reconciler.guard import ANOTHER, Guard, Sign, content
from reconciler.heal import ABSENT, OUTDATED, RESTAMPS, Healer
from reconciler.known import Known, Review
from reconciler.metrics import Metrics
from reconciler.pace import Pace
from reconciler.projection import Controller, Happening, Observed, Projection
from reconciler.queue import Queue
from reconciler.resource import Item, kind_of
from reconciler.say.conditions import Condition, utc_now
from reconciler.say.events import record
from reconciler.say.speaker import NEWS, OnRequest, Speaker, is_erased, said
from reconciler.say.status import whole_status, write_conditions, write_status
from reconciler.seen import Index, Read, Seen, essence, reads_of
from reconciler.writer import Writer
from webhook.admission.errors import ModelgateError
from webhook.cluster import ApiError, APIResource, Key
from webhook.cluster.live import LiveView
from webhook.cluster.view import NODE, Kind

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

DEBOUNCE: Final = 1.0
"""An object may refer to many that change together, as when a release of runtimes is installed."""

NODES: Final = 30.0
"""The same for nodes: an upgrade replaces all of them, one after the other."""

SPREAD: Final = 100.0
"""Objects a second that are judged again because one that they read has changed: a twentieth of a core. Some rules read
the objects of all namespaces, and a tenant may change one as often as it likes."""


class Loop:
    """Reconciles the kinds that ``holds`` names. ``changed`` feeds it; any number of threads ``work``."""

    def __init__(
        self,
        api: Writer,
        view: LiveView,
        rules: Ruling,
        controllers: Mapping[Kind, Controller],
        holds: Callable[[APIResource], bool] = lambda _: True,
        now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
        on_request: OnRequest = OnRequest(),  # noqa: B008 - frozen
    ) -> None:
        self._api = api
        self._view = view
        self.rules = rules
        self._controllers = controllers
        self._now = now
        self._kinds = {kind_of(each): each for each in rules.kinds() if holds(each)}
        self._dependents: Index[Read] = Index()
        self._children = Children(api, view)
        self._healer = Healer(api, Pace(RESTAMPS, RESTAMPS, clock))
        self._speaker = Speaker(api, view, self._children, now, Pace(NEWS, 5 * NEWS, clock), on_request.passing)
        self._known: dict[Item, Known] = {}
        self._absent: set[Kind] = set()  # of children that could not be made
        self.guard = Guard(now, clock)
        self.queue: Queue[Item] = Queue(clock, lambda item: item.key.namespace)
        self.metrics = Metrics(self.queue, self.guard, self._known, on_request.namespaces)

    def use(self, rules: Ruling) -> None:
        """Judge by these rules from now on, and every object again if they differ."""
        changed, self.rules = rules.digest != self.rules.digest, rules
        if changed:
            log.info("rules %s: judging every object again", rules.digest)
            for kind in self._kinds:
                for key in self._view.names(kind):
                    self.queue.add(Item(kind, key))

    def changed(self, kind: Kind, key: Key, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        """Queue what a change concerns: the object, its owner, and those that were judged by it."""
        if kind in self._kinds:
            self.queue.add(Item(kind, key))
        self._children.changed(Item(kind, key), after)
        owner = owner_of(before)  # of a child that was there before: a new one is the work of this loop
        if owner is not None and (resource := self._kinds.get(owner.kind)):
            place = owner.key if resource.namespaced else Key("", owner.key.name)
            self.queue.add_after(Item(owner.kind, place), DEBOUNCE)
        self._spread(kind, key, before, after)

    def arrived(self) -> None:
        """Queue what waits for an API that has been installed by now."""
        for kind in [each for each in self._absent.copy() if self._view.resource(each) is not None]:
            self._absent.discard(kind)
            for item in self._dependents.of(*reads_of(kind, Key("", ""))):
                self.queue.add_after(item, DEBOUNCE)

    def _spread(self, kind: Kind, key: Key, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        if essence(before) != essence(after):
            dependents = self._dependents.of(*reads_of(kind, key)) - {Item(kind, key)}
            least = NODES if kind == NODE else DEBOUNCE
            for dependent in dependents:
                self.queue.add_after(dependent, max(least, len(dependents) / SPREAD))

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
                self._reconcile(item)
            except (ApiError, ModelgateError) as error:
                delay = self._again(item, error.after if isinstance(error, ApiError) else 0.0)
                gone = isinstance(error, ApiError) and error.status == 404  # as the watch will say, too
                log.log(logging.DEBUG if gone else logging.WARNING, "%s: %s; retry in %.0f s", item, error, delay)
            except Exception:  # a fault in one projection must not stop the others
                delay = self._again(item)
                log.exception("%s; retry in %.0f s", item, delay)

    def _again(self, item: Item, least: float = 0.0) -> float:
        delay = max(least, self.queue.backoff(item, FIRST_RETRY, LONGEST_RETRY))
        self.queue.add_after(item, delay)
        return delay

    def _reconcile(self, item: Item) -> None:
        resource, rules = self._kinds[item.kind], self.rules
        obj = self._view.held(item.kind, item.key)
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            self._forget(item)
            return
        known = self._known.get(item)
        if known is None or known.uid != obj["metadata"]["uid"]:
            known = self._known[item] = Known(obj["metadata"]["uid"])
        seen = Seen(self._view)
        verdict = judge(obj, rules, seen)
        self._dependents.note(item, seen.reads)
        if verdict is None:
            return
        review = Review(item, resource, rules, known, seen, obj, verdict)
        answer = self._healer.check_stamp(review)
        self._keep(review, answer.obj)
        wait = answer.wait or self._speaker.say(review, answer.condition)
        if not wait:
            wait = self._conclude(review, answer.condition)
            if answer.condition.status:
                self.queue.forget(item)
        self.queue.add_after(item, wait)

    def _conclude(self, review: Review, condition: Condition) -> float:
        """Act, or write the condition; returns the seconds until the next review."""
        again = self._patience(review, condition)
        controller = self._controllers.get(review.item.kind)
        if held := self._held(review):
            return min(again, held)
        if controller is not None and condition.status:
            return min(again, self._act(review, controller, condition))
        refused = controller.refused if controller is not None and not review.verdict.clean else None
        conditions = (condition,) if refused is None else (refused(review.verdict.causes), condition)
        self._wrote(review, write_conditions(self._api, review, conditions, self._now()))
        return again

    def _act(self, review: Review, controller: Controller, condition: Condition) -> float:
        """Make children and status as the projection says; returns the seconds until the next review."""
        obj, seen = review.obj, review.seen
        kinds = set(map(kind_of, controller.children))
        absent = frozenset(kind for kind in kinds if self._view.resource(kind) is None)
        seen.reads.update(Read(kind, None) for kind in absent)
        measured = controller.observe(obj, seen) if controller.observe else None
        observed = Observed(self._now(), seen, measured, absent, made=lambda each: made(each, review.rules, seen))
        projection = self._projected(review, controller, observed)
        self._absent |= absent
        refused, error = self._made(review, projection, kinds - projection.keep)
        if refused:
            projection = self._projected(review, controller, replace(observed, refused="; ".join(refused)))
        if projection.status is not None:
            status = projection.status
            if outlet(review.rules, review.resource) is not Outlet.NONE:
                status = whole_status(obj, status, condition, self._now(), controller.owns)
            self._wrote(review, write_status(self._api, controller.resource, obj, status))
        self._tell(obj, *projection.events, *(Happening("Warning", "ChildConflict", each) for each in refused))
        if error is not None:
            raise error
        return _next_audit(review.item) if projection.requeue is None else projection.requeue

    def _projected(self, review: Review, controller: Controller, observed: Observed) -> Projection:
        try:
            projection = controller.project(review.obj, observed)
        except ModelgateError:
            raise  # the cluster could not be read
        except Exception as error:
            self._tell(review.obj, Happening("Warning", "ProjectionFailed", f"{type(error).__name__}: {error}"))
            raise
        self._dependents.note(review.item, review.seen.reads)
        review.known.gauges = projection.gauges
        return projection

    def _made(
        self, review: Review, projection: Projection, kinds: Collection[Kind]
    ) -> tuple[list[str], ApiError | None]:
        """Make the children of these kinds; returns what is wrong with them for good, and the error that says it."""
        try:
            for each in projection.shared:
                self._children.share(each)
            conflicts = self._children.sync(review.obj, projection.children, kinds)
        except ApiError as error:
            if error.status not in REFUSALS:
                raise
            return [str(error)], error
        review.seen.reads.update(Read(kind, key.namespace, key.name) for kind, key in conflicts)  # they may go
        return [f"{each} belongs to another owner" for each in conflicts], None

    def _tell(self, obj: dict[str, Any], *happenings: Happening) -> None:
        for happening in happenings:
            record(self._api, obj, happening, self._now())

    def _held(self, review: Review) -> float:
        """Seconds for which the status is left to another manager."""
        obj, known = review.obj, review.known
        sign = None
        if review.item.kind in self._controllers:
            sign = self.guard.sign(obj, known)
        elif is_erased(obj, known):
            sign, known.written = Sign(ANOTHER, True), False
        left, news = self.guard.check(review.rules.api(review.resource), review.item, sign)
        for each in news:
            log.warning("%s: %s", review.item, each.message)
            record(self._api, obj, each, self._now(), again=True)
        return left

    def _patience(self, review: Review, condition: Condition) -> float:
        """Seconds until the next review: soon if the gate refuses what the rules here allow."""
        if condition.status or not review.verdict.clean:
            return _next_audit(review.item)
        soon = condition.reason in {ABSENT, OUTDATED}
        first, most = (FIRST_ABSENT, LONGEST_ABSENT) if soon else (FIRST_REFUSED, LONGEST_REFUSED)
        return self.queue.backoff(review.item, first, most)

    def _wrote(self, review: Review, stored: dict[str, Any]) -> None:
        """Take a written status into memory, by which the write of another manager shows."""
        self._keep(review, stored)
        review.known.status = content(stored)

    def _keep(self, review: Review, stored: dict[str, Any]) -> None:
        """Take the result of a write into memory."""
        review.known.written = review.known.written or said(stored) is not None
        before, review.obj = review.obj, stored
        if stored is not before:
            self._view.written(review.item.kind, before, stored)
            self._spread(*review.item, before, stored)

    def _forget(self, item: Item) -> None:
        self._known.pop(item, None)
        self.guard.forget(item)
        self._dependents.note(item, ())
        self.queue.forget(item)


def _next_audit(item: Item) -> float:
    """:data:`AUDIT`, up to a tenth more or less, the same for the same object: not all are judged at one time."""
    return AUDIT * (0.9 + (hash(item) % 1000) / 5000)
