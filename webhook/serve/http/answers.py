"""What the server answers, seen from outside: errors are counted, and the log knows the peer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webhook.serve.http.limited import Limited
from webhook.serve.metrics import Metrics

PATHS: Final = frozenset({"/mutate", "/validate", "/healthz", "/readyz", "/metrics"})
"""The values of the label ``path``; every other path is "other"."""

PEER: ContextVar[tuple[str, int] | None] = ContextVar("peer", default=None)
"""The client whose request is being answered; None outside of requests."""

Refused = Callable[[int, str, str], None]
"""Notes a request that did not reach the application: status, peer, what is wrong."""


class Answers:
    """Counts each answer with an error, by path and status, and sets :data:`PEER`."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        PEER.set(scope.get("client"))

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                path = scope["path"] if scope["path"] in PATHS else "other"
                self._metrics.errors.labels(path, message["status"]).inc()
            await send(message)

        await self._app(scope, receive, counting)


def refusals(metrics: Metrics) -> Refused:
    """Count and log requests that end before the application sees them."""
    lines = Limited(logging.getLogger("modelgate"))

    def refused(status: int, peer: str, why: str) -> None:
        metrics.errors.labels("", status).inc()
        lines.warning(str(status), "refused a request of %s: %d %s", peer or "unknown", status, why)

    return refused


def peer() -> str:
    """The host of the client whose request is being answered; empty outside of requests."""
    client = PEER.get()
    return client[0] if client else ""


def address() -> str:
    """The client whose request is being answered, as the log names it; empty outside of requests."""
    client = PEER.get()
    return f"{client[0].removeprefix('::ffff:')}:{client[1]}" if client else ""
