"""A watchdog over a connection: timeouts of a socket begin anew with every byte, so they bound no exchange."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

R = TypeVar("R")


@contextmanager
def shut_after(seconds: float, connection: socket.socket) -> Iterator[None]:
    """Shut the connection down after so many seconds, whatever waits for it: a handshake, a header or a body.

    It acts on a duplicate, because TLS takes over the socket itself.
    """
    handle = connection.dup()
    timer = threading.Timer(max(seconds, 0.0), _shut, [handle])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # it does not act on a number of another file
        handle.close()


def within(seconds: float, call: Callable[[], R]) -> R | None:
    """The result of a call that nothing can interrupt, such as a lookup in DNS; None if it takes longer.

    Such a call goes on in its thread until the resolver gives up. It must not raise.
    """
    results: list[R] = []
    thread = threading.Thread(target=lambda: results.append(call()), name="lookup", daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    return results[0] if results else None


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side has closed it
        connection.shutdown(socket.SHUT_RDWR)
