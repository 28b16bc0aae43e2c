"""The HTTP application: five paths, limits on bodies, and the form of every error."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from webhook.admission import one_line
from webhook.admission.errors import (
    Forbidden,
    Malformed,
    ModelgateError,
    RequestError,
    TooLarge,
    TooSlow,
    Unauthenticated,
    Unavailable,
    UnsupportedMedia,
)
from webhook.serve.callers import Anyone, Callers, covered
from webhook.serve.gate import Gate
from webhook.serve.gate.state import Call
from webhook.serve.http.answers import address
from webhook.serve.http.bodies import Budget, Reply, Share, body_of
from webhook.serve.http.limited import Limited

log = logging.getLogger("modelgate")
strangers = Limited(log)
troubles = Limited(log, most=10)

MAX_TIMEOUT: Final = 30.0
"""Seconds: the API server's limit for a webhook."""

_DURATION = re.compile(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?\Z")

Background = Callable[[], AbstractAsyncContextManager[None]]
"""A task that runs while the application serves."""


ANYONE: Final = Anyone()
_CLOSED: Final = (TooLarge, TooSlow, Unauthenticated, Forbidden)
"""Errors after which the connection ends: the unread rest of a body must not be read as the next request."""


def probes(gate: Gate) -> list[Route]:
    """The paths for the kubelet and for Prometheus."""
    return [
        Route("/healthz", _healthz),
        Route("/readyz", _readiness(gate)),
        Route("/metrics", _metrics(gate)),
    ]


def application(
    gate: Gate,
    background: Sequence[Background] = (),
    callers: Callers = ANYONE,
    *,
    budget: Budget | None = None,
    with_probes: bool = True,
) -> Starlette:
    """Build the ASGI application of a gate; ``callers`` decides who may send reviews."""

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for task in background:
                await stack.enter_async_context(task())
            yield

    budget = budget or Budget()
    app = Starlette(
        routes=[
            Route("/mutate", _Reviews(gate, "mutate", budget, callers), methods=["POST"]),
            Route("/validate", _Reviews(gate, "validate", budget, callers), methods=["POST"]),
            *(probes(gate) if with_probes else ()),
        ],
        exception_handlers=ERRORS,
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # the API server does not follow redirects
    return app


class _Reviews:
    """The endpoint of one call. What a request holds is counted until its reply is sent."""

    def __init__(self, gate: Gate, call: Call, budget: Budget, callers: Callers) -> None:
        self._gate = gate
        self._call = call
        self._budget = budget
        self._callers = callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._budget.share() as share:
            await self._exchange(scope, receive, send, share)

    async def _exchange(self, scope: Scope, receive: Receive, send: Send, share: Share) -> None:
        response = await self._response(Request(scope, receive, send), share)
        await response(scope, receive, send)

    async def _response(self, request: Request, share: Share) -> Response:
        groups = await self._callers.admit(request.scope)
        content_type = request.headers.get("content-type", "")
        if content_type.partition(";")[0].strip().lower() != "application/json":
            raise UnsupportedMedia(f'send application/json, not "{content_type[:80]}"')
        timeout = _seconds(request.query_params.get("timeout"))
        try:
            body = await body_of(request, share, MAX_TIMEOUT if timeout is None else max(timeout, 1.0))
        except ClientDisconnect:
            return Response(status_code=400)  # the client has left
        covered(groups, body)
        reply = await self._gate.reply(self._call, body, timeout)
        share.exchange(len(reply))
        return Reply(reply)


def _seconds(text: str | None) -> float | None:
    """The caller's timeout, a Go duration such as ``5s``, at most :data:`MAX_TIMEOUT`; None if it is not given."""
    if not text:
        return None
    match = _DURATION.match(text)
    if not match:
        raise Malformed(f'timeout must be a duration such as 5s, not "{text[:80]}"')
    minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    return min(minutes * 60 + seconds + milliseconds / 1000, MAX_TIMEOUT)


async def _healthz(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _readiness(gate: Gate) -> Callable[[Request], object]:
    async def readyz(_request: Request) -> Response:
        reasons = gate.unready()
        if reasons:
            return PlainTextResponse("".join(f"{reason}\n" for reason in reasons), 503)
        state, refused = gate.state, gate.readiness.refused
        trouble = f", but {refused}" if refused else ""
        policies = f"admission policies {state.policies.digest}\n" if state.policies is not None else ""
        releases = "".join(f"{each} ({each.by})\n" for each in state.catalog.in_force.values()) if state.catalog else ""
        notes = "".join(f"{one_line(str(each))}\n" for each in state.deviations if each.is_notable)
        notes += "".join(f"{text}\n" for text in gate.uncovered.texts)
        catalog = state.catalog.digest if state.catalog else ""
        packs = state.catalog.added.items() if state.catalog else ()
        lines = "".join(f"pack {api} {digest}\n" for api, digest in packs)
        fleet = " ".join(filter(None, ["fleet", state.shared_digest(), *gate.fleet]))
        return PlainTextResponse(f"ok{trouble}\ncatalog {catalog}\n{lines}{fleet}\n{policies}{releases}{notes}")

    return readyz


def _metrics(gate: Gate) -> Callable[[Request], object]:
    async def metrics(_request: Request) -> Response:
        return Response(gate.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return metrics


async def _error(_request: Request, error: Exception) -> Response:
    """Report an expected error: one sentence, and Retry-After if a retry helps."""
    text = one_line(str(error))
    if isinstance(error, Unavailable):
        troubles.warning(type(error).__name__, "unavailable: %s", text)
        return PlainTextResponse(f"{text}\n", error.status, {"Retry-After": "1", "Connection": "close"})
    if isinstance(error, Unauthenticated | Forbidden):
        strangers.warning("caller", "refused the caller %s: %s", address(), text)
    if isinstance(error, RequestError):
        headers = {"Connection": "close"} if isinstance(error, _CLOSED) else {}
        if isinstance(error, Unauthenticated):
            headers["WWW-Authenticate"] = "Bearer"
        return PlainTextResponse(f"{text}\n", error.status, headers)
    troubles.line(logging.ERROR, "fault", "fault: %s", text)
    return PlainTextResponse(f"internal fault: {text}\n", 500)


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        404: "unknown path; use /mutate, /validate, /healthz, /readyz or /metrics",
        405: "wrong method; use POST for /mutate and /validate, and GET for the other paths",
    }
    text = sentences.get(error.status_code, error.detail)
    return PlainTextResponse(f"{text}\n", error.status_code, dict(error.headers or {}))


async def _fault(_request: Request, _error: Exception) -> Response:
    """Report an unexpected error: the traceback goes to the log, the caller gets a 500."""
    return PlainTextResponse("internal fault: see the log of the gate\n", 500)


ERRORS: Final[dict[Any, Any]] = {HTTPException: _http_error, ModelgateError: _error, Exception: _fault}
"""The handlers of all errors."""
