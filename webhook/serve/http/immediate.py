"""uvicorn's connection that may answer a request while its bytes are parsed: no task, no ASGI application, one write.

A plain request is held back until its body is complete, then offered to an :class:`Answering`. What that does not
answer, what is not plain, and a body that arrives late is handled by uvicorn.

A client repeats its header fields. A connection remembers those that the parser found plain: a request that is complete
and has them again, but for its length, is not parsed at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, Final, Protocol

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from webhook.serve.callers.caller import TRANSPORT
from webhook.serve.http.bodies import FREE

HOLD_SECONDS: Final = 0.05
"""The wait for the rest of a body, which Go writes within microseconds. Timeouts start when it ends."""

HEADS: Final = 2
"""Heads that a connection remembers: those of ``/mutate`` and ``/validate``."""

HEAD_SIZE: Final = 4096
"""Bytes of the longest head to remember. With a token, it has 1,500."""

_HEAD: Final = b"content-length: %d\r\ncontent-type: application/json\r\n\r\n"


Answer = tuple[bytes, Callable[[], None]]
"""The JSON of a reply; and what is left to do when it is sent: the caller need not wait for it."""


class Answering(Protocol):
    """Answers requests, or leaves them to the application."""

    def takes(self, url: bytes) -> bool:
        """Whether it may answer requests of this URL."""
        ...

    def answer(self, scope: Scope, url: bytes, body: bytes) -> Answer | None:
        """The answer with status 200; None, without effects, if the application is to answer.

        ``scope`` has the connection, the path and the header fields. Requests with the same head share it.
        """
        ...


class Waiting:
    """The connections that hold a part of a request back, with one timer for all: most do it for microseconds, and a
    timer for each would cost more than the wait.
    """

    def __init__(self) -> None:
        self._until: dict[Immediate, float] = {}  # in the order of time
        self._is_timed = False

    def add(self, connection: Immediate) -> None:
        """Have the connection give up after :data:`HOLD_SECONDS`; does nothing if it waits already."""
        loop = connection.loop
        self._until.setdefault(connection, loop.time() + HOLD_SECONDS)
        if not self._is_timed:
            self._is_timed = True
            loop.call_later(HOLD_SECONDS, self._look, loop)

    def remove(self, connection: Immediate) -> None:
        self._until.pop(connection, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [each for each, until in self._until.items() if until <= now]:
            del self._until[connection]
            loop.call_soon(connection.give_up)
        self._is_timed = bool(self._until)
        if self._is_timed:
            loop.call_later(next(iter(self._until.values())) - now, self._look, loop)


class Immediate(HttpToolsProtocol):
    """Answers at most one request of each piece of data by itself, so that one peer cannot hold the event loop."""

    _fields: ClassVar[tuple[object, bytes]] = (None, b"")
    """The header fields of all replies, and how they are written: uvicorn replaces them each second."""

    def __init__(
        self, *arguments: Any, answering: Answering | None = None, waiting: Waiting | None = None, **more: Any
    ) -> None:
        super().__init__(*arguments, **more)
        self._answering = answering
        self._waiting = Waiting() if waiting is None else waiting
        self._is_first = True
        self._held: list[bytes] | None = None  # the body of the request that is held back
        self._heads: dict[tuple[bytes, bytes], tuple[bytes, Scope]] = {}  # with its URL
        self._between = True  # the parser is between messages, and the last one was answered here
        self._whole = b""  # what was received, if a message begins with it
        self._declined = False
        self._head = b""  # a head that was parsed before, and is waiting for its body
        self._used = 0.0  # when it was last in use

    def data_received(self, data: bytes) -> None:
        if self._head:
            data = self._end_wait() + data
        if self._is_settled(data):
            self._used = self.loop.time()
        else:
            self.parse(data)

    def parse(self, data: bytes) -> None:
        """Give what was received to the parser."""
        self._is_first, self._declined = not self._declined, False
        self._whole = data if self._between else b""
        super().data_received(data)
        self._whole = b""
        if self._held is not None:
            self._waiting.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        self.give_up()
        super().shutdown()

    def _is_settled(self, data: bytes) -> bool:
        """Whether a request with a head that was parsed before is answered; or waits for its body, which Go writes
        after the head.
        """
        if not (self._between and self._heads) or self.flow.write_paused or self.transport.is_closing():
            return False
        head, digits, body = _parts(data)
        known = self._heads.get(head)
        if known is None:
            return False
        if not body and digits != b"0" and data.endswith(b"\r\n\r\n"):
            self._head = data
            self._waiting.add(self)
            return True
        if digits != b"%d" % len(body) or len(body) > FREE:
            return False
        answer = self._answer(*known, body)
        if answer is None:
            self._declined = True
            return False
        self._write(*answer)
        self.server_state.total_requests += 1
        return True

    def give_up(self) -> None:
        """Have the parser, or the application, wait for the rest of a request."""
        if self._head:
            self.parse(self._end_wait())
        if self._held is not None:
            self._release()

    def _end_wait(self) -> bytes:
        """The head that was waiting for its body."""
        head, self._head = self._head, b""
        self._end_hold()
        return head

    def on_message_begin(self) -> None:
        self._between = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._is_first and self._is_plain():
            self._held = []
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._held is None:
            super().on_body(body)
        else:
            self._held.append(body)

    def on_message_complete(self) -> None:
        if self._held is not None:
            body = self._held[0] if len(self._held) == 1 else b"".join(self._held)
            scope = self._plain_scope()
            answer = self._answer(self.url, scope, body)
            if answer is not None:
                self._end_hold()
                self._is_first, self._between = False, True
                self._remember(scope)
                self._write(*answer)
                self.on_response_complete()
                return
            self._release()
        super().on_message_complete()

    def _is_plain(self) -> bool:
        """Whether a request has nothing special, and no other one is being answered."""
        return (
            self._answering is not None
            and self._answering.takes(self.url)
            and self.parser.get_method() == b"POST"
            and not self.expect_100_continue
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and not self.parser.should_upgrade()
            and _is_plain_json(self.headers)
            and (self.cycle is None or self.cycle.response_complete)
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _plain_scope(self) -> Scope:
        path = self.url.partition(b"?")[0].decode()
        connection = {"client": self.client, TRANSPORT: self.transport}
        return {"type": "http", "path": path, "headers": self.headers, **connection}

    def _answer(self, url: bytes, scope: Scope, body: bytes) -> Answer | None:
        assert self._answering is not None
        try:
            return self._answering.answer(scope, url, body)
        except Exception:  # noqa: BLE001 - the application meets the same fault, and reports it
            return None

    def _release(self) -> None:
        """Give the request to the application."""
        held = self._held or ()
        self._end_hold()
        super().on_headers_complete()
        for part in held:
            super().on_body(part)

    def _end_hold(self) -> None:
        self._held = None
        self._waiting.remove(self)

    def _remember(self, scope: Scope) -> None:
        """Remember the head of a plain request, if what was received is this request and nothing else."""
        head, digits, body = _parts(self._whole)
        if digits == b"%d" % len(body) and len(self._whole) - len(body) <= HEAD_SIZE:
            if len(self._heads) >= HEADS:
                self._heads.clear()
            self._heads[head] = self.url, scope

    def _write(self, reply: bytes, finish: Callable[[], None]) -> None:
        """Send a reply, then call ``finish``: a transport sends at once what it can."""
        fields = self.server_state.default_headers
        known, text = Immediate._fields
        if known is not fields:
            text = STATUS_LINE[200] + b"".join([b"%b: %b\r\n" % field for field in fields])
            Immediate._fields = fields, text
        self.transport.write(b"".join((text, _HEAD % len(reply), reply)))
        try:
            finish()
        except Exception as error:  # noqa: BLE001 - the caller has its reply, and may ask again
            self.loop.call_exception_handler({"message": "after a reply was sent", "exception": error})


def _parts(data: bytes) -> tuple[tuple[bytes, bytes], bytes, bytes]:
    """The head of a request without its length, the length, and what follows the head; with the spelling of Go."""
    head, _, body = data.partition(b"\r\n\r\n")
    before, _, rest = head.partition(b"\r\nContent-Length: ")
    digits, _, after = rest.partition(b"\r\n")
    return (before, after), digits, body


def _is_plain_json(fields: list[tuple[bytes, bytes]]) -> bool:
    """Whether the header fields announce a JSON body of a known size, small enough not to be counted."""
    found = dict(fields)
    length = found.get(b"content-length", b"")
    return (
        len(found) == len(fields)
        and found.get(b"content-type") == b"application/json"
        and length.isdigit()
        and int(length) <= FREE
        and b"transfer-encoding" not in found
    )
