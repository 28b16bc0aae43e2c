"""Two controllers must never fight: leave a status to another manager that writes it, for a time.

Users write ``metadata.managedFields``: a right to update an object is enough for an entry with any manager and time. So
what stands there holds back this one object at most. Of other objects only the content of a status is believed: without
a right to the subresource it does not change. ``trimmed`` keeps the writers of the status, with their times.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson

from reconciler.known import Known
from reconciler.projection import Happening
from reconciler.resource import Item
from reconciler.say.conditions import timestamp, utc_now
from reconciler.writer import FIELD_MANAGER
from webhook.cluster import APIResource, light

HOLD: Final = 600.0
"""Seconds without a write of another manager until a status is written again. A controller that runs answers a foreign
write within seconds; one that is idle shows itself again by answering the first write after the hold."""

LONGEST_HOLD: Final = 86_400.0
"""A hold that follows another one is twice as long, up to a day: an idle controller costs one write a day."""

NAMESPACES: Final = 3
"""The namespaces that must show another manager before the whole API is held back: a team has one, or a second for
tests."""

ANOTHER: Final = "another manager"


def trimmed(obj: dict[str, Any], resource: APIResource) -> dict[str, Any]:
    """An object without what is never read; of ``managedFields`` the writers of the status, with their times."""
    found = [
        {key: entry.get(key, "") for key in ("manager", "time")}
        for entry in obj["metadata"].get("managedFields") or ()
        if entry.get("subresource") == "status"
    ]
    reduced = light(obj, resource)
    return {**reduced, "metadata": {**reduced["metadata"], "managedFields": found}} if found else reduced


def writers(obj: dict[str, Any]) -> dict[str, str]:
    """The managers that have written the status, each with the time of its last write."""
    found: dict[str, str] = {}
    for each in obj["metadata"].get("managedFields") or ():
        found[each["manager"]] = max(each["time"], found.get(each["manager"], ""))
    return found


def content(obj: dict[str, Any]) -> int:
    """A mark of the content of a status, for this process."""
    return hash(orjson.dumps(obj.get("status") or {}, option=orjson.OPT_SORT_KEYS))


class Sign(NamedTuple):
    """Another manager that has written a status. ``proven``: what this process has seen or written there is gone, so it
    is not an entry of ``managedFields`` alone.
    """

    writer: str
    proven: bool


@dataclass(slots=True)
class _Hold:
    """Until when a status is left alone (``length`` in seconds), and whether its end has been told."""

    api: str
    until: float
    length: float
    lifted: bool = False


class Guard:
    """The objects and the APIs whose status is left to another manager. Any thread may call it."""

    def __init__(self, now: Callable[[], datetime] = utc_now, clock: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._clock = clock
        self._started = timestamp(now())
        self._holds: dict[Item, _Hold] = {}
        self._ends: dict[str, dict[str, float]] = {}  # API → namespace → the end of its last proven hold
        self._lock = threading.Lock()
        self.held: dict[str, str] = {}
        """API → the manager that writes its status."""

    def sign(self, obj: dict[str, Any], known: Known) -> Sign | None:
        """What shows another manager, and remember the status.

        Without an earlier look, only ``managedFields`` tells: a write after the last one of this manager, since the
        process began or within :data:`HOLD`. A time in the future is not that of a write.
        """
        before, known.status = known.status, content(obj)
        times, now = writers(obj), self._now()
        ours = times.pop(FIELD_MANAGER, "")
        if before is None:
            since = max(ours or self._started, timestamp(now - timedelta(seconds=HOLD)))
            later = {name: moment for name, moment in times.items() if since < moment <= timestamp(now)}
        elif before == known.status:
            return None
        else:
            later = {name: moment for name, moment in times.items() if moment >= ours}
        if later:
            return Sign(max(later, key=later.__getitem__), before is not None)
        if before is None:
            return None
        # Changed, but by whom is not shown: once, it may be a write of this process whose answer was lost.
        again, known.erased = known.erased, True
        return Sign(ANOTHER, True) if again else None

    def check(self, api: str, item: Item, sign: Sign | None) -> tuple[float, list[Happening]]:
        """The seconds for which the status of the object is left alone, and what of that is new."""
        with self._lock:
            now = self._clock()
            told = [*(self._noted(api, item, sign, now) if sign else ()), *self._lifted(item, now)]
            hold, shared = self._holds.get(item), self._shared(api, now)
            told += self._of_api(api, item, sign, held=shared > 0)
            return max(0.0, shared, hold.until - now if hold else 0.0), told

    def forget(self, item: Item) -> None:
        """The object is gone."""
        with self._lock:
            self._holds.pop(item, None)

    def objects(self) -> dict[tuple[str], int]:
        """The number of objects that are held back, by API."""
        with self._lock:
            now, found = self._clock(), dict[tuple[str], int]()
            for each in self._holds.values():
                found[each.api,] = found.get((each.api,), 0) + (each.until > now)
            return found

    def _noted(self, api: str, item: Item, sign: Sign, now: float) -> Iterator[Happening]:
        """Begin a hold, or make it last."""
        hold = self._holds.get(item)
        new = hold is None or hold.until <= now
        length = HOLD if hold is None else hold.length
        if hold is not None and new:
            length = min(2 * length, LONGEST_HOLD) if now - hold.until < LONGEST_HOLD else HOLD
        self._holds[item] = _Hold(api, now + length, length)
        if sign.proven:
            ends = self._ends.setdefault(api, {})
            ends[item.key.namespace] = max(now + length, ends.get(item.key.namespace, 0.0))
        if new:
            text = f"{sign.writer} writes the status of this {item.kind.kind}, so the reconciler leaves it alone"
            yield Happening("Warning", "HeldBack", f"{text} until there is no such write for {length / 60:.0f} minutes")

    def _lifted(self, item: Item, now: float) -> Iterator[Happening]:
        hold = self._holds.get(item)
        if hold is not None and hold.until <= now and not hold.lifted:
            hold.lifted = True
            text = (
                f"no other manager has written the status of this {item.kind.kind} for {hold.length / 60:.0f} minutes"
            )
            yield Happening("Normal", "HoldLifted", f"{text}, so the reconciler writes it again")

    def _shared(self, api: str, now: float) -> float:
        """Seconds for which so many namespaces show another manager that the whole API is held back."""
        ends = self._ends.get(api, {})
        for namespace in [each for each, end in ends.items() if end <= now]:
            del ends[namespace]
        return sorted(ends.values(), reverse=True)[NAMESPACES - 1] - now if len(ends) >= NAMESPACES else 0.0

    def _of_api(self, api: str, item: Item, sign: Sign | None, *, held: bool) -> Iterator[Happening]:
        if held and api not in self.held:
            writer = self.held[api] = sign.writer if sign else ANOTHER
            text = f"{writer} writes the status of {item.kind.kind} objects in {NAMESPACES} namespaces"
            yield Happening("Warning", "HeldBack", f"{text}, so the reconciler does not write that of API {api}")
        elif not held and api in self.held:
            del self.held[api]
            text = f"fewer than {NAMESPACES} namespaces show another manager, so the reconciler writes the status again"
            yield Happening("Normal", "HoldLifted", f"{text} for API {api}")
