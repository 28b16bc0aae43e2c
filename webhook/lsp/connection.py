"""Speak with an editor over standard input and output, or over TCP."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from typing import Any, Final, Protocol

from pygls.exceptions import JsonRpcException
from pygls.io_ import StdinAsyncReader, StdoutWriter, run_async

from webhook.lsp.server import ManifestServer

LARGEST: Final = 64 << 20
"""Bytes of a message: a file of 8 MiB, and the escapes of JSON. A longer one would fill the memory."""
_LONGEST: Final = 8 << 10
"""Bytes of a line of a header, which has some 30."""

_LOG: Final = logging.getLogger(__name__)


class _Reader(Protocol):
    def readline(self) -> Awaitable[bytes]: ...
    def readexactly(self, n: int) -> Awaitable[bytes]: ...


class _Bounded:
    """Reads messages of a bounded size; a longer one, or half of one, is the end."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader

    async def readline(self) -> bytes:
        with suppress(ValueError, ConnectionError):  # a line that is too long, or a client that is gone
            line = await self._reader.readline()
            return line if len(line) <= _LONGEST else b""
        return b""

    async def readexactly(self, n: int) -> bytes:
        if n > LARGEST:
            _LOG.error("a message of %d bytes is not read: the most is %d", n, LARGEST)
            return b""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            body = await self._reader.readexactly(n)
            return body if len(body) == n else b""
        return b""


def _log_quietly() -> None:
    """Log no refusal of a request: the client is told."""
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_no_refusal)


def _is_no_refusal(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcException))


async def _converse(server: ManifestServer, reader: _Reader) -> None:
    """Answer until the client ends, or closes."""
    try:
        await run_async(Event(), _Bounded(reader), server.protocol, _LOG, server.report_server_error)
    finally:
        server.stop()


def serve_stdio(make: Callable[[], ManifestServer]) -> None:
    """Serve one client over standard input and output. What else is printed goes to standard error."""
    output, sys.stdout = sys.stdout.buffer, sys.stderr
    _log_quietly()
    server = make()
    pool = ThreadPoolExecutor(1)
    server.protocol.set_writer(StdoutWriter(output))
    with suppress(BrokenPipeError):
        asyncio.run(_converse(server, StdinAsyncReader(sys.stdin.buffer, pool)))


def serve_tcp(make: Callable[[], ManifestServer], host: str, port: int, announce: Callable[[str], Any]) -> None:
    """Serve clients over TCP, one at a time: another one is turned away until the first has left."""
    _log_quietly()

    async def listen() -> None:
        taken = asyncio.Lock()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if not taken.locked():
                async with taken:
                    server = make()
                    server.protocol.set_writer(writer)
                    await _converse(server, reader)
            writer.close()

        async with await asyncio.start_server(connected, host, port, limit=_LONGEST) as listening:
            announce(" ".join("{}:{}".format(*socket.getsockname()[:2]) for socket in listening.sockets))
            await listening.serve_forever()

    asyncio.run(listen())
