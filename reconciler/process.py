"""The process: wait to lead, watch the resources, work, and stop in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from reconciler.lease import Lease
from reconciler.loop import Loop
from reconciler.projection import Controller
from reconciler.writer import Writer
from webhook.cluster.backoff import join
from webhook.cluster.reflector import Reflector
from webhook.cluster.resource import Key

__all__ = ["Process"]

# Seconds. A worker may be in a call that takes as long as the API server allows (cluster.api.TIMEOUT). The kubelet
# kills the process after 30 s by default, so waiting ends before. The next leader repeats what is cut off. A process
# that has lost the lease does not wait at all: another may work already.
GRACE = 20.0

# Seconds. Bookmarks come about once a minute: after three are missing, the objects in memory may be out of date.
STALE = 180.0


class Process:
    """All controllers of one reconciler."""

    def __init__(
        self, api: Writer, controllers: Sequence[Controller], lease: Lease | None, workers: int = 2, namespace: str = ""
    ) -> None:
        self._lease = lease
        self._workers = workers
        self._loops = [Loop(api, controller) for controller in controllers]
        self._reflectors = [
            Reflector(api, controller.resource, _noting(loop), loop.deleted, namespace, metadata_only=True)
            for controller, loop in zip(controllers, self._loops, strict=True)
        ]
        self._threads: list[threading.Thread] = []

    def run(self, stop: threading.Event) -> bool:
        """Work until ``stop`` is set (True), or leadership is lost (False) and another process may have begun."""
        if self._lease is not None and not self._lease.acquire(stop):
            return True
        self._start()
        kept = False
        try:
            kept = self._lease.hold(stop) if self._lease is not None else stop.wait()
        finally:
            self._stop(GRACE if kept else 0.0)
        if self._lease is not None and kept:
            self._lease.release()
        return kept

    def alive(self) -> tuple[bool, str]:
        """Whether every started thread still runs."""
        dead = [thread.name for thread in self._threads if not thread.is_alive()]
        return not dead, f"ended: {', '.join(dead)}" if dead else "ok"

    def ready(self) -> tuple[bool, str]:
        """Whether the watches are up to date; a process that waits to lead has none and is ready."""
        if not self._threads:
            return True, "waiting to lead"
        silences = [reflector.silence() for reflector in self._reflectors]
        if None in silences:
            return False, "not listed yet"
        longest = max(silence for silence in silences if silence is not None)
        return longest < STALE, f"leading; last event {longest:.0f} s ago"

    def _start(self) -> None:
        targets = [(f"reflector-{index}", reflector.run) for index, reflector in enumerate(self._reflectors)]
        targets += [(f"worker-{index}", loop.work) for loop in self._loops for index in range(self._workers)]
        self._threads = [threading.Thread(target=run, name=name, daemon=True) for name, run in targets]
        for thread in self._threads:
            thread.start()

    def _stop(self, grace: float) -> None:
        for reflector in self._reflectors:
            reflector.stop()
        for loop in self._loops:
            loop.queue.close()
        join(self._threads, grace)
        self._threads = []


def _noting(loop: Loop) -> Callable[[Key, dict[str, Any]], None]:
    def changed(key: Key, partial: dict[str, Any]) -> None:
        loop.changed(key, partial["metadata"]["resourceVersion"])

    return changed
