"""A reflector: the objects of a resource as they change, by one list and then watches that continue where one ended."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from webhook.cluster.api import ApiError, Reader, Stream, Unreachable
from webhook.cluster.view import APIResource, Key

log = logging.getLogger(__name__)

# Seconds: from a second, no load for a restarting API server, to half a minute, an acceptable delay for users.
FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0

GONE = 410
ABSENT = 404


def backoff(failures: int, first: float, most: float) -> float:
    """Seconds until the next attempt: ``first``, doubled with each failure, at most ``most``."""
    return min(first * float(1 << min(failures, 32)), most)  # 2^32 times any interval exceeds every limit


class Reflector:
    """Lists and watches one resource and reports every object.

    ``changed(key, object)`` is called for objects that exist or change, ``deleted(key)`` for deleted ones, also if the
    deletion happened between a watch and the next list. With ``metadata_only`` the objects are PartialObjectMetadata.
    With a ``selector`` it follows only objects with these labels, with a ``name`` only objects of this name. With
    ``until_absent``, :meth:`run` ends when the API server no longer serves the resource.
    """

    def __init__(
        self,
        api: Reader,
        resource: APIResource,
        changed: Callable[[Key, dict[str, Any]], None],
        deleted: Callable[[Key], None],
        namespace: str = "",
        clock: Callable[[], float] = time.monotonic,
        *,
        metadata_only: bool = False,
        until_absent: bool = False,
        selector: str = "",
        name: str = "",
    ) -> None:
        self._api = api
        self._resource = resource
        self._changed = changed
        self._deleted = deleted
        self._namespace = namespace
        self._clock = clock
        self._metadata_only = metadata_only
        self._until_absent = until_absent
        self._selecting = selector, name
        self._keys: set[Key] = set()
        self._version = ""  # where the next watch begins; "" asks for a list
        self._failures = 0
        self._has_relisted = False  # at once, after a 410 and without an event since
        self._stop = threading.Event()
        self._stream: Stream | None = None
        self._heard: float | None = None
        self.listed = threading.Event()
        self.trouble = ""
        """The last error; empty after a success."""
        self.denied = False
        """Whether the last error says that the right to read is missing."""

    def run(self) -> None:
        """Follow the resource until :meth:`stop`; errors of the API server are logged and retried."""
        while not self._stop.is_set():
            try:
                if not self._version:
                    self._list()
                self._follow()
            except ApiError as error:
                self.trouble, self.denied = str(error), error.denied
                if error.status == ABSENT and self._until_absent:
                    return
                if error.status == GONE:
                    expired, self._version = self._version, ""
                    if expired and not self._has_relisted:
                        self._has_relisted = True
                        log.info("%s: %s; everything is listed again", self._resource.plural, error)
                        continue
                wait = backoff(self._failures, FIRST_WAIT, LONGEST_WAIT)
                self._failures += 1
                log.warning("%s: %s; retry in %.0f s", self._resource.plural, error, wait)
                self._stop.wait(wait)

    def stop(self) -> None:
        """End :meth:`run`; may be called from any thread. A waiting watch ends at once."""
        self._stop.set()
        stream = self._stream
        if stream is not None:
            stream.close()

    def silence(self) -> float | None:
        """Seconds since the last event; None before the first list."""
        return None if self._heard is None else self._clock() - self._heard

    def _list(self) -> None:
        found: set[Key] = set()
        version = ""
        for page in self._api.pages(self._resource, self._namespace, self._metadata_only, *self._selecting):
            version = page["metadata"]["resourceVersion"]
            for item in page.get("items") or ():
                key = Key.of(item)
                found.add(key)
                self._keys.add(key)
                self._changed(key, item)
        for key in self._keys - found:
            self._deleted(key)
        self._keys = found
        self._version = version
        self._well()
        self.listed.set()

    def _well(self) -> None:
        self._heard = self._clock()
        self.trouble, self.denied = "", False

    def _follow(self) -> None:
        """Run one watch to its end; raises ApiError unless the server's time limit ends it."""
        stream = self._api.watch(self._resource, self._namespace, self._version, self._metadata_only, *self._selecting)
        self._stream = stream
        if self._stop.is_set():  # stopped meanwhile
            stream.close()
        silent = True
        for event in stream:
            self._tell(event["type"], event["object"])
            self._well()
            silent = self._has_relisted = False
            self._failures = 0
        if silent and not self._stop.is_set():  # the server sends a bookmark before it ends a watch
            raise Unreachable("the watch ended without an event")

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
            self._changed(key, obj)
