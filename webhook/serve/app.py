"""The HTTP face of the gate: five paths, and what every error looks like."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from webhook.admission.errors import (
    Malformed,
    ModelgateError,
    RequestError,
    TooLarge,
    TooSlow,
    Unavailable,
    UnsupportedMedia,
)
from webhook.serve.gate import Call, Gate, one_line

__all__ = ["BODY_LIMIT", "Background", "application"]

log = logging.getLogger("modelgate")

BODY_LIMIT: Final = 7 * 1024 * 1024
"""An object may have 3 MiB and a review holds two, plus a megabyte for the rest (as controller-runtime reckons)."""

BODIES_LIMIT: Final = 64 * 1024 * 1024
"""Of all bodies that are coming in together: nine of the largest, and an eighth of the memory that the chart allows."""

LARGE: Final = 1024 * 1024
"""From this size of a body on, what an error's traceback holds in a circle is collected at once: a hundred megabytes,
which the collector, set for small requests, would leave for hours. It takes a few milliseconds."""

MAX_TIMEOUT: Final = 30.0
"""Seconds: no API server waits longer for a webhook."""

_DURATION = re.compile(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?\Z")

Background = Callable[[], AbstractAsyncContextManager[None]]
"""Something that goes on for as long as the application serves."""


def application(gate: Gate, background: Sequence[Background] = ()) -> Starlette:
    """The ASGI application of a gate."""

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for task in background:
                await stack.enter_async_context(task())
            yield

    bodies = _Bodies()
    app = Starlette(
        routes=[
            Route("/mutate", _reviewer(gate, "mutate", bodies), methods=["POST"]),
            Route("/validate", _reviewer(gate, "validate", bodies), methods=["POST"]),
            Route("/healthz", _healthz),
            Route("/readyz", _readiness(gate)),
            Route("/metrics", _metrics(gate)),
        ],
        exception_handlers={HTTPException: _http_error, ModelgateError: _error, Exception: _fault},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # no API server follows a redirection
    return app


class _Bodies:
    """The bodies that are coming in, none larger than its limit, nor all together than theirs."""

    def __init__(self) -> None:
        self._held = 0

    async def read(self, request: Request, seconds: float) -> bytes:
        """One body, within so many seconds.

        Raises:
            TooLarge, TooSlow: it is, or has not come.
            Unavailable: there are too many others.
            ClientDisconnect: it never will.
        """
        if int(request.headers.get("content-length", "0")) > BODY_LIMIT:
            raise TooLarge(f"the body is over the limit of {BODY_LIMIT} bytes")
        body = bytearray()
        try:
            async with asyncio.timeout(seconds):
                async for chunk in request.stream():
                    self._held += len(chunk)
                    body += chunk
                    if len(body) > BODY_LIMIT:
                        raise TooLarge(f"the body is over the limit of {BODY_LIMIT} bytes")
                    if self._held > BODIES_LIMIT:
                        raise Unavailable("too many bodies are coming in at once")
        except TimeoutError:
            raise TooSlow(f"the body did not come within {seconds:g}s") from None
        finally:
            self._held -= len(body)
        return bytes(body)


def _reviewer(gate: Gate, call: Call, bodies: _Bodies) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        content_type = request.headers.get("content-type", "")
        if content_type.partition(";")[0].strip().lower() != "application/json":
            raise UnsupportedMedia(f'send application/json, not "{content_type[:80]}"')
        timeout = _seconds(request.query_params.get("timeout"))
        try:
            body = await bodies.read(request, MAX_TIMEOUT if timeout is None else max(timeout, 1.0))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is left to read it
        try:
            return Response(await gate.reply(call, body, timeout), media_type="application/json")
        finally:
            if len(body) > LARGE:
                gc.collect()

    return endpoint


def _seconds(text: str | None) -> float | None:
    """The caller's patience, a Go duration such as ``5s``, at most :data:`MAX_TIMEOUT`; None where it is not given."""
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
        trouble = f", but {gate.refused}" if gate.refused else ""
        policies = f"admission policies {gate.policies.digest}\n" if gate.policies is not None else ""
        return PlainTextResponse(f"ok{trouble}\ncatalog {gate.catalog.digest if gate.catalog else ''}\n{policies}")

    return readyz


def _metrics(gate: Gate) -> Callable[[Request], object]:
    async def metrics(_request: Request) -> Response:
        return Response(gate.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return metrics


async def _error(_request: Request, error: Exception) -> Response:
    """An error of ours: one sentence, and where a retry helps, when."""
    if isinstance(error, Unavailable):
        log.warning("unavailable: %s", one_line(str(error)))
        return PlainTextResponse(f"{error}\n", error.status, {"Retry-After": "1", "Connection": "close"})
    if isinstance(error, RequestError):
        # What is left of a body that was not read to its end must not be taken for the next request.
        headers = {"Connection": "close"} if isinstance(error, TooLarge | TooSlow) else {}
        return PlainTextResponse(f"{error}\n", error.status, headers)
    log.error("fault: %s", one_line(str(error)))
    return PlainTextResponse(f"internal fault: {error}\n", 500)


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        404: "no such path: the gate answers /mutate, /validate, /healthz, /readyz and /metrics",
        405: "wrong method: reviews are POSTed to /mutate and /validate, the rest is read with GET",
    }
    text = sentences.get(error.status_code, error.detail)
    return PlainTextResponse(f"{text}\n", error.status_code, dict(error.headers or {}))


async def _fault(_request: Request, _error: Exception) -> Response:
    """Something nobody foresaw: the log has the traceback, the caller a sentence and a 500."""
    return PlainTextResponse("internal fault: the log of the gate has the details\n", 500)
