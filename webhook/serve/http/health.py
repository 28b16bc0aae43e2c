"""Health and metrics on a port of their own, so that probes and Prometheus need no certificate and no token."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from webhook.serve.http.sockets import bound


class Listener(uvicorn.Server):
    """A second listener on the loop of the first, without lifespan and without signal handlers."""

    async def open(self) -> None:
        """Listen.

        Raises:
            SystemExit: the port is in use; uvicorn has logged it.
        """
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup([bound(self.config)])

    async def close(self) -> None:
        """Finish open requests, and stop."""
        self.should_exit = True
        await self.shutdown()


@contextlib.asynccontextmanager
async def listening(app: ASGIApp, context: Callable[[], ssl.SSLContext] | None, **settings: Any) -> AsyncIterator[None]:
    """Serve ``app`` while the context lasts, over TLS if there is a ``context``; ``settings`` are uvicorn's."""
    if context is not None:
        settings["ssl_context_factory"] = lambda _config, _default: context()
    listener = Listener(uvicorn.Config(app, lifespan="off", ws="none", **settings))
    await listener.open()
    try:
        yield
    finally:
        await listener.close()
