"""Repeat an action while the server runs.

SIGHUP checks the files of policies and certificates now instead of at the next poll.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable

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


@contextlib.asynccontextmanager
async def repeated(action: Callable[[], object], seconds: float, hangup: Hangup | None = None) -> AsyncIterator[None]:
    """Run ``action`` in a thread every ``seconds`` while the context lasts, whatever it raises.

    At ``hangup`` it runs at once, and twice: a folder must be seen twice with the same content before it is used.
    """
    woken = hangup.sleeper() if hangup is not None else asyncio.Event()

    async def forever() -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), seconds)
            for _ in range(2 if woken.is_set() else 1):
                await _run(action, seconds)
            woken.clear()

    task = asyncio.create_task(forever())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _run(action: Callable[[], object], seconds: float) -> None:
    try:
        await asyncio.to_thread(action)
    except Exception:  # keep polling: one unexpected error must not end reloading
        log.exception("a task that runs every %gs has failed", seconds)
