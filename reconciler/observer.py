"""Read the objects that a projection needs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from reconciler.conditions import utc_now
from reconciler.projection import Lookup, Observed
from reconciler.resource import NODES, READABLE, APIResource
from reconciler.writer import ApiError, Writer
from webhook.cluster.view import MemoryView

__all__ = ["Observer"]

log = logging.getLogger(__name__)

# Seconds in which all projections share a list: nodes change more slowly.
KEEP_SECONDS = 30.0


class Observer:
    """Reads objects from the API server; what cannot be read is reported as unknown, not as absent."""

    def __init__(
        self, api: Writer, now: Callable[[], datetime] = utc_now, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._api = api
        self._now = now
        self._clock = clock
        self._lock = threading.Lock()
        self._lists: dict[Lookup, tuple[float, list[dict[str, Any]]]] = {}

    def observe(self, lookups: Iterable[Lookup]) -> Observed:
        found: list[dict[str, Any]] = []
        unknown: set[Lookup] = set()
        for lookup in lookups:
            try:
                found += self._one(lookup) if lookup.name else self._all(lookup)
            except ApiError as error:
                log.warning("cannot read %s %s: %s", lookup.kind.kind, lookup.name or "list", error)
                unknown.add(lookup)
        return Observed(self._now(), MemoryView(found), frozenset(unknown))

    def _one(self, lookup: Lookup) -> list[dict[str, Any]]:
        obj = self._api.get(READABLE[lookup.kind], lookup.namespace, lookup.name)
        return [] if obj is None else [obj]

    def _all(self, lookup: Lookup) -> list[dict[str, Any]]:
        with self._lock:  # held while reading: other threads wait for the same list
            read, items = self._lists.get(lookup, (float("-inf"), []))
            if self._clock() - read >= KEEP_SECONDS:
                resource = READABLE[lookup.kind]
                pages = self._api.pages(resource, lookup.namespace)
                items = [_slim(resource, item) for page in pages for item in page.get("items") or ()]
                self._lists[lookup] = self._clock(), items
            return items


def _slim(resource: APIResource, item: dict[str, Any]) -> dict[str, Any]:
    """An item with the kind, which lists omit. Of a node, which lists all its images, only name and capacity."""
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    if resource is NODES:
        capacity = (item.get("status") or {}).get("capacity") or {}
        return {**kind, "metadata": {"name": item["metadata"]["name"]}, "status": {"capacity": capacity}}
    return {**item, **kind}
