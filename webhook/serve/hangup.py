"""SIGHUP: check the files of policies and certificates now instead of at the next poll."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator

__all__ = ["Hangup"]

log = logging.getLogger("modelgate")


class Hangup:
    """Wakes the tasks that poll files. Before the server runs, SIGHUP is ignored: it never ends the process."""

    def __init__(self) -> None:
        self._sleepers: list[asyncio.Event] = []

    def ignore(self) -> None:
        """Keep the signal from ending the process; call this in the main thread."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def sleeper(self) -> asyncio.Event:
        """An event that is set at each SIGHUP; its task clears it."""
        event = asyncio.Event()
        self._sleepers.append(event)
        return event

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """React to the signal while the context lasts."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self._wake)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGHUP)
            self.ignore()

    def _wake(self) -> None:
        log.info("SIGHUP: checking policies and certificates")
        for event in self._sleepers:
            event.set()
