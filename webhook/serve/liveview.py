"""The life of a live view beside the server: connected in a thread, so that nobody waits for it to begin to serve."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

from webhook.admission.errors import NotReady
from webhook.cluster.readthrough import ReadThrough
from webhook.cluster.view import Freshness
from webhook.facts.reads import FETCHED, WATCHED

__all__ = ["ThreadedView", "ViewRunner", "live_view"]

log = logging.getLogger("modelgate")

TRY_AGAIN: Final = 5.0
"""Seconds between two tries to connect: what is missing is a file that somebody has to mount."""


class ThreadedView(ReadThrough, Protocol):
    """A view with threads."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def freshness(self) -> Iterable[Freshness]:
        """How current it is, kind by kind; never blocks."""
        ...


class ViewRunner:
    """Makes a view, starts it, and stops it in the end. ``make`` raises NotReady where it cannot be made yet."""

    def __init__(self, make: Callable[[], ThreadedView]) -> None:
        self._make = make
        self._view: ThreadedView | None = None
        self._trouble = "not connected to the API server yet"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._connect, name="view", daemon=True)

    def view(self) -> ReadThrough:
        """The view.

        Raises:
            NotReady: there is none yet.
        """
        if self._view is None:
            raise NotReady(self._trouble)
        return self._view

    def unready(self) -> list[str]:
        """Why there is no view, or why it should not be relied on; empty when it may."""
        return [self._trouble] if self._view is None else self._view.unready()

    def freshness(self) -> Iterable[Freshness]:
        """How current the view is, kind by kind; nothing where there is none."""
        return () if self._view is None else self._view.freshness()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the cluster for as long as the context lasts."""
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
                log.warning("%s; again in %.0f s", error, TRY_AGAIN)
                self._stop.wait(TRY_AGAIN)
                continue
            view.start()
            self._view = view
            return

    def _end(self) -> None:
        self._stop.set()
        self._thread.join()
        if self._view is not None:
            self._view.stop()


def live_view(kubeconfig: Path | None, stale: float) -> ViewRunner:
    """Of the kinds that facts read, in the cluster of a kubeconfig or of the pod we run in."""

    def make() -> ThreadedView:
        from webhook.cluster.live import live_view  # noqa: PLC0415 - the client library takes a second to load

        return live_view(kubeconfig, WATCHED, FETCHED, stale)

    return ViewRunner(make)
