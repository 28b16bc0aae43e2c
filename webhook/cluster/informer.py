"""An informer: all objects of one kind, kept in memory by a thread that lists and watches."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.api import ApiError, Reader
from webhook.cluster.nodes import NodeStore
from webhook.cluster.readthrough import find, light
from webhook.cluster.reflector import FIRST_WAIT, LONGEST_WAIT, Reflector, backoff
from webhook.cluster.store import Store
from webhook.cluster.view import NODE, APIResource, Key, Kind

log = logging.getLogger("modelgate")

RECHECKS: Final = 6
"""Checks for an API after its definition has changed, at growing intervals: a minute in all."""
DISCOVERY_SECONDS: Final = 15.0
"""Seconds between two checks for an API that is not installed: a response of a few bytes. A reference to one of its
objects triggers a check at once (:class:`webhook.cluster.live.LiveView`)."""

LOOK_AGAIN: Final = 1800.0
"""The same while a watch of the definitions is heard (:attr:`Following.heard`): then a check is only a precaution."""

UNHEARD: Final = 120.0
"""Seconds. Bookmarks come about once a minute, so a watch that has been silent for longer may have missed something."""

Listener = Callable[[Kind, Key, dict[str, Any] | None, dict[str, Any] | None], None]
"""Told of each change: the object before (None: it is new) and after (None: it is deleted)."""


@dataclass(frozen=True, slots=True)
class Following:
    """How to follow one kind.

    ``version``: only this version of the API; else the preferred one. ``selector``: only objects with these labels.
    ``only``: only this object.
    ``reduce`` removes from each object what its readers never read. ``packed``: see :class:`Store`. ``heard``: seconds
    since the last event of a watch of the definitions, whose owner calls :meth:`Informer.recheck` when the API appears;
    infinite without such a watch. An API that is not installed is as fresh as that watch.
    """

    version: str = ""
    selector: str = ""
    reduce: Callable[[dict[str, Any], APIResource], dict[str, Any]] = light
    packed: bool = False
    heard: Callable[[], float] = lambda: math.inf
    listener: Listener | None = None
    only: Key | None = None


PLAIN: Final = Following()


class Informer:
    """Follows one kind from :meth:`run` (in a separate thread) to :meth:`stop`; the other methods never block.

    ``store`` has the objects. The result of a write that it takes is not told to the listener when the watch brings it.

    With ``namespaces`` it follows only these, each by a watch of its own, for which a Role in each is enough.
    """

    def __init__(
        self,
        api: Reader,
        kind: Kind,
        clock: Callable[[], float] = time.monotonic,
        following: Following = PLAIN,
        namespaces: Sequence[str] = (),
    ) -> None:
        self.kind = kind
        self._namespaces = namespaces
        self._following = following
        self.resource: APIResource | None = None
        self._api = api
        self._clock = clock
        self.store = NodeStore() if kind == NODE else Store(packed=following.packed)
        self._reflectors: tuple[Reflector, ...] = ()
        self._absent_at: float | None = None  # when discovery last found the API missing
        self._trouble = ""
        self._rechecks = 0
        self._stop = threading.Event()
        self._wake = threading.Event()

    def run(self) -> None:
        """Follow the kind until :meth:`stop`; errors of the API server are logged and retried."""
        failures = 0
        while not self._stop.is_set():
            try:
                self.resource = find(self._api, self.kind, version=self._following.version)
            except ApiError as error:
                self._trouble = str(error)
                wait = backoff(failures, FIRST_WAIT, LONGEST_WAIT)
                failures += 1
                log.warning("%s: %s; retry in %.0f s", self, error, wait)
                self._pause(wait)
                continue
            failures, self._trouble = 0, ""
            if self.resource is None:
                self._absent_at = self._clock()
                is_watched = self._following.heard() < UNHEARD
                self._pause(min(LOOK_AGAIN if is_watched else DISCOVERY_SECONDS, self._soon()))
            else:
                self._follow(self.resource)

    def stop(self) -> None:
        """End :meth:`run` soon; may be called from any thread."""
        self._stop.set()
        self._wake.set()
        for each in self._reflectors:
            each.stop()

    def recheck(self) -> None:
        """Check for the API at once, and some more times: discovery may learn of a definition seconds after a watch."""
        self._rechecks = RECHECKS
        self._wake.set()

    def _soon(self) -> float:
        """Seconds until the next of the checks that :meth:`recheck` asked for; infinite without one."""
        if self._rechecks == 0:
            return math.inf
        self._rechecks -= 1
        return backoff(RECHECKS - 1 - self._rechecks, FIRST_WAIT, LONGEST_WAIT)

    @property
    def synced(self) -> bool:
        """Whether the first list is complete, or the API is known to be missing."""
        reflectors = self._reflectors
        return all(each.listed.is_set() for each in reflectors) if reflectors else self._absent_at is not None

    @property
    def denied(self) -> bool:
        """Whether the right to read the kind is missing."""
        return any(reflector.denied for reflector in self._reflectors)

    def follows(self, key: Key) -> bool:
        """Whether an object of the kind is in memory if it exists."""
        here = not (self._namespaces and key.namespace) or key.namespace in self._namespaces
        return here if self._following.only is None else self._following.only == key

    @property
    def follows_one(self) -> bool:
        """Whether it follows one object of the kind only."""
        return self._following.only is not None

    def silence(self) -> float:
        """Seconds since the last news of the kind; infinite before the first list.

        For an API that is not installed, the last check and the watch of the definitions are news.
        """
        reflectors, absent_at = self._reflectors, self._absent_at
        if reflectors:
            silences = [each.silence() for each in reflectors]
            return max(math.inf if each is None else each for each in silences)
        return math.inf if absent_at is None else min(self._clock() - absent_at, self._following.heard())

    def unready(self, stale: float) -> str:
        """Why the objects may be out of date, with the kind; empty if they are current. ``stale`` in seconds."""
        trouble = next((each.trouble for each in self._reflectors if each.trouble), self._trouble)
        because = f": {trouble}" if trouble else ""
        if not self.synced:
            return f"{self} is not listed yet{because}"
        silence = self.silence()
        return f"no event of {self} for {silence:.0f} s{because}" if silence >= stale else ""

    def __str__(self) -> str:
        return f"{self.kind.group}/{self.kind.kind}" if self.kind.group else self.kind.kind

    def _follow(self, resource: APIResource) -> None:
        """Follow the resource until its API is removed, or :meth:`stop`."""
        self._reflectors = tuple(self._reflector(resource, each) for each in self._places(resource))
        if self._stop.is_set():  # stopped meanwhile
            return
        first, *others = self._reflectors
        threads = [threading.Thread(target=each.run, name=f"informer {self}", daemon=True) for each in others]
        for thread in threads:
            thread.start()
        first.run()  # ends when the API is removed, which the others notice, too
        for each in others:
            each.stop()
        for thread in threads:
            thread.join()
        if not self._stop.is_set():
            log.warning("%s is not served as %s any more", self, resource.api_version)
            self._reflectors, self._absent_at = (), None
            for key in self.store.names():
                self._drop(key)
            self._pause(FIRST_WAIT)

    def _places(self, resource: APIResource) -> Sequence[str]:
        """The namespaces to follow; "" stands for all, and for objects without one."""
        if self._following.only is not None:
            return [self._following.only.namespace]
        return self._namespaces if self._namespaces and resource.namespaced else [""]

    def _reflector(self, resource: APIResource, namespace: str) -> Reflector:
        following = self._following
        return Reflector(
            self._api,
            resource,
            lambda key, obj: self._put(key, following.reduce(obj, resource)),
            self._drop,
            namespace,
            self._clock,
            until_absent=True,
            selector=following.selector,
            name=following.only.name if following.only else "",
        )

    def _put(self, key: Key, obj: dict[str, Any]) -> None:
        listener = self._following.listener
        before = None if listener is None else self.store.get(key)
        if self.store.put(key, obj) and listener is not None and not _same(before, obj):
            listener(self.kind, key, before, obj)

    def _drop(self, key: Key) -> None:
        listener = self._following.listener
        before = None if listener is None else self.store.get(key)
        self.store.drop(key)
        if listener is not None:
            listener(self.kind, key, before, None)

    def _pause(self, seconds: float) -> None:
        self._wake.wait(seconds)
        if not self._stop.is_set():
            self._wake.clear()


def _same(before: dict[str, Any] | None, after: dict[str, Any]) -> bool:
    """Whether a list or watch brings a version that is held already."""
    version = after["metadata"].get("resourceVersion")
    return before is not None and version is not None and before["metadata"].get("resourceVersion") == version


def join(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Wait for all threads to end, and log those that do not."""
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            log.warning("%s did not end within %.0f s", thread.name, seconds)
