"""A cache of what was computed from objects of the cluster.

Every service needs the same hundreds of runtimes. A view returns the same Python object until the cluster's object
changes, and such objects are never mutated, so the identity of an object is a valid key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

__all__ = ["Memo"]

T = TypeVar("T")

LIMIT: Final = 4096
"""The number of cached objects: a cluster has some hundred runtimes. A full cache is emptied."""


class Memo(Generic[T]):
    """Cache a function of one object, or of one list that a view gives. Thread-safe: two threads may compute the same
    result twice.
    """

    def __init__(self, compute: Callable[[Any], T], limit: int = LIMIT) -> None:
        self._compute = compute
        self._limit = limit
        self._known: dict[int, tuple[Any, T]] = {}

    def __call__(self, obj: Any) -> T:
        known = self._known.get(id(obj))
        if known is not None and known[0] is obj:
            return known[1]
        value = self._compute(obj)
        if len(self._known) >= self._limit:
            self._known = {}
        self._known[id(obj)] = obj, value
        return value
