"""Repeat an action while the server runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable

__all__ = ["repeated"]

log = logging.getLogger("modelgate")


@contextlib.asynccontextmanager
async def repeated(action: Callable[[], object], seconds: float) -> AsyncIterator[None]:
    """Run ``action`` in a thread every ``seconds`` while the context lasts, whatever it raises."""

    async def forever() -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await asyncio.to_thread(action)
            except Exception:  # keep polling: one unexpected error must not end reloading
                log.exception("a task that runs every %gs has failed", seconds)

    task = asyncio.create_task(forever())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
