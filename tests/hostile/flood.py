"""Connections by strangers that never ask anything: silent ones, and ones that complete their handshake."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from tests.hostile.serving import Gate

__all__ = ["STRANGER", "begun", "handshaken", "silent", "standing"]

STRANGER: Final = "127.0.0.2"
"""The address of the flood, which is not that of good callers: a gate may tell them apart."""

PAUSE: Final = 0.005
"""Seconds between two connections. The slowest handshake of a good caller is far shorter than 64 of them."""

SPARE: Final = 100
"""Connections beyond the count, before so many of the oldest are closed."""

Opening = Callable[[Gate], socket.socket]


def silent(gate: Gate) -> socket.socket:
    """A connection that does not begin its handshake."""
    return socket.create_connection(("127.0.0.1", gate.port), timeout=20, source_address=(STRANGER, 0))


def begun(gate: Gate) -> socket.socket:
    """A connection that begins its handshake with one byte, and never ends it."""
    peer = silent(gate)
    peer.send(b"\x16")
    return peer


def handshaken(gate: Gate) -> socket.socket:
    """A connection that sends no request."""
    return gate.context().wrap_socket(silent(gate), server_hostname="localhost")


@contextlib.contextmanager
def standing(gate: Gate, opening: Opening, count: int) -> Iterator[Callable[[], int]]:
    """So many connections are open, and more are opened in place of the oldest, again and again.

    Yields a function that tells how many were opened in all.
    """
    stop, full, opened = threading.Event(), threading.Event(), 0
    peers: deque[socket.socket] = deque()

    def flood() -> None:
        nonlocal opened
        while not stop.is_set():
            with contextlib.suppress(OSError):
                peers.append(opening(gate))
                opened += 1
            if len(peers) >= count:
                full.set()
            if len(peers) >= count + SPARE:  # not one by one: each would leave its place to a good caller
                for _ in range(SPARE):
                    peers.popleft().close()
            time.sleep(PAUSE)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        assert full.wait(120), f"only {opened} connections could be opened"
        yield lambda: opened
    finally:
        stop.set()
        thread.join()
        for each in peers:
            each.close()
