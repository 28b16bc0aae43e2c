"""Repeat an action while the server runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable

from webhook.serve.hangup import Hangup

__all__ = ["repeated"]

log = logging.getLogger("modelgate")


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
