"""The names that a leaf is valid for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from cryptography import x509

from certs.errors import InvalidNameError

# RFC 1123 labels, as in names of Services and namespaces; the CA does not sign wildcards.
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DNS = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_DNS_LENGTH = 253  # RFC 1035, without the final dot


@dataclass(frozen=True, slots=True)
class Names:
    """DNS names and IP addresses, in the order given and without repetition.

    Usage::

        Names.of("localhost", "127.0.0.1")        names of an endpoint on this machine
        Names.of_service("modelgate", "ns")       names of a Service, such as modelgate.ns.svc
        Names.of_service("modelgate", "ns") | LOCAL
    """

    dns: tuple[str, ...] = ()
    ips: tuple[IPv4Address | IPv6Address, ...] = ()

    @classmethod
    def of(cls, *texts: str) -> Names:
        """Sort texts into addresses and names; raises InvalidNameError for other texts."""
        names = cls()
        for text in texts:
            names |= cls(ips=(ip,)) if (ip := _address(text)) else cls(dns=(_dns(text),))
        return names

    @classmethod
    def of_service(cls, service: str, namespace: str) -> Names:
        """The names of a Service: the API server uses ``<service>.<namespace>.svc``, pods use the others, too."""
        name = f"{service}.{namespace}"
        return cls.of(f"{name}.svc", f"{name}.svc.cluster.local", name)

    def __or__(self, other: Names) -> Names:
        return Names(tuple(dict.fromkeys(self.dns + other.dns)), tuple(dict.fromkeys(self.ips + other.ips)))

    def __bool__(self) -> bool:
        return bool(self.dns or self.ips)

    def __str__(self) -> str:
        return ", ".join([*self.dns, *map(str, self.ips)])

    def extension(self) -> x509.SubjectAlternativeName:
        """The names as a certificate carries them."""
        return x509.SubjectAlternativeName([*map(x509.DNSName, self.dns), *map(x509.IPAddress, self.ips)])


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _dns(text: str) -> str:
    if len(text) > _DNS_LENGTH or not _DNS.fullmatch(text):
        raise InvalidNameError(
            f"{text!r} is neither an IP address nor a DNS name in lower case; wildcards are not allowed"
        )
    return text


LOCAL = Names.of("localhost", "127.0.0.1", "::1")
