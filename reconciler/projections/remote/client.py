"""HTTP to addresses that users write into objects, from inside the cluster.

An address inside the cluster or its networks is not reached (SSRF), unless its host is allowed. Every address of a host
must be public, and the connection goes to the address that was checked: a name cannot be resolved to another one in
between. Redirects are checked in the same way.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import urllib3

__all__ = ["Client", "Forbidden", "Unreached"]

REDIRECTS: Final = 5
BUDGET: Final = 10.0
"""Seconds for all of one look at a file. A worker waits for it, so one slow server must not hold up other Models."""

FORBIDDEN: Final = [
    ipaddress.ip_network(each)
    for each in (
        *("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),  # CGNAT, protocols, 6to4, benchmarks
        *("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"),  # NAT64 and 6to4 embed another address
    )
]
"""Networks that ``ipaddress`` counts as global on some versions of Python, and that lead elsewhere."""

Resolve = Callable[[str, int], Collection[str]]
"""All addresses of a host."""


class Unreached(Exception):
    """The file cannot be read; the text says why, without credentials of the URL."""


class Forbidden(Unreached):
    """The address is not public."""


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
        self._allowed = frozenset(host.lower() for host in allowed)
        self._resolve = resolve
        self._clock = clock
        self._end = clock() + budget

    @contextmanager
    def request(
        self, method: str, url: str, headers: Mapping[str, str] | None = None
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """The answer after redirects, with its body still unread.

        Raises:
            Unreached: no answer, or too many redirects.
            Forbidden: the URL, or a redirect, leads to an address that is not public.
        """
        for _ in range(REDIRECTS + 1):
            with self._once(method, url, headers or {}) as response:
                target = response.headers.get("location")
                if response.status not in {301, 302, 303, 307, 308} or not target:
                    yield response
                    return
            url = urljoin(url, target)
        raise Unreached(f"more than {REDIRECTS} redirects")

    @contextmanager
    def _once(self, method: str, url: str, headers: Mapping[str, str]) -> Iterator[urllib3.BaseHTTPResponse]:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
        except ValueError as error:
            raise Unreached(f"not a valid URL: {error}") from error
        if not (host and port):
            raise Unreached("not an http or https URL")
        pool = self._pool(parts.scheme, host, self._address(host, port), port)
        path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        sent = {"host": parts.netloc.rpartition("@")[2], "accept-encoding": "identity", "user-agent": "modelgate"}
        try:
            with (
                pool,
                pool.request(
                    method, path, headers={**sent, **headers}, redirect=False, retries=False, preload_content=False
                ) as response,
            ):
                yield response
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Unreached(f"{host}: {type(error).__name__}") from error

    def _pool(self, scheme: str, host: str, address: str, port: int) -> urllib3.HTTPConnectionPool:
        left = self._end - self._clock()
        if left <= 0:
            raise Unreached("the time for this file is used up")
        timeout = urllib3.Timeout(total=left)
        if scheme == "http":
            return urllib3.HTTPConnectionPool(address, port, timeout=timeout)
        return urllib3.HTTPSConnectionPool(
            address, port, timeout=timeout, server_hostname=host, assert_hostname=host, cert_reqs="CERT_REQUIRED"
        )

    def _address(self, host: str, port: int) -> str:
        """An address to connect to, after a check of all of them."""
        try:
            addresses = list(self._resolve(host, port))
        except (OSError, UnicodeError) as error:
            raise Unreached(f"{host} cannot be resolved") from error
        if not addresses:
            raise Unreached(f"{host} cannot be resolved")
        if host.lower() not in self._allowed:
            for each in addresses:
                if not _is_public(each):
                    raise Forbidden(f"{host} has the address {each}, which is not public; see --allowed-remote-hosts")
        return addresses[0]

    @property
    def left(self) -> float:
        return self._end - self._clock()


def _is_public(text: str) -> bool:
    address: Any = ipaddress.ip_address(text.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    refused = address.is_multicast or address.is_reserved or address.is_private or address.is_link_local
    inside = any(address in network for network in FORBIDDEN if network.version == address.version)
    return bool(address.is_global) and not refused and not inside
