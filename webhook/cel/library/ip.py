"""The IP and CIDR libraries of Kubernetes: no zones, no IPv4 in IPv6."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, Final

from webhook.cel import types
from webhook.cel.errors import CelError
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import BOOL, INT, STRING, Type
from webhook.cel.values.value import Opaque
from webhook.golang.errors import GoError, readable
from webhook.golang.netip import Address, parse_address, parse_prefix
from webhook.golang.strconv import quote

_PREFIX_FAULT: Final = "network address parse error during conversion from string: "


@dataclass(frozen=True, slots=True)
class IP(Opaque):
    """An address of 4 or 16 bytes."""

    packed: bytes

    cel_type: ClassVar[Type] = types.opaque("net.IP")

    @property
    def cel_size(self) -> int:
        return len(self.packed)

    def __str__(self) -> str:
        return str(Address(self.packed))


@dataclass(frozen=True, slots=True)
class CIDR(Opaque):
    """An address and the length of its network's prefix in bits; the other bits are kept."""

    packed: bytes
    bits: int

    cel_type: ClassVar[Type] = types.opaque("net.CIDR")

    @property
    def cel_size(self) -> int:
        return -(-self.bits // 8)

    def network(self, bits: int) -> int:
        """The first ``bits`` bits of the address, as a number."""
        return int.from_bytes(self.packed, "big") >> (len(self.packed) * 8 - bits)

    def __str__(self) -> str:
        return f"{Address(self.packed)}/{self.bits}"


def to_ip(text: str) -> IP:
    try:
        address = parse_address(text)
    except GoError as error:
        fault = f"IP Address {quote(text)} parse error during conversion from string: {error.message}"
        raise CelError(fault) from None
    if address.zone:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if address.is_mapped:
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return IP(address.packed)


def is_unspecified(ip: IP) -> bool:
    return not any(ip.packed)


def is_loopback(ip: IP) -> bool:
    return ip.packed[0] == 127 if len(ip.packed) == 4 else ip.packed == b"\0" * 15 + b"\1"


def is_link_local_multicast(ip: IP) -> bool:
    if len(ip.packed) == 4:
        return ip.packed.startswith(b"\xe0\0\0")
    return ip.packed[0] == 0xFF and ip.packed[1] & 0x0F == 2


def is_link_local_unicast(ip: IP) -> bool:
    if len(ip.packed) == 4:
        return ip.packed.startswith(b"\xa9\xfe")
    return ip.packed[0] == 0xFE and ip.packed[1] & 0xC0 == 0x80


def is_global_unicast(ip: IP) -> bool:
    """Every address that is not special; private ones count as global."""
    multicast = ip.packed[0] & 0xF0 == 0xE0 if len(ip.packed) == 4 else ip.packed[0] == 0xFF
    broadcast = ip.packed == b"\xff" * 4
    return not (multicast or broadcast or is_unspecified(ip) or is_loopback(ip) or is_link_local_unicast(ip))


def to_cidr(text: str) -> CIDR:
    try:
        address, bits = parse_prefix(text)
    except GoError as error:
        raise CelError(_PREFIX_FAULT + _PREFIX_FAULT + error.message) from None
    if address.is_mapped:
        raise CelError(f"{_PREFIX_FAULT}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return CIDR(address.packed, bits)


def contains_ip(cidr: CIDR, ip: IP) -> bool:
    return len(cidr.packed) == len(ip.packed) and CIDR(ip.packed, 0).network(cidr.bits) == cidr.network(cidr.bits)


def contains_ip_string(cidr: CIDR, text: str) -> bool:
    try:
        return contains_ip(cidr, to_ip(text))
    except CelError:
        raise CelError("no such overload") from None  # Kubernetes' error for a text that is not an address


def contains_cidr(cidr: CIDR, other: CIDR) -> bool:
    if len(cidr.packed) != len(other.packed) or cidr.bits > other.bits:
        return False
    return cidr.network(cidr.bits) == other.network(cidr.bits)


def masked(cidr: CIDR) -> CIDR:
    length = len(cidr.packed)
    network = cidr.network(cidr.bits) << (length * 8 - cidr.bits)
    return CIDR(network.to_bytes(length, "big"), cidr.bits)


_IP, _CIDR = IP.cel_type, CIDR.cel_type

IP_TYPES: Final = {"net.IP": _IP}
CIDR_TYPES: Final = {"net.CIDR": _CIDR}

IPS: Final[tuple[Overload, ...]] = (
    free("ip", "string_to_ip", (STRING,), _IP, to_ip),
    member("family", "ip_family", (_IP,), INT, lambda ip: 4 if len(ip.packed) == 4 else 6),
    free("ip.isCanonical", "ip_is_canonical", (STRING,), BOOL, lambda text: str(to_ip(text)) == text),
    member("isUnspecified", "ip_is_unspecified", (_IP,), BOOL, is_unspecified),
    member("isLoopback", "ip_is_loopback", (_IP,), BOOL, is_loopback),
    member("isLinkLocalMulticast", "ip_is_link_local_multicast", (_IP,), BOOL, is_link_local_multicast),
    member("isLinkLocalUnicast", "ip_is_link_local_unicast", (_IP,), BOOL, is_link_local_unicast),
    member("isGlobalUnicast", "ip_is_global_unicast", (_IP,), BOOL, is_global_unicast),
    free("isIP", "is_ip", (STRING,), BOOL, readable(to_ip, CelError)),
    free("string", "ip_to_string", (_IP,), STRING, str),
)

CIDRS: Final[tuple[Overload, ...]] = (
    free("cidr", "string_to_cidr", (STRING,), _CIDR, to_cidr),
    member("containsIP", "cidr_contains_ip_string", (_CIDR, STRING), BOOL, contains_ip_string),
    member("containsIP", "cidr_contains_ip_ip", (_CIDR, _IP), BOOL, contains_ip),
    member(
        "containsCIDR",
        "cidr_contains_cidr_string",
        (_CIDR, STRING),
        BOOL,
        lambda a, text: contains_cidr(a, to_cidr(text)),
    ),
    member("containsCIDR", "cidr_contains_cidr", (_CIDR, _CIDR), BOOL, contains_cidr),
    member("ip", "cidr_ip", (_CIDR,), _IP, lambda cidr: IP(cidr.packed)),
    member("prefixLength", "cidr_prefix_length", (_CIDR,), INT, attrgetter("bits")),
    member("masked", "cidr_masked", (_CIDR,), _CIDR, masked),
    free("isCIDR", "is_cidr", (STRING,), BOOL, readable(to_cidr, CelError)),
    free("string", "cidr_to_string", (_CIDR,), STRING, str),
)
