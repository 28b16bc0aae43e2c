"""The ClusterView of a cluster: informers for the kinds that facts read, and one GET for objects not in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeGuard

from webhook.admission.errors import Fault, Unavailable
from webhook.cluster.api import ApiError, Reader
from webhook.cluster.connection import connected
from webhook.cluster.informer import Following, Informer, join
from webhook.cluster.readthrough import (
    MIN_TIMEOUT,
    ClusterAnswer,
    ClusterQuestion,
    Reference,
    ask,
    find,
    light,
    may_be_denied,
)
from webhook.cluster.store import RecentAnswers
from webhook.cluster.view import UNREADABLE, APIResource, Freshness, Key, Kind, Unwatched

__all__ = ["STALE", "LiveView", "live_view", "reader"]

STALE: Final = 180.0
"""Seconds. Bookmarks come about once a minute: after three are missing, the objects may be out of date."""

_FORBIDDEN: Final = 403

GRACE: Final = 5.0
"""Seconds for the threads to end; they are daemons, so a request that hangs does not keep the process alive."""


class _NotWatched(Fault, Unwatched):
    """It is a fault of the fact that lists the kind, unless that expects it."""


class LiveView:
    """Watches the ``watched`` kinds from :meth:`start` to :meth:`stop`. Of other kinds it reads single objects.

    Questions of admission policies go to the API server. ``watched`` may be a mapping that says how to follow each
    kind. With ``namespaces`` it shows objects of these and of cluster scope.
    """

    def __init__(
        self,
        api: Reader,
        watched: Iterable[Kind] | Mapping[Kind, Following],
        stale: float = STALE,
        clock: Callable[[], float] = time.monotonic,
        namespaces: Sequence[str] = (),
    ) -> None:
        self._api = api
        self._namespaces = frozenset(namespaces)
        how = watched if isinstance(watched, Mapping) else {}
        self._informers = {
            kind: Informer(api, kind, clock, how.get(kind, Following()), namespaces) for kind in sorted(watched)
        }
        self._stale = stale
        self._clock = clock
        self._recent = RecentAnswers(clock)
        self._threads = [
            threading.Thread(target=informer.run, name=f"informer {informer}", daemon=True)
            for informer in self._informers.values()
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, grace: float = GRACE) -> None:
        """End all threads, and wait so many seconds for them; 0 waits for none."""
        for informer in self._informers.values():
            informer.stop()
        if grace:
            join(self._threads, grace)

    def synced(self) -> bool:
        return all(informer.synced for informer in self._informers.values())

    def stale(self, seconds: float) -> list[str]:
        """The kinds without an event for so long, or not listed yet, each with the reason."""
        return [reason for informer in self._informers.values() if (reason := informer.unready(seconds))]

    def unready(self) -> list[str]:
        dead = [f"{thread.name} has ended" for thread in self._threads if thread.ident and not thread.is_alive()]
        return [*dead, *self.stale(self._stale)]

    def freshness(self) -> Iterator[Freshness]:
        for informer in self._informers.values():
            yield Freshness(str(informer), informer.silence(), informer.store.count())

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self.cached(Reference(kind, namespace, name))[1]

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        return self._informer(kind).store.list(namespace)

    def follows(self, kind: Kind) -> bool:
        """Whether all objects of a kind are watched."""
        return kind in self._informers and not self._informers[kind].follows_one

    def follows_one(self, kind: Kind) -> bool:
        """Whether one object of a kind is watched, and not the others."""
        return kind in self._informers and self._informers[kind].follows_one

    def watches(self, kind: Kind, key: Key) -> bool:
        """Whether the object is kept in memory if it exists."""
        return kind in self._informers and self._informers[kind].follows(key)

    def outside(self, namespace: str) -> bool:
        """Whether the view does not show this namespace."""
        return bool(self._namespaces and namespace) and namespace not in self._namespaces

    def held(self, kind: Kind, key: Key) -> dict[str, Any] | None:
        """The object in memory of a watched kind."""
        return self._informer(kind).store.get(key)

    def written(self, kind: Kind, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Take the result of a write into memory, before the watch brings it."""
        self._informer(kind).store.written(Key.of(after), before, after)

    def names(self, kind: Kind) -> Sequence[Key]:
        """The keys of the objects in memory of a watched kind."""
        return self._informer(kind).store.names()

    def resource(self, kind: Kind) -> APIResource | None:
        """How the API server serves a watched kind; None if it does not."""
        return self._informer(kind).resource

    def recheck(self, kind: Kind) -> None:
        """Check at once whether the API of a watched kind is installed."""
        self._informer(kind).recheck()

    def listed(self, kind: Kind) -> bool:
        return self._informer(kind).synced

    def cached(self, question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        if _of_facts(question) and self.watches(question.kind, question.key):
            found = self._informer(question.kind).store.get(question.key)
            if found is not None:
                return True, found
        return self._recent.get(question)

    def read(self, question: ClusterQuestion, timeout: float) -> ClusterAnswer:
        sure, found = self.cached(question)
        if sure:  # read meanwhile by another request
            return found
        try:
            if _of_facts(question):
                found = self._read(question, timeout)
            else:
                found = ask(self._api, question, timeout, self._clock)
        except ApiError as error:
            if not (error.status == _FORBIDDEN and may_be_denied(question)):
                raise Unavailable(f"{question} cannot be read from the API server: {error}") from error
            self._recent.put(question, UNREADABLE)
            return UNREADABLE
        self._recent.put(question, found)
        return found

    def _read(self, reference: Reference, timeout: float) -> dict[str, Any] | None:
        end = self._clock() + timeout
        resource = self._resource(reference.kind, timeout)
        if resource is None:
            return None
        left = max(MIN_TIMEOUT, end - self._clock())
        found = self._api.get(resource, reference.namespace, reference.name, left)
        return None if found is None else light(found, resource)

    def _resource(self, kind: Kind, timeout: float) -> APIResource | None:
        """The resource of the kind; discovered again if its API was missing at the last check."""
        informer = self._informers.get(kind)
        if informer is not None and informer.resource is not None:
            return informer.resource
        found = find(self._api, kind, timeout)
        if found is not None and informer is not None:
            informer.recheck()
        return found

    def _informer(self, kind: Kind) -> Informer:
        try:
            return self._informers[kind]
        except KeyError:
            raise _NotWatched(f"a fact lists {kind.group}/{kind.kind}, which is not watched") from None


def _of_facts(question: ClusterQuestion) -> TypeGuard[Reference]:
    return isinstance(question, Reference) and not question.version


def reader(kubeconfig: Path | None) -> Reader:
    """The reading verbs over :func:`webhook.cluster.connection.connected`; raises NotReady."""
    return Reader(connected(kubeconfig))


def live_view(kubeconfig: Path | None, watched: Iterable[Kind], stale: float) -> LiveView:
    """A view over :func:`reader`, not started yet."""
    return LiveView(reader(kubeconfig), watched, stale)
