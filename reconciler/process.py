"""The process: wait to lead, follow the cluster, work, and stop in order."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from reconciler.audit import Ruling
from reconciler.children import MANAGED
from reconciler.guard import trimmed
from reconciler.lease import Lease
from reconciler.loop import Loop
from reconciler.projection import Controller
from reconciler.resource import kind_of
from reconciler.say import reports
from reconciler.say.exceptions import Exceptions
from reconciler.say.speaker import OnRequest
from reconciler.writer import Writer
from webhook.cluster import APIResource, FollowedDefinitions, FollowedPolicies, Following, Key, Listener, join
from webhook.cluster.live import LiveView
from webhook.cluster.view import Kind
from webhook.facts import watched
from webhook.facts.ome import CONFIG
from webhook.ground.frames import with_room

log = logging.getLogger(__name__)

Reload = Callable[[Ruling], Ruling]
"""The rules with what has changed in their files."""

GRACE: Final = 20.0
"""Seconds. A worker may be in a call that takes as long as the API server allows (cluster.api.TIMEOUT). The kubelet
kills the process after 30 s by default, so waiting ends before. The next leader repeats what is cut off. A process that
has lost the lease does not wait at all: another may work already."""

SETTLE: Final = 2.0
"""Seconds between two changes of how strict the rules are: each judges every object again."""

TICK: Final = 0.5
"""Seconds between two looks of the keeper at what has changed beside objects: definitions, and files of policies."""

MANAGED_BY: Final = "=".join(MANAGED)


class Reach(NamedTuple):
    """What is judged and acted on: objects of some namespaces or (none named) of all, and ``whole``: those of cluster
    scope. Objects of cluster scope are read in any case.
    """

    namespaces: Sequence[str] = ()
    whole: bool = True

    def holds(self, resource: APIResource) -> bool:
        """Whether objects of this resource are judged and acted on."""
        return self.whole or resource.namespaced


EVERYWHERE: Final = Reach()


class Process:
    """One reconciler of all kinds. ``controllers`` are those of the APIs that it acts for."""

    def __init__(
        self,
        api: Writer,
        rules: Ruling,
        controllers: Sequence[Controller] = (),
        lease: Lease | None = None,
        workers: int = 2,
        reload: Reload = lambda rules: rules,
        clock: Callable[[], float] = time.monotonic,
        reach: Reach = EVERYWHERE,
        on_request: OnRequest = OnRequest(),  # noqa: B008 - frozen
    ) -> None:
        self._lease = lease
        self._workers = workers
        self._reload = reload
        controllers = [each for each in controllers if reach.holds(each.resource)]
        self._moved = threading.Event()  # an Enforcement, a PolicyException or a label
        self._turn = self._settled = 0.0
        self._definitions = FollowedDefinitions(api, *rules.definitions(), self._defined, clock)
        self._policies = FollowedPolicies(api, self._moved.set, self._definitions.silence)
        self._exceptions = Exceptions(api)
        self._followed = _followed(rules, controllers, self._changed, self._definitions.silence)
        self._view = LiveView(api, self._followed, clock=clock, namespaces=reach.namespaces)
        by_kind = {kind_of(each.resource): each for each in controllers}
        self._loop = Loop(api, self._view, rules, by_kind, reach.holds, on_request=on_request)
        api.written = lambda verb, resource: self._loop.metrics.writes.labels(verb, resource).inc()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def metrics(self) -> tuple[bool, str]:
        """The page for Prometheus."""
        return True, self._loop.metrics.text()

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
        if reasons := [*self._view.unready(), *self._definitions.unready()]:
            return False, "; ".join(reasons)
        trouble = f", but {self._definitions.trouble}" if self._definitions.trouble else ""
        return True, f"leading; rules {self._loop.rules.digest}{trouble}"

    def _start(self) -> None:
        self._loop.metrics.leading = True
        self._view.start()
        self._policies.start()
        self._run(definitions=self._definitions.run, keeper=self._keep)

    def _run(self, **named: Callable[[], None]) -> None:
        self._threads = [*self._threads, *(started(run, name) for name, run in named.items())]

    def _end(self, grace: float) -> None:
        self._stop.set()
        self._definitions.stop()
        self._loop.queue.close()
        threads, self._threads = self._threads, []
        self._policies.stop()
        self._view.stop(grace)
        if grace:
            join(threads, grace)

    def _keep(self) -> None:
        """Begin to work when everything is known, and follow what changes beside objects."""
        known = False
        while not self._stop.wait(TICK if known else TICK / 5):
            self._enforce()
            is_ready = self._view.synced() and not self._policies.unready()
            definitions = self._definitions.look() if is_ready else None
            if definitions is not None:
                self._loop.use(self._loop.rules.under(definitions, self._definitions.absent))
            self._loop.use(self._reload(self._loop.rules))
            self._loop.arrived()
            if definitions is not None and not known:
                known = True
                self._run(**{f"worker-{index}": self._loop.work for index in range(self._workers)})

    def _enforce(self) -> None:
        """Judge by the Enforcements and PolicyExceptions that are in force now, soon after they change."""
        now, policies = time.time(), self._policies
        if policies.unready():
            return
        if now >= self._turn or (self._moved.is_set() and now >= self._settled):
            self._moved.clear()
            degrees = policies.degrees(now)
            self._turn, self._settled = degrees.turn, now + SETTLE
            self._loop.use(self._loop.rules.by_degrees(degrees or None))
            if trouble := "; ".join(filter(None, [policies.denied(), policies.memory.trouble])):
                log.error("%s", trouble)
        self._exceptions.tell(policies.objects(), policies.memory.policies, now)

    def _changed(self, *change: Any) -> None:
        self._loop.changed(*change)

    def _defined(self, name: str) -> None:
        """A definition was added, changed or removed: look for its API at once."""
        self._policies.appeared(name)
        group = name.partition(".")[2]
        for kind in self._followed:
            if kind.group == group and self._view.resource(kind) is None:
                self._view.recheck(kind)


def started(run: Callable[[], None], name: str) -> threading.Thread:
    """A thread that judges objects, with room for the frames of all its calls."""
    thread = threading.Thread(target=with_room, args=(run,), name=name, daemon=True)
    thread.start()
    return thread


def _followed(
    rules: Ruling, controllers: Sequence[Controller], listener: Listener, heard: Callable[[], float]
) -> Mapping[Kind, Following]:
    """Every kind to follow, and how. A kind that no fact reads is held as text."""
    needed = watched(rules.without, nodes=rules.options.settings.nodes != "off")
    reads = {kind: how for controller in controllers for kind, how in controller.reads.items()}
    made = [child for controller in controllers for child in controller.children]
    versions = {kind_of(each): each.version for each in (*rules.kinds(), *made)}
    managed = {*reports.KINDS, *versions} - set(map(kind_of, rules.kinds()))
    config = {Kind("", "ConfigMap"): Key(rules.options.settings.ome_namespace, CONFIG)}
    return {
        kind: Following(
            versions.get(kind, ""),
            MANAGED_BY if kind in managed - reads.keys() else "",
            trimmed if kind in managed else reads.get(kind, trimmed),  # a child is compared whole
            kind not in needed,
            heard,
            listener,
            config.get(kind),
        )
        for kind in {*needed, *versions, *managed, *reads, *config}
    }
