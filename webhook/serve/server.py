"""The life cycle of the server: start, serve, drain, stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webhook.admission.errors import Problem, SettingsError
from webhook.engine import Options, catalog
from webhook.serve.app import Background, application
from webhook.serve.connection import Connection
from webhook.serve.gate import Gate
from webhook.serve.listener import Listener
from webhook.serve.liveview import live_view
from webhook.serve.periodic import repeated
from webhook.serve.process import raise_descriptor_limit
from webhook.serve.reload import Reloader, admission_policies, rules
from webhook.serve.settings import Settings
from webhook.serve.tls import Certificate
from webhook.serve.trust import Trust

__all__ = ["run"]

log = logging.getLogger("modelgate")

KEEP_ALIVE: Final = 120
"""Seconds to keep an idle connection: longer than the 90 of the API server's pool, so that the API server closes first;
it does not retry a POST on a connection that was closed meanwhile."""

LAST_REQUESTS: Final = 10
"""Seconds for requests that still run when the listener closes; longer than the timeout of the chart's webhooks."""


STARTUP_FAILURE: Final = 3
"""uvicorn's exit code if the application does not start."""


class Draining:
    """While the server drains, close each connection after its answer, so that clients move to another replica."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._gate.draining or scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def closing(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        await self._app(scope, receive, closing)


class _Server(uvicorn.Server):
    """uvicorn's server, which serves for a while after the first SIGTERM.

    An endpoint takes seconds to leave every node, and until then the API server sends requests here. They are answered,
    and their connections closed.
    """

    def __init__(self, config: uvicorn.Config, gate: Gate, seconds: float) -> None:
        super().__init__(config)
        self._gate = gate
        self._seconds = seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, but with a listener that limits handshakes."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        (bound,) = sockets or [self.config.bind_socket()]
        listener = Listener(bound, self._connection, self.config.ssl, self.config.backlog)
        self.servers = [listener]  # type: ignore[list-item]  # of a server, uvicorn only calls what a Listener has
        self.started = True

    def _connection(self) -> Connection:
        return Connection(self.config, self.server_state, self.lifespan.state)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig != signal.SIGTERM or self._gate.draining or not self._seconds:
            super().handle_exit(sig, frame)
            return
        self._gate.draining = True
        log.info("draining for %gs", self._seconds)
        asyncio.get_running_loop().call_later(self._seconds, super().handle_exit, sig, frame)


def run(settings: Settings) -> int:
    """Serve until stopped; returns the exit code of the process.

    Raises:
        LoadError: certificate, rules or policies cannot be loaded.
    """
    raise_descriptor_limit()
    gate = Gate(options=Options(profile=settings.profile, references=settings.view == "live", settings=settings.facts))
    files = _certificate(gate, settings)
    files.check()
    background: list[Background] = [
        lambda: repeated(files.check, settings.tls_poll_seconds),
        _settled,
        *_view(gate, settings),
        *_rules(gate, settings),
    ]
    app = Draining(application(gate, background), gate)
    server = _Server(_config(app, files.certificate, settings), gate, settings.drain_seconds)
    server.run()
    return 0 if server.started else 1


class _Files:
    """The files of the certificate: a check takes up a new pair, and reports what is wrong to the gate."""

    def __init__(self, gate: Gate, trust: Trust, certificate: Certificate) -> None:
        self._gate, self._trust, self.certificate = gate, trust, certificate

    def check(self) -> None:
        before = self.certificate.refused
        self.certificate.refresh()
        refused = self.certificate.refused
        if refused and refused != before:
            self._gate.metrics.certificates_refused.inc()
        self._trust.refresh()
        if wrong := "; ".join(filter(None, [refused, *self._trust.warnings()])):
            self._gate.refuse("certificates", wrong)
        else:
            self._gate.accept("certificates")


def _certificate(gate: Gate, settings: Settings) -> _Files:
    """The certificate of the settings, and what clients think of it."""
    gate.trust = Trust(settings.tls_dir)
    gate.metrics.registry.register(gate.trust)
    try:
        return _Files(gate, gate.trust, Certificate(settings.tls_dir, gate.trust.serve))
    except (OSError, ValueError) as error:
        raise SettingsError([Problem("--tls-dir (MODELGATE_TLS_DIR)", str(settings.tls_dir), str(error))]) from None


def _view(gate: Gate, settings: Settings) -> Iterator[Background]:
    """Give the gate a live view, if the settings ask for one."""
    if settings.view == "live":
        gate.live_view = live_view(settings.view_kubeconfig, settings.view_stale_seconds)
        gate.metrics.watch(gate.live_view.freshness)
        yield gate.live_view.running


def _rules(gate: Gate, settings: Settings) -> Iterator[Background]:
    """Load the rules and the admission policies; those from folders are reloaded on change."""
    if settings.policies is None:
        gate.use(catalog.load(settings=settings.facts))
    else:
        yield _reloaded(rules(gate, settings.policies), settings)
    if settings.admission_policies is not None:
        yield _reloaded(admission_policies(gate, settings.admission_policies), settings)


def _reloaded(reloader: Reloader[Any], settings: Settings) -> Background:
    reloader.load()
    return lambda: repeated(reloader.refresh, settings.policies_poll_seconds)


def _config(app: ASGIApp, certificate: Certificate, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.listen_port,
        http=Connection,
        ws="none",
        proxy_headers=False,
        ssl_context_factory=lambda _config, _default: certificate.context,
        access_log=False,  # it costs a third of the throughput; the metrics count
        log_config=None,  # the command line has configured the loggers
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=LAST_REQUESTS,
    )


@contextlib.asynccontextmanager
async def _settled() -> AsyncIterator[None]:
    """Exclude loaded objects from garbage collection, which halves the time of large reviews."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    yield
