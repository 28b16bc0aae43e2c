"""Repeat an action while the server runs: a check of files, or a look at the cluster, which a watch may call for.

SIGHUP checks the files of policies and certificates now instead of at the next poll.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable
from typing import Final

from webhook.cluster import join

log = logging.getLogger("modelgate")

GRACE: Final = 5.0
"""Seconds for a look to end; its thread is a daemon, so a request that hangs does not keep the process alive."""

AGAIN: Final = 10.0
"""Seconds after a look with an unexpected error."""


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


class Lookout:
    """Looks at something in a thread: again after the seconds that ``look`` returns, and as soon as a look is ``due``.

    Then it waits so many seconds for what changes ``together``. One unexpected error is not the last look.
    """

    def __init__(self, name: str, what: str, look: Callable[[], float], together: float = 0.0) -> None:
        self._name, self._what, self._look, self._together = name, what, look, together
        self.due = threading.Event()
        self.ended = threading.Event()

    @contextlib.asynccontextmanager
    async def running(self, stop: Callable[[], object]) -> AsyncIterator[None]:
        """Look while the context lasts; ``stop`` ends what calls for looks."""
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        thread.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self._end, thread, stop)

    def _run(self) -> None:
        while not self.ended.is_set():
            try:
                seconds = self._look()
            except Exception:  # see above
                log.exception("a look at %s has failed", self._what)
                seconds = AGAIN
            self.due.wait(seconds)
            self.ended.wait(self._together)
            self.due.clear()  # before the next look, and before the next question whether to end: neither is missed

    def _end(self, thread: threading.Thread, stop: Callable[[], object]) -> None:
        self.ended.set()
        self.due.set()
        stop()
        join([thread], GRACE)
