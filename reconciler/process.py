"""The process: wait to lead, follow the cluster, work, and stop in order."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reconciler.audit import Rules
from reconciler.children import MANAGED
from reconciler.guard import trimmed
from reconciler.lease import Lease
from reconciler.loop import Loop
from reconciler.projection import Controller
from reconciler.resource import DEFINITIONS, Key, Kind
from reconciler.say import reports
from reconciler.writer import ApiError, Writer
from webhook.cluster.backoff import join
from webhook.cluster.definitions import Definitions
from webhook.cluster.informer import Following, Listener
from webhook.cluster.live import LiveView
from webhook.cluster.reflector import Reflector
from webhook.facts.reads import FETCHED, WATCHED

__all__ = ["Process", "Reload"]

log = logging.getLogger(__name__)

Reload = Callable[[], Callable[[Rules], Rules] | None]
"""Whether the files of the rules have changed: the change to make, or None."""

GRACE: Final = 20.0
"""Seconds. A worker may be in a call that takes as long as the API server allows (cluster.api.TIMEOUT). The kubelet
kills the process after 30 s by default, so waiting ends before. The next leader repeats what is cut off. A process that
has lost the lease does not wait at all: another may work already."""

STALE: Final = 180.0
"""Seconds. Bookmarks come about once a minute: after three are missing, the objects in memory may be out of date."""

TICK: Final = 0.5
"""Seconds between two looks of the keeper at what has changed beside objects: definitions, and files of policies."""

LOOK_AGAIN: Final = 300.0
"""Seconds between two checks for an API that is not installed. Its definition is watched, so this is a precaution."""

READ_SECONDS: Final = 10.0
"""For one request of a definition, which has up to two megabytes."""

MANAGED_BY: Final = "=".join(MANAGED)


class Process:
    """One reconciler of all kinds. ``controllers`` are those of the APIs that it acts for."""

    def __init__(
        self,
        api: Writer,
        rules: Rules,
        controllers: Sequence[Controller] = (),
        lease: Lease | None = None,
        workers: int = 2,
        reload: Reload = lambda: None,
    ) -> None:
        self._api = api
        self._lease = lease
        self._workers = workers
        self._reload = reload
        self._view = LiveView(api, _followed(rules, controllers, self._changed), FETCHED, STALE)
        by_kind = {Kind(each.resource.group, each.resource.kind): each for each in controllers}
        self._loop = Loop(api, self._view, rules, by_kind)
        api.written = lambda verb, resource: self._loop.metrics.writes.labels(verb, resource).inc()
        self._kinds = {Kind(each.group, each.kind): f"{each.plural}.{each.group}" for each in rules.kinds()}
        self._made = {Kind(child.group, child.kind) for each in controllers for child in each.children}
        self._definitions = Definitions(api)
        self._redefined = threading.Event()
        self._redefined.set()
        self._crds = Reflector(api, DEFINITIONS, self._defined, self._undefined, metadata_only=True)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._trouble = ""

    def metrics(self) -> str:
        return self._loop.metrics.text()

    def run(self, stop: threading.Event) -> bool:
        """Work until ``stop`` is set (True), or leadership is lost (False) and another process may have begun."""
        if self._lease is not None and not self._lease.acquire(stop):
            return True
        self._start()
        kept = False
        try:
            kept = self._lease.hold(stop) if self._lease is not None else stop.wait()
        finally:
            self._end(GRACE if kept else 0.0)
        if self._lease is not None and kept:
            self._lease.release()
        return kept

    def alive(self) -> tuple[bool, str]:
        """Whether every started thread still runs."""
        dead = [thread.name for thread in self._threads if not thread.is_alive()]
        return not dead, f"ended: {', '.join(dead)}" if dead else "ok"

    def ready(self) -> tuple[bool, str]:
        """Whether the objects in memory are current; a process that waits to lead has none and is ready."""
        if not self._threads:
            return True, "waiting to lead"
        reasons = [*self._view.unready(), *filter(None, [self._trouble])]
        return not reasons, "; ".join(reasons) or f"leading; rules {self._loop.rules.digest}"

    def _start(self) -> None:
        self._loop.metrics.leading = True
        self._view.start()
        named = [("definitions", self._crds.run), ("keeper", self._keep)]
        self._threads = [threading.Thread(target=run, name=name, daemon=True) for name, run in named]
        for thread in self._threads:
            thread.start()

    def _end(self, grace: float) -> None:
        self._stop.set()
        self._crds.stop()
        self._loop.queue.close()
        threads, self._threads = self._threads, []
        self._view.stop(grace)
        if grace:
            join(threads, grace)

    def _keep(self) -> None:
        """Begin to work when everything is known, and follow what changes beside objects."""
        while not self._stop.is_set() and not (self._view.synced() and self._look()):
            self._stop.wait(TICK / 5)
        named = [(f"worker-{index}", self._loop.work) for index in range(self._workers)]
        workers = [threading.Thread(target=run, name=name, daemon=True) for name, run in named]
        self._threads = [*self._threads, *workers] if not self._stop.is_set() else self._threads
        for worker in workers:
            worker.start()
        while not self._stop.wait(TICK):
            self._look()

    def _look(self) -> bool:
        """Take up new definitions and policies; False if the definitions could not be read yet."""
        if self._redefined.is_set():
            self._redefined.clear()
            try:
                self._definitions.refresh(sorted(set(self._kinds.values())), READ_SECONDS)
            except ApiError as error:
                self._trouble = f"the installed definitions cannot be read: {error}"
                log.warning("%s", self._trouble)
                if error.status not in {401, 403}:
                    self._redefined.set()
                    self._stop.wait(1.0)
                    return False
            else:
                self._trouble = ""
            self._loop.use(self._loop.rules.under(self._definitions.documents()))
        change = self._reload()
        if change is not None:
            self._loop.use(change(self._loop.rules))
        return True

    def _changed(self, kind: Kind, key: Key, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        self._loop.changed(kind, key, before, after)

    def _defined(self, key: Key, _: dict[str, Any]) -> None:
        """A definition is there, or has changed: look for its API at once."""
        if key.name in self._kinds.values():
            self._redefined.set()
        group = key.name.partition(".")[2]
        for kind in {*self._kinds, *self._made, *reports.KINDS, *WATCHED}:
            if kind.group == group and self._view.watches(kind) and self._view.resource(kind) is None:
                self._view.recheck(kind)

    def _undefined(self, key: Key) -> None:
        if key.name in self._kinds.values():
            self._redefined.set()


def _followed(rules: Rules, controllers: Sequence[Controller], listener: Listener) -> Mapping[Kind, Following]:
    """Every kind to follow, and how. A kind that no fact reads is held as text."""
    reads = {kind: how for controller in controllers for kind, how in controller.reads.items()}
    made = [child for controller in controllers for child in controller.children]
    versions = {Kind(each.group, each.kind): each.version for each in (*rules.kinds(), *made)}
    own = {Kind(each.group, each.kind) for each in rules.kinds()}
    managed = {*reports.KINDS, *(Kind(each.group, each.kind) for each in made)} - own
    return {
        kind: Following(
            versions.get(kind, ""),
            MANAGED_BY if kind in managed - reads.keys() else "",
            trimmed if kind in managed else reads.get(kind, trimmed),  # a child is compared whole
            kind not in WATCHED,
            LOOK_AGAIN,
            listener,
        )
        for kind in {*WATCHED, *versions, *managed, *reads}
    }
