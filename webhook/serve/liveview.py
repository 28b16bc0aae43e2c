"""The life cycle of a live view: connected in a thread, so that the server starts without waiting for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from pathlib import Path
from typing import Final, Protocol

from webhook.admission.errors import NotReady
from webhook.cluster import Reader, ReadThrough
from webhook.cluster.view import Freshness
from webhook.facts import watched

log = logging.getLogger("modelgate")

RETRY_SECONDS: Final = 5.0
"""Seconds between two attempts to connect: the missing token or kubeconfig is a file that is yet to be mounted."""


class ThreadedView(ReadThrough, Protocol):
    """A view that runs threads."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def freshness(self) -> Iterable[Freshness]:
        """How current each kind is; never blocks."""
        ...


class ViewRunner:
    """Makes a view, starts it, and stops it at the end. ``make`` raises NotReady if that is not possible yet."""

    def __init__(self, make: Callable[[], ThreadedView]) -> None:
        self._make = make
        self._view: ThreadedView | None = None
        self._trouble = "not connected to the API server yet"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._connect, name="view", daemon=True)

    def view(self) -> ReadThrough:
        """The view.

        Raises:
            NotReady: it is not connected yet.
        """
        if self._view is None:
            raise NotReady(self._trouble)
        return self._view

    def unready(self) -> list[str]:
        """Why the view is missing or out of date; empty if it is current."""
        return [self._trouble] if self._view is None else self._view.unready()

    def freshness(self) -> Iterable[Freshness]:
        """How current each kind of the view is; empty before it is connected."""
        return () if self._view is None else self._view.freshness()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the cluster while the context lasts."""
        self._thread.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self._end)

    def _connect(self) -> None:
        while not self._stop.is_set():
            try:
                view = self._make()
            except NotReady as error:
                self._trouble = str(error)
                log.warning("%s; retry in %.0f s", error, RETRY_SECONDS)
                self._stop.wait(RETRY_SECONDS)
                continue
            view.start()
            self._view = view
            return

    def _end(self) -> None:
        self._stop.set()
        self._thread.join()
        if self._view is not None:
            self._view.stop()


def live_view(
    kubeconfig: Path | None, stale: float, without: Collection[str] = (), *, nodes: bool = False
) -> ViewRunner:
    """A runner for a view of the kinds that facts read, but those of the groups ``without``, and with ``nodes`` of the
    nodes; with a kubeconfig or the in-cluster configuration.
    """

    def make() -> ThreadedView:
        from webhook.cluster.live import live_view  # noqa: PLC0415 - the client library takes a second to load

        return live_view(kubeconfig, watched(without, nodes=nodes), stale)

    return ViewRunner(make)


def reader(kubeconfig: Path | None) -> Reader:
    """A connection to the API server, as that of the view.

    Raises:
        NotReady: no valid configuration was found.
    """
    from webhook.cluster.live import reader  # noqa: PLC0415 - as above

    return reader(kubeconfig)
