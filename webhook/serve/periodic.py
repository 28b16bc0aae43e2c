"""Something done again and again while the server runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable

__all__ = ["repeated"]

log = logging.getLogger("modelgate")


@contextlib.asynccontextmanager
async def repeated(action: Callable[[], object], seconds: float) -> AsyncIterator[None]:
    """Run ``action`` in a thread every so many seconds for as long as the context lasts, whatever it raises."""

    async def forever() -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await asyncio.to_thread(action)
            except Exception:  # nobody foresaw it; without the next look, nothing new would ever be taken up
                log.exception("what is done every %gs has failed", seconds)

    task = asyncio.create_task(forever())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
