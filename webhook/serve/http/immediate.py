"""uvicorn's connection that may answer a request while its bytes are parsed: no task, no ASGI application, one write.

A plain request is held back until its body is complete, then offered to an :class:`Answering`. What that does not
answer, what is not plain, and a body that takes its time goes uvicorn's way, as if nothing had happened.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from webhook.serve.http.budget import FREE

__all__ = ["Answering", "Immediate"]

HOLD_SECONDS: Final = 0.05
"""The wait for the rest of a body, which Go writes within microseconds. Timeouts start when it ends."""

_HEAD: Final = b"content-length: %d\r\ncontent-type: application/json\r\n\r\n"


class Answering(Protocol):
    """Answers requests, or leaves them to the application."""

    def takes(self, url: bytes) -> bool:
        """Whether it may answer requests of this URL."""
        ...

    def answer(self, scope: Scope, url: bytes, body: bytes) -> bytes | None:
        """The JSON of a reply with status 200; None, without effects, if the application is to answer.

        ``scope`` has the connection and the header fields, but neither method nor path.
        """
        ...


class Immediate(HttpToolsProtocol):
    """Answers at most one request of each piece of data by itself, so that one peer cannot hold the event loop."""

    def __init__(self, *arguments: Any, answering: Answering | None = None, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._answering = answering
        self._is_first = True
        self._held: list[bytes] | None = None  # the body of the request that is held back
        self._hold_timer: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        self._is_first = True
        super().data_received(data)
        if self._held is not None and self._hold_timer is None:
            self._hold_timer = self.loop.call_later(HOLD_SECONDS, self._release)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_hold()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if self._held is not None:
            self._release()
        super().shutdown()

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
            reply = self._answer(self._held[0] if len(self._held) == 1 else b"".join(self._held))
            if reply is not None:
                self._end_hold()
                self._send(reply)
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

    def _answer(self, body: bytes) -> bytes | None:
        assert self._answering is not None
        try:
            return self._answering.answer(cast("Scope", self.scope), self.url, body)
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
        if self._hold_timer is not None:
            self._hold_timer.cancel()
            self._hold_timer = None

    def _send(self, reply: bytes) -> None:
        self._is_first = False
        fields = b"".join([b"%b: %b\r\n" % field for field in self.server_state.default_headers])
        self.transport.write(b"".join((STATUS_LINE[200], fields, _HEAD % len(reply), reply)))
        self.on_response_complete()


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
