"""The keys of a resource, as they change: one list, then a watch that continues where it broke off."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from reconciler.api import Api, ApiError, Stream, Unreachable
from reconciler.resource import Key, Resource

__all__ = ["Source"]

log = logging.getLogger(__name__)

# From a second, which a restarting API server does not notice, to half a minute, which a user does not mind.
FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0

GONE = 410


class Source:
    """Lists and watches one resource and reports every key with its resource version.

    ``changed(key, version)`` is called for what exists or changes, ``deleted(key)`` for what
    is gone, also when it went unseen, between a watch and the list after it.
    """

    def __init__(
        self,
        api: Api,
        resource: Resource,
        changed: Callable[[Key, str], None],
        deleted: Callable[[Key], None],
        namespace: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._resource = resource
        self._changed = changed
        self._deleted = deleted
        self._namespace = namespace
        self._clock = clock
        self._keys: set[Key] = set()
        self._version = ""  # where the next watch begins; "" asks for a list
        self._failures = 0
        self._stop = threading.Event()
        self._stream: Stream | None = None
        self._heard: float | None = None
        self.listed = threading.Event()

    def run(self) -> None:
        """Follows the resource until :meth:`stop`; never raises for anything the API server does."""
        while not self._stop.is_set():
            try:
                if not self._version:
                    self._list()
                self._follow()
            except ApiError as error:
                if error.status == GONE:
                    self._version = ""
                wait = min(FIRST_WAIT * float(1 << min(self._failures, 32)), LONGEST_WAIT)
                self._failures += 1
                log.warning("%s: %s; again in %.0f s", self._resource.plural, error, wait)
                self._stop.wait(wait)

    def stop(self) -> None:
        """May be called from any thread; a watch that is waiting ends at once."""
        self._stop.set()
        stream = self._stream
        if stream is not None:
            stream.close()

    def silence(self) -> float | None:
        """Seconds since the API server last said anything; None before the first list."""
        return None if self._heard is None else self._clock() - self._heard

    def _list(self) -> None:
        found: dict[Key, str] = {}
        version = ""
        for page in self._api.pages(self._resource, self._namespace, metadata_only=True):
            version = page["metadata"]["resourceVersion"]
            found.update((Key.of(item), item["metadata"]["resourceVersion"]) for item in page.get("items") or ())
        for key in self._keys - found.keys():
            self._deleted(key)
        self._keys = set(found)
        for key, seen in found.items():
            self._changed(key, seen)
        self._version = version
        self._heard = self._clock()
        self.listed.set()

    def _follow(self) -> None:
        """One watch, to its end; raises ApiError where it ends in any other way than the server's time limit."""
        stream = self._stream = self._api.watch(self._resource, self._namespace, self._version)
        if self._stop.is_set():  # since run looked
            stream.close()
        silent = True
        for event in stream:
            self._heard = self._clock()
            self._tell(event["type"], event["object"])
            silent = False
            self._failures = 0
        if silent and not self._stop.is_set():  # the server sends a bookmark before it ends a watch
            raise Unreachable("the watch ended without a word")

    def _tell(self, type_: str, obj: dict[str, Any]) -> None:
        if type_ == "ERROR":
            raise ApiError(
                obj.get("code", 500), obj.get("reason", ""), obj.get("message", "the watch reports an error")
            )
        self._version = obj["metadata"]["resourceVersion"]
        if type_ == "BOOKMARK":
            return
        key = Key.of(obj)
        if type_ == "DELETED":
            self._keys.discard(key)
            self._deleted(key)
        else:
            self._keys.add(key)
            self._changed(key, self._version)
