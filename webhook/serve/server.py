"""The life cycle of the server: start, serve, drain, stop."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from types import FrameType
from typing import Any, Final, NoReturn, cast

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webhook import catalog
from webhook.admission.errors import Problem, SettingsError
from webhook.catalog import groups_of
from webhook.engine import Options
from webhook.serve.app import ERRORS, Background, application, probes
from webhook.serve.callers import Anyone, Callers, Certified, ClusterIssuer, Tokens, tokens_current
from webhook.serve.direct import Direct
from webhook.serve.enforcement import EnforcedPolicies
from webhook.serve.faults import cluster_events
from webhook.serve.gate import Gate
from webhook.serve.http.answers import Answers, refusals
from webhook.serve.http.connection import CONNECTIONS, Connection
from webhook.serve.http.immediate import Waiting
from webhook.serve.http.listener import Listener
from webhook.serve.http.sockets import bound, listening
from webhook.serve.installed import InstalledDefinitions
from webhook.serve.liveview import live_view, reader
from webhook.serve.metrics import Metrics
from webhook.serve.noted import Journal
from webhook.serve.polling import Hangup, repeated
from webhook.serve.process import Memory, raise_descriptor_limit
from webhook.serve.reload import Reloader, admission_policies, rules
from webhook.serve.settings import Settings
from webhook.serve.tls import Certificate, Trust
from webhook.serve.tracing import exported

__all__ = ["run"]

log = logging.getLogger("modelgate")

KEEP_ALIVE: Final = 120
"""Seconds to keep an idle connection: longer than the 90 of the API server's pool, so that the API server closes first;
it does not retry a POST on a connection that was closed meanwhile."""

LAST_REQUESTS: Final = 10
"""Seconds for requests that still run when the listener closes; longer than the timeout of the chart's webhooks."""

DATE_SECONDS: Final = 1.0
"""Seconds for which replies have the same date. uvicorn wakes up ten times in a second; a request that comes just then
waits, and finds its data displaced from the caches."""

MEMORY_SECONDS: Final = 10.0
"""Seconds between two looks at the memory that could be given back."""

SCREEN_SECONDS: Final = 5.0
"""Seconds between two looks for kinds whose rules should become one function (:mod:`webhook.cel.batch`)."""

STARTUP_FAILURE: Final = 3
"""uvicorn's exit code if the application does not start."""


class Draining:
    """While the server drains, close each connection after its answer, so that clients move to another replica."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._gate.readiness.draining or scope["type"] != "http":
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
        self._ended = asyncio.Event()

    async def main_loop(self) -> None:
        """As uvicorn does, until it is stopped, but rarely."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), DATE_SECONDS)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, but with a listener that limits handshakes."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        (sock,) = sockets or [bound(self.config)]
        listener = Listener(sock, self._connection, self.config.ssl, self.config.backlog, self._spare)
        self.servers = [listener]  # type: ignore[list-item]  # of a server, uvicorn only calls what a Listener has
        self.started = True

    def _connection(self) -> Connection:
        make = cast("Callable[..., Connection]", self.config.http_protocol_class)
        return make(self.config, self.server_state, self.lifespan.state)

    def _spare(self) -> int:
        return CONNECTIONS - len(self.server_state.connections)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig != signal.SIGTERM:
            super().handle_exit(sig, frame)
            self._ended.set()
            return
        if self._gate.readiness.draining or not self._seconds:
            self._stop()
            return
        self._gate.readiness.draining = True
        log.info("draining for %gs", self._seconds)
        asyncio.get_running_loop().call_later(self._seconds, self._stop)

    def _stop(self) -> None:
        """Stop without raising the signal again, as uvicorn would: a server that was asked to end exits with 0."""
        self.should_exit = True
        self._ended.set()


def run(settings: Settings) -> int:
    """Serve until stopped; returns the exit code of the process.

    Raises:
        LoadError: certificate, rules or policies cannot be loaded.
    """
    raise_descriptor_limit()
    hangup = Hangup()
    hangup.ignore()
    signal.signal(signal.SIGTERM, _stopped_early)
    gate = Gate(
        options=Options(profile=settings.profile, references=settings.view == "live", settings=settings.facts),
        without=groups_of(settings.without),
        metrics=Metrics(settings.metrics_namespaces),
        journal=Journal(settings.log_users),
        fleet=(settings.fleet_stage, settings.fleet_artefact),
    )
    files = _certificate(gate, settings)
    files.check()
    callers, calling = _callers(settings, gate, hangup)
    background: list[Background] = [
        hangup.running,
        lambda: repeated(files.check, settings.tls_poll_seconds, hangup),
        _settled,
        lambda: _upkeep(gate),
        *calling,
        *_view(gate, settings),
        *_events(gate, settings),
        *_rules(gate, settings, hangup),
        *_health(gate, settings, files.certificate),
    ]
    tracing = exported(settings.trace_endpoint) if settings.trace_endpoint else None
    if tracing is not None:
        gate.replace(stage=tracing.stage)
        background.append(tracing.running)
    app: ASGIApp = application(gate, background, callers, with_probes=not settings.health_port)
    if tracing is not None:
        app = tracing.around(app)
    # A trace has a span of the whole review, which only the application can make.
    direct = Direct(gate, callers) if tracing is None else None
    config = _config(_outside(app, gate), gate, files.certificate, settings, direct)
    server = _Server(config, gate, settings.drain_seconds)
    server.run()
    return 0 if server.started else 1


def _stopped_early(_sig: int, _frame: FrameType | None) -> NoReturn:
    """End on SIGTERM before the server runs; as the first process of a container, the default would be to ignore it."""
    raise SystemExit(0)


def _outside(app: ASGIApp, gate: Gate) -> ASGIApp:
    return Answers(Draining(app, gate), gate.metrics)


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
    gate.readiness.trust = trust = Trust(settings.tls_dir)
    gate.metrics.registry.register(trust)
    gate.metrics.count_undecided(lambda: gate.state.catalog.undecided() if gate.state.catalog else ())
    gate.metrics.count_missed_stamps(lambda: gate.state.recent.missed)
    try:
        client_ca = settings.client_ca if settings.caller == "mtls" else None
        return _Files(gate, trust, Certificate(settings.tls_dir, trust.serve, client_ca))
    except (OSError, ValueError) as error:
        raise SettingsError([Problem("--tls-dir (MODELGATE_TLS_DIR)", str(settings.tls_dir), str(error))]) from None


def _callers(settings: Settings, gate: Gate, hangup: Hangup) -> tuple[Callers, list[Background]]:
    """The check of callers, and the task that keeps it up to date."""
    if settings.caller == "mtls":
        return Certified(settings.client_name), []
    if settings.caller == "none":
        return Anyone(), []
    issuer = ClusterIssuer(settings.view_kubeconfig)
    tokens = Tokens(issuer, frozenset(settings.token_audience), frozenset(settings.client_name))
    gate.readiness.needs.append(tokens.unready)
    return tokens, [lambda: tokens_current(tokens, hangup)]


def _health(gate: Gate, settings: Settings, certificate: Certificate) -> Iterator[Background]:
    """Health and metrics, if they have a port of their own."""
    if settings.health_port:
        app = Answers(Starlette(routes=probes(gate), exception_handlers=ERRORS), gate.metrics)
        context = (lambda: certificate.context) if settings.health_tls else None
        more = {**_shared(gate, settings), "port": settings.health_port}
        yield lambda: listening(app, context, **more)


def _view(gate: Gate, settings: Settings) -> Iterator[Background]:
    """Give the gate a live view, if the settings ask for one; otherwise it does not know what is installed."""
    if settings.view != "live":
        gate.replace(installed=None)
    else:
        view = live_view(
            settings.view_kubeconfig,
            settings.view_stale_seconds,
            gate.without,
            nodes=settings.facts.nodes != "off",
        )
        gate.replace(live_view=view)
        gate.metrics.watch(view.freshness)
        yield view.running
        connect = functools.partial(reader, settings.view_kubeconfig)
        installed = InstalledDefinitions(gate, connect, _settle)
        enforced = EnforcedPolicies(gate, connect, installed.silence)
        installed.appeared = enforced.appeared
        gate.readiness.needs += [installed.unready, enforced.unready]
        yield installed.following
        yield enforced.following


def _events(gate: Gate, settings: Settings) -> Iterator[Background]:
    """Report faults as Events, if the settings name the pod that they are about."""
    if settings.pod:
        faults = cluster_events(settings.view_kubeconfig, settings.pod)
        gate.report = faults.report
        yield faults.running


def _rules(gate: Gate, settings: Settings, hangup: Hangup) -> Iterator[Background]:
    """Load the rules and the admission policies; those from folders are reloaded on change."""
    if settings.only_policies is not None or settings.policies:
        yield _reloaded(rules(gate, settings.only_policies, settings.policies), settings, hangup)
    else:
        gc.disable()  # nothing of it becomes garbage, and each collection would look at all of it
        gate.use(catalog.load(settings=settings.facts))
        gc.enable()
    if settings.admission_policies is not None:
        yield _reloaded(admission_policies(gate, settings.admission_policies), settings, hangup)


def _reloaded(reloader: Reloader[Any], settings: Settings, hangup: Hangup) -> Background:
    reloader.start()
    return lambda: repeated(reloader.refresh, settings.policies_poll_seconds, hangup)


def _config(
    app: ASGIApp, gate: Gate, certificate: Certificate, settings: Settings, direct: Direct | None
) -> uvicorn.Config:
    shared = _shared(gate, settings)
    return uvicorn.Config(
        app,
        port=settings.listen_port,
        ws="none",
        ssl_context_factory=lambda _config, _default: certificate.context,
        **{**shared, "http": functools.partial(shared["http"], answering=direct, waiting=Waiting())},
    )


def _shared(gate: Gate, settings: Settings) -> dict[str, Any]:
    """The settings of uvicorn for both ports."""
    return {
        "host": settings.host,
        "http": functools.partial(Connection, refused=refusals(gate.metrics)),
        "proxy_headers": False,
        "access_log": False,  # it costs a third of the throughput; the metrics count
        "log_config": None,  # the command line has configured the loggers
        "server_header": False,
        "timeout_keep_alive": KEEP_ALIVE,
        "timeout_graceful_shutdown": LAST_REQUESTS,
    }


@contextlib.asynccontextmanager
async def _settled() -> AsyncIterator[None]:
    _settle()
    gc.set_threshold(50_000, 20, 100)
    yield


@contextlib.asynccontextmanager
async def _upkeep(gate: Gate) -> AsyncIterator[None]:
    """Make what pays by now, and give back what nothing uses: what making it leaves, up to 15 MiB a kind, at once."""
    memory = Memory()

    def screens() -> None:
        while gate.prepare_screens():
            gc.collect()
            memory.trim()

    async with repeated(memory.trim, MEMORY_SECONDS), repeated(screens, SCREEN_SECONDS):
        yield


def _settle() -> None:
    """Exclude loaded objects from garbage collection, which halves the time of large reviews."""
    gc.collect()
    gc.freeze()
