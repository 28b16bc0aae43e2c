"""Tell users of a verdict: an Event when it changes, a Report while there are findings, and a condition."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from reconciler.audit import Outlet, Rules, Verdict
from reconciler.children import Children
from reconciler.pace import Pace
from reconciler.projection import Happening
from reconciler.resource import APIResource, Item
from reconciler.say import reports
from reconciler.say.conditions import NORMALISED, Condition, find
from reconciler.say.events import record
from reconciler.say.status import write_conditions
from reconciler.writer import ApiError, Writer
from webhook.cluster.live import LiveView

__all__ = ["Speaker"]

log = logging.getLogger(__name__)

NEWS: Final = 20.0
"""A second, after a burst of five seconds' worth: one new rule may refuse thousands of objects."""

Said = tuple[str, str, str]
"""Status, reason and message of a condition."""


class Speaker:
    """Remembers what was said of each object."""

    def __init__(
        self,
        api: Writer,
        view: LiveView,
        children: Children,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._view = view
        self._children = children
        self._now = now
        self._pace = Pace(NEWS, 5 * NEWS, clock)
        self._said: dict[Item, Said] = {}
        self._written: dict[Item, str] = {}
        self._erased: set[Item] = set()
        self._lock = threading.Lock()

    def forget(self, item: Item) -> None:
        self._pace.forget(item)
        with self._lock:
            self._said.pop(item, None)
            self._written.pop(item, None)
            self._erased.discard(item)

    def turn(self, item: Item, obj: dict[str, Any], condition: Condition) -> float:
        """Seconds to wait before there may be an Event about the object; 0 if there is nothing new."""
        before = self._before(item, obj)
        is_news = before != _said(condition) if before else not condition.status
        return self._pace.turn(item) if is_news else 0.0

    def announce(self, item: Item, obj: dict[str, Any], condition: Condition) -> None:
        """Write an Event if the verdict has changed. A good verdict alone needs none."""
        before, said = self._before(item, obj), _said(condition)
        with self._lock:
            known = item in self._said
            self._said[item] = said
        if before != said and (before or not condition.status):
            type_ = "Normal" if condition.status else "Warning"
            record(self._api, obj, Happening(type_, condition.reason, condition.message), self._now(), again=known)

    def report(
        self, obj: dict[str, Any], resource: APIResource, rules: Rules, verdict: Verdict, condition: Condition
    ) -> None:
        """Write the report about the object, or remove it."""
        kind = reports.resource_for(self._view, resource)
        if kind is None:
            return
        made = reports.report(kind, obj, verdict, condition, rules.because(obj))
        try:
            self._children.sync(obj, [] if made is None else [(kind, made)], reports.KINDS)
        except ApiError as error:  # as for Events: the object is reconciled all the same
            log.warning("report about %s %s: %s", obj["kind"], obj["metadata"]["name"], error)

    def conditions(
        self, item: Item, obj: dict[str, Any], resource: APIResource, outlet: Outlet, *conditions: Condition
    ) -> dict[str, Any]:
        """Write the conditions; returns the stored object."""
        stored = write_conditions(self._api, resource, outlet, obj, conditions, self._now())
        self.wrote(item, stored)
        return stored

    def wrote(self, item: Item, obj: dict[str, Any]) -> None:
        """Note that the object has the condition."""
        if _condition(obj) is not None:
            with self._lock:
                self._written[item] = obj["metadata"]["uid"]

    def is_erased(self, item: Item, obj: dict[str, Any]) -> bool:
        """Whether another manager has removed the condition for a second time."""
        if self._written.get(item) != obj["metadata"]["uid"] or _condition(obj) is not None:
            return False
        with self._lock:
            again = item in self._erased
            self._erased.add(item)
        return again

    def _before(self, item: Item, obj: dict[str, Any]) -> Said | None:
        known, written = self._said.get(item), _condition(obj)
        if known is not None or written is None:
            return known
        return written.get("status", ""), written.get("reason", ""), written.get("message", "")


def _condition(obj: dict[str, Any]) -> dict[str, Any] | None:
    return find((obj.get("status") or {}).get("conditions") or (), NORMALISED)


def _said(condition: Condition) -> Said:
    return "True" if condition.status else "False", condition.reason, condition.message
