"""Tell users of a verdict: an Event when it changes, a Report while there are findings, and a condition."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from reconciler.children import Children
from reconciler.known import Known, Review
from reconciler.pace import Pace
from reconciler.projection import Happening
from reconciler.resource import kind_of
from reconciler.say import reports
from reconciler.say.conditions import NORMALISED, Condition, find
from reconciler.say.events import record
from reconciler.writer import Writer
from webhook.cluster import ApiError, Key
from webhook.cluster.live import LiveView

log = logging.getLogger(__name__)

NEWS: Final = 20.0
"""A second, after a burst of five seconds' worth: one new rule may refuse thousands of objects."""


class OnRequest(NamedTuple):
    """What is shown on request only: Reports about objects without findings, and so many ``namespaces`` of objects in
    the metrics.
    """

    passing: bool = False
    namespaces: int = 0


@dataclass(frozen=True, slots=True)
class Speaker:
    """Says what is new, at a pace."""

    api: Writer
    view: LiveView
    children: Children
    now: Callable[[], datetime]
    pace: Pace[Known]
    passing: bool = False

    def say(self, review: Review, condition: Condition) -> float:
        """Write an Event if the verdict has changed, and the Report; or the seconds until there may be an Event.

        A good verdict alone needs none. One that was refused is written at the next review: an API server that has just
        started knows no rights.
        """
        known, obj = review.known, review.obj
        before, again = known.said or said(obj), known.said is not None
        if known.owed or (before != condition and (before or not condition.status)):
            if wait := self.pace.turn(known):
                return wait
            type_ = "Normal" if condition.status else "Warning"
            news = Happening(type_, condition.reason, condition.message)
            known.owed = not record(self.api, obj, news, self.now(), again=again)
        if not known.since or before is None or before.status != condition.status:
            known.since = self._since(obj, condition)
        known.said, known.codes = condition, frozenset(review.verdict.codes)
        self._report(review, condition)
        return 0.0

    def _since(self, obj: dict[str, Any], condition: Condition) -> float:
        """Since when the condition has its status, in seconds since 1970: as the object says, or from now on."""
        before = find((obj.get("status") or {}).get("conditions") or (), NORMALISED)
        if before is not None and before.get("status") == str(condition.status):
            with suppress(KeyError, TypeError, ValueError):  # users may write anything
                return datetime.fromisoformat(before["lastTransitionTime"]).timestamp()
        return self.now().timestamp()

    def _report(self, review: Review, condition: Condition) -> None:
        """Write the report about the object, or remove it."""
        obj, kind = review.obj, reports.resource_for(self.view, review.resource)
        if kind is None:
            return
        key = Key(obj["metadata"].get("namespace", ""), reports.name_of(obj))
        about = kind, obj, review.verdict, condition, review.rules, self.now(), self.view.held(kind_of(kind), key)
        made = reports.report(*about, passing=self.passing)
        try:
            self.children.sync(obj, [] if made is None else [made], reports.KINDS)
        except ApiError as error:  # as for Events: the object is reconciled all the same
            if error.temporary:
                raise
            log.warning("report about %s %s: %s", obj["kind"], obj["metadata"]["name"], error)


def is_erased(obj: dict[str, Any], known: Known) -> bool:
    """Whether another manager has removed the condition for a second time."""
    if said(obj) is not None or not known.written:
        return False
    again, known.erased = known.erased, True
    return again


def said(obj: dict[str, Any]) -> Condition | None:
    """The verdict in the status, as another process or an earlier one has written it."""
    found = find((obj.get("status") or {}).get("conditions") or (), NORMALISED)
    if found is None:
        return None
    return Condition(NORMALISED, found.get("status") == "True", found.get("reason", ""), found.get("message", ""))
