"""Faults as Events of the cluster, written by a thread: the client library takes a second to load."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Final, Protocol

from webhook.admission.errors import Unavailable

log = logging.getLogger("modelgate")

GRACE: Final = 1.0
"""Seconds for the last Event when the server stops."""


class Events(Protocol):
    """Where Events are written; ``warn`` raises Unavailable."""

    def warn(self, reason: str, note: str) -> None: ...


class Faults:
    """Writes each reported fault once. ``connect`` raises NotReady where there is no cluster."""

    def __init__(self, connect: Callable[[], Events]) -> None:
        self._connect = connect
        self._events: Events | None = None
        self._queue: SimpleQueue[tuple[str, str] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="faults", daemon=True)

    def report(self, reason: str, note: str) -> None:
        """Write an Event; returns at once. ``reason`` is in Kubernetes' spelling, such as ``RulesRefused``."""
        self._queue.put((reason, note))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write while the context lasts."""
        self._thread.start()
        try:
            yield
        finally:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join, GRACE)

    def _work(self) -> None:
        while (fault := self._queue.get()) is not None:
            try:
                if self._events is None:
                    self._events = self._connect()
                self._events.warn(*fault)
            except Unavailable as error:
                log.warning("no Event was created: %s", error)


def cluster_events(kubeconfig: Path | None, pod: str) -> Faults:
    """Faults as Events about a pod, given as ``NAMESPACE/NAME/UID``."""

    def connect() -> Events:
        from webhook.cluster.connection import Pod, pod_events  # noqa: PLC0415 - see above

        return pod_events(kubeconfig, Pod(*pod.split("/")))

    return Faults(connect)
