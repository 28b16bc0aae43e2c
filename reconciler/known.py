"""What the process remembers of one object."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.projection import Gauge
from reconciler.say.conditions import Condition

__all__ = ["Known"]


@dataclass(slots=True)
class Known:
    """Changed only by the worker that holds the object's key.

    ``said``: the verdict that users were told last. ``codes``: of its findings. ``confirmed``: the stamp that the gate
    itself has confirmed, and the rules. ``written``: the condition was in the status. ``erased``: another manager has
    removed it once. ``gauges``: the samples of a projection.
    """

    uid: str
    said: Condition | None = None
    codes: frozenset[str] = frozenset()
    confirmed: tuple[str, str] | None = None
    written: bool = False
    erased: bool = False
    gauges: tuple[Gauge, ...] = ()
