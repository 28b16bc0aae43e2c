"""Addresses that users write into objects: what a URL leads to, and which addresses are public."""

from __future__ import annotations

import ipaddress
from typing import Final, NamedTuple, Self
from urllib.parse import quote, urljoin, urlsplit

PORTS: Final = {"http": 80, "https": 443}

LONGEST_HOST: Final = 253
"""Characters of a name in DNS. The time to encode an international name grows with the square of its length."""

SPECIAL: Final = [
    ipaddress.ip_network(each)
    for each in (
        # IANA's registry of special-purpose addresses of IPv4, with those that are reachable: no file lies there.
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
        *("224.0.0.0/4", "168.63.129.16/32"),  # multicast; and Azure's own services, which only its machines reach
        # The same of IPv6, within the addresses that are given out (below).
        *("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
        "3ffe::/16",  # the 6bone, which was given back
    )
]

GIVEN_OUT: Final = ipaddress.ip_network("2000::/3")
"""The only global unicast addresses of IPv6 (IANA, IPv6 address space). All others are of a network, a link or a
machine, embed another address, or are not given out."""

_SAFE: Final = "/%:@!$&'()*+,;=~-._"
"""What stays as it is in a path or a query (RFC 3986)."""


class Unreached(Exception):
    """The file cannot be read; the text says why, without credentials of the URL."""


class Forbidden(Unreached):
    """The address is not public."""


class Target(NamedTuple):
    """Where a URL leads. ``host`` and ``path`` are ASCII; ``header`` is the host with the port as it was written."""

    scheme: str
    host: str
    port: int
    header: str
    path: str

    @classmethod
    def of(cls, url: str) -> Self:
        """The target.

        Raises:
            Unreached: not a valid URL of http or https.
        """
        try:
            parts = urlsplit(url)
            host, port = _ascii(parts.hostname or ""), parts.port
            path, query = quote(parts.path or "/", safe=_SAFE), quote(parts.query, safe=_SAFE + "?")
        except ValueError as error:
            raise Unreached("not a valid URL") from error  # its text may quote a password
        if not host or parts.scheme not in PORTS:
            raise Unreached("not an http or https URL")
        shown = f"[{host}]" if ":" in host else host
        header = f"{shown}:{port}" if port else shown
        return cls(parts.scheme, host, port or PORTS[parts.scheme], header, f"{path}?{query}" if query else path)


def joined(url: str, target: str) -> str:
    """The URL that a redirect leads to.

    Raises:
        Unreached: it leads to no valid URL.
    """
    try:
        return urljoin(url, target)
    except ValueError as error:
        raise Unreached("redirected to an address that is not a valid URL") from error


def is_public(text: str) -> bool:
    """Whether an address is one of the Internet: neither of a network or a machine, nor with a special purpose."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(str(address.ipv4_mapped))
        if address not in GIVEN_OUT:
            return False
    return not any(address in network for network in SPECIAL if network.version == address.version)


def _ascii(host: str) -> str:
    """A host as DNS and HTTP have it: an international name is encoded (IDNA)."""
    if len(host) > LONGEST_HOST:
        raise ValueError("the name of the host is too long")
    return host.encode("idna").decode() if host else ""
