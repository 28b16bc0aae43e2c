"""What the process remembers of one object, and one look at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reconciler.audit import Ruling, Verdict
from reconciler.projection import Gauge
from reconciler.resource import Item
from reconciler.say.conditions import Condition
from reconciler.seen import Seen
from webhook.cluster import APIResource


@dataclass(slots=True, eq=False, weakref_slot=True)
class Known:
    """Changed only by the worker that holds the object's key.

    ``said``: the verdict that users were told last. ``codes``: of its findings. ``confirmed``: the stamp that the gate
    itself has confirmed, and the rules. ``written``: the condition was in the status. ``status``: a mark of the one
    that was seen or written last. ``erased``: it was changed once, and by whom is not shown. ``owed``: the Event
    about the verdict was refused. ``gauges``: the samples of a projection. ``since``: when the status of the verdict
    changed last, in seconds since 1970.
    """

    uid: str
    said: Condition | None = None
    codes: frozenset[str] = frozenset()
    confirmed: tuple[str, str] | None = None
    written: bool = False
    status: int | None = None
    erased: bool = False
    owed: bool = False
    gauges: tuple[Gauge, ...] = ()
    since: float = 0.0


@dataclass(slots=True)
class Review:
    """An object, its verdict by ``rules``, and what was read for it. ``obj`` is the version that was stored last."""

    item: Item
    resource: APIResource
    rules: Ruling
    known: Known
    seen: Seen
    obj: dict[str, Any]
    verdict: Verdict
