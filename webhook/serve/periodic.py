"""Something done again and again while the server runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

__all__ = ["repeated"]


@contextlib.asynccontextmanager
async def repeated(action: Callable[[], object], seconds: float) -> AsyncIterator[None]:
    """Run ``action`` in a thread every so many seconds for as long as the context lasts."""

    async def forever() -> None:
        while True:
            await asyncio.sleep(seconds)
            await asyncio.to_thread(action)

    task = asyncio.create_task(forever())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
