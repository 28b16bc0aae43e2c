"""The life of the server: start, serve, drain, stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import AsyncIterator
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webhook.admission.errors import Problem, SettingsError
from webhook.engine import Options, catalog
from webhook.serve.app import Background, application
from webhook.serve.connection import Connection
from webhook.serve.gate import Gate
from webhook.serve.liveview import follower
from webhook.serve.periodic import repeated
from webhook.serve.reload import Reloader, admission_policies, rules
from webhook.serve.settings import Settings
from webhook.serve.tls import Certificate
from webhook.serve.trust import Trust

__all__ = ["run"]

log = logging.getLogger("modelgate")

KEEP_ALIVE: Final = 120
"""Seconds an idle connection is kept: longer than the 90 of the API server's pool, so that we never close first; it
does not retry a POST that met a closed connection."""

LAST_REQUESTS: Final = 10
"""Seconds for the requests still running when the listener is closed; longer than any webhook timeout we register."""


class Draining:
    """Tells every client to leave, once the server is to stop: the answer to each request closes its connection."""

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
    """uvicorn's server, which serves on for a while after the first SIGTERM.

    Endpoints take seconds to leave every node; until then the API server goes on calling. It is
    answered, and told to close, and comes back to another replica.
    """

    def __init__(self, config: uvicorn.Config, gate: Gate, seconds: float) -> None:
        super().__init__(config)
        self._gate = gate
        self._seconds = seconds

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig != signal.SIGTERM or self._gate.draining or not self._seconds:
            super().handle_exit(sig, frame)
            return
        self._gate.draining = True
        log.info("draining for %gs", self._seconds)
        asyncio.get_running_loop().call_later(self._seconds, super().handle_exit, sig, frame)


def run(settings: Settings) -> int:
    """Serve until told to stop; the process's exit code."""
    gate = Gate(options=Options(profile=settings.profile, references=settings.view == "live", settings=settings.facts))

    gate.trust = Trust(settings.tls_dir)
    gate.metrics.registry.register(gate.trust)
    try:
        certificate = Certificate(settings.tls_dir, gate.trust.serve)
    except (OSError, ValueError) as error:
        raise SettingsError([Problem("--tls-dir (MODELGATE_TLS_DIR)", str(settings.tls_dir), str(error))]) from None
    look_at_files = _Files(gate, gate.trust, certificate)
    look_at_files()
    background: list[Background] = [lambda: repeated(look_at_files, settings.tls_poll_seconds), _settled]
    if settings.view == "live":
        gate.follower = follower(settings.view_kubeconfig, settings.view_stale_seconds)
        gate.metrics.watch(gate.follower.news)
        background.append(gate.follower.running)
    if settings.policies is None:
        gate.use(catalog.load(settings=settings.facts))
    else:
        background.append(_followed(rules(gate, settings.policies), settings))
    if settings.admission_policies is not None:
        background.append(_followed(admission_policies(gate, settings.admission_policies), settings))
    config = uvicorn.Config(
        Draining(application(gate, background), gate),
        host=settings.host,
        port=settings.listen_port,
        http=Connection,
        ws="none",
        proxy_headers=False,
        ssl_context_factory=lambda _config, _default: certificate.context,
        access_log=False,  # a third of the throughput; the metrics count
        log_config=None,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=LAST_REQUESTS,
    )
    server = _Server(config, gate, settings.drain_seconds)
    server.run()
    return 0 if server.started else 1


class _Files:
    """A look at the directory of the certificate: a new pair is taken up, and what is wrong is told to the gate."""

    def __init__(self, gate: Gate, trust: Trust, certificate: Certificate) -> None:
        self._gate, self._trust, self._certificate = gate, trust, certificate

    def __call__(self) -> None:
        before = self._certificate.refused
        self._certificate.refresh()
        refused = self._certificate.refused
        if refused and refused != before:
            self._gate.metrics.certificates_refused.inc()
        self._trust.refresh()
        if wrong := "; ".join(filter(None, [refused, *self._trust.warnings()])):
            self._gate.refuse("certificates", wrong)
        else:
            self._gate.accept("certificates")


def _followed(reloader: Reloader[Any], settings: Settings) -> Background:
    """Loaded now, and looked at again and again."""
    reloader.load()
    return lambda: repeated(reloader.refresh, settings.policies_poll_seconds)


@contextlib.asynccontextmanager
async def _settled() -> AsyncIterator[None]:
    """What was loaded stays: the collector need not look at it again (halves the time of large objects)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    yield
