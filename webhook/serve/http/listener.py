"""The listening socket: a connection counts from accept on, and its TLS handshake has an end.

The kernel keeps a connection on which nothing was sent: in TLS the client speaks first, so a silent one costs the gate
nothing. Of too many handshakes, one of the peer with the most is ended.

asyncio gives a handshake 60 seconds, without a limit on their number, and tells the connection of it only when it is
complete. 9,500 silent sockets took 520 MiB, or all descriptors.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from webhook.serve.http.limited import Limited

log = logging.getLogger("modelgate")

HANDSHAKES: Final = 64
"""Handshakes at once in any case; of more than these and the connections that may still be opened, the oldest of the
peer that has the most is ended. An API server keeps 25 idle connections, and opens one more for each further call: the
handshakes of 200 clients that create at once are of one peer, and none of them may fail."""

HANDSHAKE_SECONDS: Final = 5.0
"""Many times what a handshake between two nodes takes."""

ACCEPTED: Final = 32
"""Connections to accept before other events are handled."""

BACKOFF_SECONDS: Final = 0.1
"""The time to wait for a descriptor: the socket stays readable, and accepting again at once would only use CPU."""

_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


T = TypeVar("T")


def oldest_of_most(connections: Iterable[T], host: Callable[[T], str]) -> T:
    """The first of the connections, which are in the order of their age, of the peer that has the most."""
    counts = Counter(map(host, connections := list(connections)))
    return max(connections, key=lambda each: counts[host(each)])  # the first of those with the most


def _has_left(peer: socket.socket) -> bool:
    """Whether the peer has closed the connection without a word: a handshake would cost a hundred times as much."""
    peer.setblocking(False)
    try:
        return not peer.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


class Listener:
    """Accepts on a bound socket until it is closed. It has the methods of an asyncio.Server that uvicorn calls."""

    def __init__(
        self,
        sock: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None,
        backlog: int,
        spare: Callable[[], int] = lambda: 0,
    ) -> None:
        """``spare``: how many more connections may be open; a handshake takes less memory than one."""
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._protocol = protocol
        self._context = context
        self._spare = spare
        self._handshakes: dict[asyncio.Task[None], str] = {}  # with the peer, in the order of their start
        self._limited = Limited(log)
        if context is not None and hasattr(socket, "TCP_DEFER_ACCEPT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, int(HANDSHAKE_SECONDS))
        sock.setblocking(False)
        sock.set_inheritable(False)
        sock.listen(backlog)
        self._watch()

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        return (self._sock,)

    def close(self) -> None:
        """Stop accepting, and end the handshakes."""
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock)
            self._sock.close()
        for each in self._handshakes:
            each.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._handshakes, return_exceptions=True)

    def _watch(self) -> None:
        if self._sock.fileno() >= 0:
            self._loop.add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPTED):
            try:
                peer, address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            if self._context is not None and _has_left(peer):
                peer.close()
            else:
                self._begin(peer, str(address[0]))

    def _pause(self, error: OSError) -> None:
        if error.errno not in _EXHAUSTED:
            raise error
        self._limited.warning("accept", "cannot accept connections: %s", error.strerror)
        self._loop.remove_reader(self._sock)
        self._loop.call_later(BACKOFF_SECONDS, self._watch)

    def _begin(self, peer: socket.socket, host: str) -> None:
        task = self._loop.create_task(self._handshake(peer))
        self._handshakes[task] = host
        if len(self._handshakes) > HANDSHAKES + max(self._spare(), 0):
            ended = oldest_of_most(self._handshakes, self._handshakes.__getitem__)
            del self._handshakes[ended]  # now: its task ends later
            ended.cancel()
        task.add_done_callback(lambda task: self._end(task, peer))

    def _end(self, task: asyncio.Task[None], peer: socket.socket) -> None:
        self._handshakes.pop(task, None)
        if task.cancelled():
            peer.close()  # the task may never have run, so that no transport owns the socket

    async def _handshake(self, peer: socket.socket) -> None:
        timeout = HANDSHAKE_SECONDS if self._context is not None else None
        try:
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                self._protocol, peer, ssl=self._context, ssl_handshake_timeout=timeout
            )
        except OSError as error:  # reset, no TLS, or too late: what strangers do
            log.debug("a handshake has failed: %s", error)
