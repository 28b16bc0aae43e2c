"""HTTP/1.1 over TLS in a few lines: what a caller sees of each of its calls."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True)
class Target:
    """Where a gate listens, and the authority that has signed its certificate; may go to another process."""

    port: int
    authority: str

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority)


@dataclass(frozen=True)
class Answer:
    """``status`` is 0 where none came, and ``trouble`` says why."""

    status: int
    seconds: float
    retry_after: bool = False
    trouble: str = ""
    body: bytes = field(default=b"", repr=False)


def post(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Caller:
    """A kept-alive connection, opened again where it was closed after an answer."""

    def __init__(self, target: Target, context: ssl.SSLContext | None = None) -> None:
        self._target = target
        self._context = context or target.context()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes, patience: float = 60) -> Answer:
        started = time.perf_counter()
        try:
            async with asyncio.timeout(patience):
                status, headers, body = await self._exchange(request)
        except (OSError, EOFError, TimeoutError, asyncio.IncompleteReadError) as error:
            await self.close()
            return Answer(0, time.perf_counter() - started, trouble=type(error).__name__)
        if headers.get("connection") == "close":
            await self.close()
        return Answer(status, time.perf_counter() - started, "retry-after" in headers, "", body)

    async def _exchange(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                "localhost", self._target.port, ssl=self._context, limit=2**20
            )
        reader, writer = self._streams
        writer.write(request)
        sending = asyncio.ensure_future(_sent(writer))  # an answer may come before all is sent
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            status, headers = _parsed(head)
            body = await reader.readexactly(int(headers.get("content-length", "0")))
        finally:
            sending.cancel()
        return status, headers, body

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _sent(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        await writer.drain()


def _parsed(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(first.split()[1]), {name.lower(): value.strip().lower() for name, _, value in pairs}


async def repeated(seconds: float, pause: float, ask: Callable[[], Awaitable[Answer]]) -> list[Answer]:
    """Ask again and again for so long, with a pause after each answer."""
    answers: list[Answer] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        answers.append(await ask())
        await asyncio.sleep(pause)
    return answers
