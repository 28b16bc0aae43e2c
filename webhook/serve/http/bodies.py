"""The bodies of requests and replies, in pieces, and the memory for them, in which each is counted while it is held.

One budget is for connections, for bodies until they are answered, and for unsent replies. The chart's limit of 512 MiB,
for example, is divided so: 96 MiB for the server with its rules, at least 64 and up to 256 MiB for the child that
decides a large review, and a quarter, 128 MiB, for requests.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from webhook.admission.errors import TooLarge, TooSlow, Unavailable
from webhook.serve.process import memory_limit

DEFAULT_LIMIT: Final = 512 * 1024 * 1024
"""Bytes, where the cgroup has no limit: the limit in the chart."""

SHARE: Final = 4
"""The part of the limit for requests: a quarter."""

FREE: Final = 64 * 1024
"""Bytes of each request that are not counted: small requests are answered however many large ones there are."""

CONNECTIONS: Final = 66 * 1024 * 1024
"""Bytes kept for connections: 600 of 40 KiB, each with the free bytes of a request, and 64 handshakes of 75 KiB. A
handshake in the place of a connection takes less."""

LEAST: Final = 16 * 1024 * 1024
"""Bytes for bodies and replies in any case: one of the largest of each."""


class Budget:
    """Bytes of bodies and replies that are held at this moment, with a limit."""

    def __init__(self, limit: int = 0) -> None:
        """``limit`` is in bytes; 0 stands for the share of the cgroup's limit."""
        self._left = limit or max((memory_limit() or DEFAULT_LIMIT) // SHARE - CONNECTIONS, LEAST)

    @contextlib.contextmanager
    def share(self) -> Iterator[Share]:
        """What one request holds; it is given back at the end."""
        share = Share(self)
        try:
            yield share
        finally:
            share.exchange(0)

    def take(self, size: int) -> None:
        """Take from the budget.

        Raises:
            Unavailable: less is left.
        """
        if size > self._left:
            raise Unavailable("the gate holds too many request bodies and unsent replies")
        self._left -= size

    def give(self, size: int) -> None:
        """Give back what was taken."""
        self._left += size


class Share:
    """The bytes that one request holds."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._held = 0

    def take(self, size: int) -> None:
        """Hold ``size`` more bytes.

        Raises:
            Unavailable: the budget has less left.
        """
        self._budget.take(_counted(self._held + size) - _counted(self._held))
        self._held += size

    def exchange(self, size: int) -> None:
        """Give everything back, and hold ``size`` bytes instead.

        Raises:
            Unavailable: the budget has less left.
        """
        self._budget.give(_counted(self._held))
        self._held = 0
        self.take(size)


def _counted(size: int) -> int:
    return max(size - FREE, 0)


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
