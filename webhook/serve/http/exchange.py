"""The bodies of requests and replies, in pieces, each counted in the budget while it is held."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from webhook.admission.errors import TooLarge, TooSlow
from webhook.serve.http.budget import Share

__all__ = ["BODY_LIMIT", "Reply", "body_of"]

BODY_LIMIT: Final = 7 * 1024 * 1024
"""Bytes of one body: a review holds two objects of 3 MiB, plus a megabyte for the rest (as in controller-runtime)."""

PIECE: Final = 64 * 1024
"""Bytes to send at once. The next piece waits until the peer has read: what is not sent stays in the budget."""


async def body_of(request: Request, share: Share, seconds: float) -> bytes:
    """Read the body of a request.

    Raises:
        TooLarge: it exceeds the limit.
        TooSlow: it is not complete after ``seconds``.
        Unavailable: the budget is used up.
        ClientDisconnect: the client has closed the connection.
    """
    if int(request.headers.get("content-length", "0")) > BODY_LIMIT:
        raise _too_large()
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                share.take(len(chunk))
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise _too_large()
    except TimeoutError:
        raise TooSlow(f"the body did not arrive within {seconds:g}s") from None
    return bytes(body)


def _too_large() -> TooLarge:
    return TooLarge(f"the body is over the limit of {BODY_LIMIT} bytes")


class Reply(Response):
    """A response that is sent in pieces, as fast as the peer reads. Small ones, the most, are one piece."""

    media_type = "application/json"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self.body) <= PIECE:
            await super().__call__(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        body = memoryview(self.body)
        for start in range(0, len(body), PIECE):
            piece = bytes(body[start : start + PIECE])
            await send({"type": "http.response.body", "body": piece, "more_body": start + PIECE < len(body)})
