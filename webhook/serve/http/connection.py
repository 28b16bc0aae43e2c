"""uvicorn's connection with limits on memory and time, because any pod of the cluster can connect.

uvicorn buffers what precedes a body (URL and header fields) and what follows it (trailer fields) without a limit, waits
for it without a timeout, and accepts any number of connections. An API server sends a few hundred bytes at once, on a
few dozen connections.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from webhook.serve.callers.caller import TRANSPORT
from webhook.serve.http.answers import Refused
from webhook.serve.http.immediate import Immediate
from webhook.serve.http.limited import Throttle
from webhook.serve.http.listener import oldest_of_most

HEAD_LIMIT: Final = 64 * 1024
"""Bytes outside of bodies (URL, header and trailer fields): many times what an API server sends."""

HEAD_SECONDS: Final = 10.0
"""Seconds from the first byte of a request to the end of its header fields, which Go writes in one piece."""

CONNECTIONS: Final = 600
"""Each takes 40 KiB, and 250 KiB while it receives a body: a quarter of the memory that the chart allows. An API server
keeps 25 idle connections to each webhook, and opens one more for each further call: 500 clients that create at once
must not reach the limit, because whichever connection is closed then may have a call on its way."""

SEND_SECONDS: Final = 10.0
"""Seconds that a peer has to read a reply, which the gate holds until then."""

UNSENT: Final = 64 * 1024
"""Bytes that the transport may hold. What is beyond waits in the application, where it is counted."""

VERSIONS: Final = frozenset({"1.0", "1.1"})

_OF_STRANGERS: Final = ("Invalid HTTP request", "Unsupported upgrade request", "No supported WebSocket library")


def _not_of_strangers(record: logging.LogRecord) -> bool:
    """Drop uvicorn's warnings that any client can cause: they name no address, and their rate has no limit."""
    return not record.getMessage().startswith(_OF_STRANGERS)


LINES: Final = 10
"""Lines of one place in a library in ten seconds: the traceback of a fault has the same cause each time."""

logging.getLogger("uvicorn.error").addFilter(_not_of_strangers)
for _library in ("uvicorn.error", "asyncio"):
    logging.getLogger(_library).addFilter(Throttle(LINES))


def _unnoted(_status: int, _peer: str, _why: str) -> None:
    """Note nothing."""


class _UnknownVersionError(Exception):
    """Ends the parsing of a request; it has been answered."""


class Connection(Immediate):
    """Closes itself at a limit. If there are too many connections, one of the peer with the most is closed: of those
    that wait for their peer, the one that was idle longest.
    """

    def __init__(self, *arguments: Any, refused: Refused = _unnoted, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._refused = refused
        self._unparsed = 0  # bytes received since a part of a message was complete
        self._in_body = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._used = self.loop.time()
        transport.set_write_buffer_limits(UNSENT)
        # The API server may open a connection and never use it.
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        if len(self.connections) > CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        self._end_send()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def parse(self, data: bytes) -> None:
        self._unparsed += len(data)
        super().parse(data)
        if self._unparsed > HEAD_LIMIT:
            self._close(431, f"header and trailer fields exceed the limit of {HEAD_LIMIT} bytes")
        elif self._unparsed and not self._in_body and self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._close, 408, "the request is not complete")

    def timeout_keep_alive_handler(self) -> None:
        """Close, unless a request was answered at once meanwhile: this does not touch the timer."""
        left = self._used + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[TRANSPORT] = self.transport  # type: ignore[typeddict-unknown-key]

    def on_headers_complete(self) -> None:
        if (version := self.parser.get_http_version()) not in VERSIONS:
            self._close(505, f"HTTP/{version} is not supported; use HTTP/1.1")
            raise _UnknownVersionError
        self._end_head()
        self._unparsed, self._in_body = 0, True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._end_head()
        self._unparsed, self._in_body = 0, False
        self._used = self.loop.time()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_body:  # answered before the whole body was read: do not wait for the rest
            self.transport.close()
        if not self.flow.write_paused:
            self._end_send()

    def pause_writing(self) -> None:
        """The peer does not read as fast as the reply is written."""
        super().pause_writing()
        if self._send_timer is None:
            self._send_timer = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.cycle is None or self.cycle.response_complete:
            self._end_send()

    def _end_send(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None

    def _end_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close(self, status: int, text: str) -> None:
        """Send an error, and close."""
        if self.transport.is_closing():
            return
        self._refused(status, ":".join(map(str, self.client or ())), text)
        head = b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head % (len(text) + 1) + text.encode() + b"\n")
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self._close(400, msg)

    def _make_room(self) -> None:
        """Drop a connection that waits for its peer, never one that is being answered."""
        waiting = [each for each in self.connections if isinstance(each, Connection) and each._waits()]  # noqa: SLF001 - the same class
        waiting.sort(key=lambda each: each._used)  # noqa: SLF001 - the same class
        oldest_of_most(waiting, lambda each: each.client[0] if each.client else "").transport.abort()

    def _waits(self) -> bool:
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body
