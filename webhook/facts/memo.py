"""What was computed of an object of the cluster, kept for as long as it is asked for.

Hundreds of runtimes are looked at for every service, and the same ones for the next: a view hands out the same objects
until they change, and nobody may change them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

__all__ = ["Memo"]

T = TypeVar("T")

LIMIT: Final = 4096
"""Objects: a cluster has some hundred runtimes. One that is gone is kept until as many others have come."""


class Memo(Generic[T]):
    """A function of an object that looks at the same object once. Safe for threads, which may both do the work."""

    def __init__(self, compute: Callable[[dict[str, Any]], T]) -> None:
        self._compute = compute
        self._known: dict[int, tuple[dict[str, Any], T]] = {}

    def __call__(self, obj: dict[str, Any]) -> T:
        known = self._known.get(id(obj))
        if known is not None and known[0] is obj:
            return known[1]
        value = self._compute(obj)
        if len(self._known) >= LIMIT:
            self._known = {}
        self._known[id(obj)] = obj, value
        return value
