"""HTTP to addresses that users write into objects, from inside the cluster.

An address inside the cluster or its networks is not reached (SSRF), unless its host is allowed. Every address of a host
must be public, and the connection goes to the address that was checked: a name cannot be resolved to another one in
between. Redirects are checked in the same way. One budget bounds all of it: lookups, handshakes, headers and bodies.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Final, TypeVar

from reconciler.projections.remote.address import Forbidden, Target, Unreached, is_public, joined

REDIRECTS: Final = 5
BUDGET: Final = 10.0
"""Seconds for all of one look at a file. A worker waits for it, so one slow server must not hold up other Models."""

Resolve = Callable[[str, int], Collection[str]]
"""All addresses of a host."""


def resolved(host: str, port: int) -> Collection[str]:
    """All addresses of a host, by the resolver of this machine."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class Client:
    """Requests with one budget. ``allowed`` are hosts that may have any address."""

    def __init__(
        self,
        allowed: Collection[str] = (),
        resolve: Resolve = resolved,
        clock: Callable[[], float] = time.monotonic,
        budget: float = BUDGET,
    ) -> None:
        self._allowed = frozenset(_encoded(host) for host in allowed)
        self._resolve = resolve
        self._clock = clock
        self._end = clock() + budget

    @contextmanager
    def request(self, method: str, url: str, headers: Mapping[str, str] | None = None) -> Iterator[HTTPResponse]:
        """The answer after redirects, with its body still unread.

        Raises:
            Unreached: no answer in time, or too many redirects.
            Forbidden: the URL, or a redirect, leads to an address that is not public.
        """
        for _ in range(REDIRECTS + 1):
            with self._once(method, Target.of(url), headers or {}) as response:
                target = response.getheader("location")
                if response.status not in {301, 302, 303, 307, 308} or not target:
                    yield response
                    return
            url = joined(url, target)
        raise Unreached(f"more than {REDIRECTS} redirects")

    def left(self) -> float:
        """Seconds.

        Raises:
            Unreached: none are left.
        """
        left = self._end - self._clock()
        if left <= 0:
            raise Unreached("the time for this file is used up")
        return left

    @contextmanager
    def _once(self, method: str, target: Target, headers: Mapping[str, str]) -> Iterator[HTTPResponse]:
        address = self._address(target.host, target.port)
        connection = HTTPConnection(address, target.port)
        sent = {"host": target.header, "accept-encoding": "identity", "user-agent": "modelgate"}
        try:
            with (
                socket.create_connection((address, target.port), timeout=self.left()) as plain,
                shut_after(self.left(), plain),
                self._secured(plain, target) as connection.sock,
            ):
                connection.request(method, target.path, headers={**sent, **headers})
                with connection.getresponse() as response:
                    self.left()  # headers that the watchdog has cut short look complete
                    yield response
        except (HTTPException, OSError) as error:
            self.left()  # else the reason is that the watchdog has ended it
            raise Unreached(f"{target.host}: {type(error).__name__}") from error

    @contextmanager
    def _secured(self, plain: socket.socket, target: Target) -> Iterator[socket.socket]:
        if target.scheme == "http":
            yield plain
            return
        with self._tls.wrap_socket(plain, server_hostname=target.host) as secured:
            yield secured

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _address(self, host: str, port: int) -> str:
        """An address to connect to, after a check of all of them."""
        addresses = within(self.left(), lambda: self._addresses(host, port))
        if not addresses:
            raise Unreached(f"{host} cannot be resolved")
        if host.lower() not in self._allowed:
            for each in addresses:
                if not is_public(each):
                    raise Forbidden(f"{host} has the address {each}, which is not public; see --allowed-remote-hosts")
        return addresses[0]

    def _addresses(self, host: str, port: int) -> list[str]:
        try:
            return list(self._resolve(host, port))
        except (OSError, ValueError):  # no such host, or a name that no resolver takes
            return []


def _encoded(host: str) -> str:
    """A host of the command line as URLs are compared with it."""
    try:
        return host.encode("idna").decode().lower()
    except UnicodeError:
        return host.lower()


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
