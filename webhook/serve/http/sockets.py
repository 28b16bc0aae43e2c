"""The socket of a port: on one address, or on every address of IPv4 and of IPv6; and a second port.

Health and metrics may have a port of their own, so that probes and Prometheus need no certificate and no token.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

log = logging.getLogger("modelgate")

EVERY: Final = ""
"""The host that stands for every address. The kubelet and the API server call the address of the pod, whose family only
the cluster knows: in some it is IPv6 alone."""

_LOOPBACK: Final = "127.0.0.1"
_FAILURE: Final = 1
"""The exit code of uvicorn where it cannot bind."""


def default_host(environment: Mapping[str, str]) -> str:
    """Where to listen without a word about it: in a pod everywhere, else where only this machine calls."""
    return EVERY if "KUBERNETES_SERVICE_HOST" in environment else _LOOPBACK


def bound(config: uvicorn.Config) -> socket.socket:
    """The socket that a configuration asks for.

    Raises:
        SystemExit: it cannot be bound, which is logged.
    """
    if config.host != EVERY:
        return config.bind_socket()
    dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual else socket.AF_INET
    try:
        sock = socket.create_server(("", config.port), family=family, backlog=config.backlog, dualstack_ipv6=dual)
    except OSError as error:
        log.error("port %d cannot be listened on: %s", config.port, error)  # noqa: TRY400 - a traceback says nothing
        raise SystemExit(_FAILURE) from None
    return sock


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
