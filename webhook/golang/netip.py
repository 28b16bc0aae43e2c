"""IP addresses and prefixes as Go's ``net/netip`` reads them, with its error texts."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

from webhook.golang.errors import GoError
from webhook.golang.strconv import quote

_GROUP: Final = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_BITS: Final = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)


class Address(NamedTuple):
    """``packed`` is 4 or 16 bytes; only an address of 16 bytes may have a ``zone``."""

    packed: bytes
    zone: str = ""

    @property
    def is_mapped(self) -> bool:
        """Whether it is an IPv4-mapped IPv6 address (::ffff:0:0/96)."""
        return len(self.packed) == 16 and self.packed.startswith(b"\0" * 10 + b"\xff\xff")

    def __str__(self) -> str:
        return str(IPv4Address(self.packed) if len(self.packed) == 4 else IPv6Address(self.packed))


def _error(text: str, message: str, at: str = "") -> GoError:
    place = f" (at {quote(at)})" if at else ""
    return GoError(f"ParseAddr({quote(text)}): {message}{place}")


def parse_address(text: str) -> Address:
    """Read an address of either family.

    Raises:
        GoError: "ParseAddr(…): …" as Go says it.
    """
    first = next((char for char in text if char in ".:%"), "")
    if first == ".":
        return Address(_dotted(text, text))
    if first == ":":
        return _colons(text)
    raise _error(text, "missing IPv6 address" if first else "unable to parse IP")


def _dotted(text: str, part: str) -> bytes:
    """The four octets of ``part``: the whole ``text``, or the end of an IPv6 address."""
    octets = [0]
    digits = 0
    for i, char in enumerate(part):
        if "0" <= char <= "9":
            if digits == 1 and octets[-1] == 0:
                raise _error(text, "IPv4 field has octet with leading zero")
            octets[-1] = octets[-1] * 10 + int(char)
            digits += 1
            if octets[-1] > 255:
                raise _error(text, "IPv4 field has value >255")
        elif char == ".":
            if i in (0, len(part) - 1) or part[i - 1] == ".":
                raise _error(text, "IPv4 field must have at least one digit", part[i:])
            if len(octets) == 4:
                raise _error(text, "IPv4 address too long")
            octets.append(0)
            digits = 0
        else:
            raise _error(text, "unexpected character", part[i:])
    if len(octets) < 4:
        raise _error(text, "IPv4 address too short")
    return bytes(octets)


def _colons(text: str) -> Address:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _error(text, "zone must be a non-empty string")
    packed = bytearray()
    ellipsis: int | None = None
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
        if not rest:
            return Address(bytes(16), zone)
    while len(packed) < 16:
        group = _group(text, rest)
        after = rest[len(group) :]
        if after.startswith("."):
            packed += _embedded(text, rest, len(packed), has_ellipsis=ellipsis is not None)
            rest = ""
            break
        packed += int(group, 16).to_bytes(2, "big")
        rest = after
        if not rest:
            break
        rest = _after_colon(text, rest)
        if rest.startswith(":"):
            if ellipsis is not None:
                raise _error(text, "multiple :: in address", rest)
            ellipsis, rest = len(packed), rest[1:]
            if not rest:
                break
    if rest:
        raise _error(text, "trailing garbage after address", rest)
    return Address(_expanded(text, bytes(packed), ellipsis), zone)


def _group(text: str, rest: str) -> str:
    match = _GROUP.match(rest)
    group = match[0] if match else ""
    if len(group) > 4:
        raise _error(text, "each group must have 4 or less digits", rest)
    if not group:
        raise _error(text, "each colon-separated field must have at least one digit", rest)
    return group


def _embedded(text: str, rest: str, filled: int, *, has_ellipsis: bool) -> bytes:
    if not has_ellipsis and filled != 12:
        raise _error(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if filled > 12:
        raise _error(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    return _dotted(text, rest)


def _after_colon(text: str, rest: str) -> str:
    if rest[0] != ":":
        raise _error(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _error(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _expanded(text: str, packed: bytes, ellipsis: int | None) -> bytes:
    if len(packed) == 16:
        if ellipsis is not None:
            raise _error(text, "the :: must expand to at least one field of zeros")
        return packed
    if ellipsis is None:
        raise _error(text, "address string too short")
    return packed[:ellipsis] + bytes(16 - len(packed)) + packed[ellipsis:]


def parse_prefix(text: str) -> tuple[Address, int]:
    """Read an address and a prefix length, "10.0.0.0/8"; bits after the prefix may be set.

    Raises:
        GoError: "netip.ParsePrefix(…): …" as Go says it.
    """
    start, slash, bits = text.rpartition("/")
    if not slash:
        raise _prefix_error(text, "no '/'")
    try:
        address = parse_address(start)
    except GoError as error:
        raise _prefix_error(text, error.message) from None
    if address.zone:
        raise _prefix_error(text, "IPv6 zones cannot be present in a prefix")
    # Go checks the first of several characters and parses a single one as an integer; neither accepts a sign.
    if not _BITS.fullmatch(bits):
        too_long = bits.isascii() and bits.isdigit() and len(bits) < 19 and not bits.startswith("0")
        raise _prefix_error(text, "prefix length out of range" if too_long else f"bad bits after slash: {quote(bits)}")
    if int(bits) > len(address.packed) * 8:
        raise _prefix_error(text, "prefix length out of range")
    return address, int(bits)


def _prefix_error(text: str, message: str) -> GoError:
    return GoError(f"netip.ParsePrefix({quote(text)}): {message}")
