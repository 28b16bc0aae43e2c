"""IP addresses, CIDRs, MAC addresses and addresses of mail, as Go's ``net`` and ``net/mail`` read them."""

from __future__ import annotations

import ipaddress
import re
from functools import cache

_OCTETS = re.compile(r"0*(\d{1,3})\.0*(\d{1,3})\.0*(\d{1,3})\.0*(\d{1,3})", re.ASCII)
_MAC = (
    r"[0-9a-f]{2}(:[0-9a-f]{2}){5}((:[0-9a-f]{2}){2}|(:[0-9a-f]{2}){14})?",
    r"[0-9a-f]{2}(-[0-9a-f]{2}){5}((-[0-9a-f]{2}){2}|(-[0-9a-f]{2}){14})?",
    r"[0-9a-f]{4}(\.[0-9a-f]{4}){2}((\.[0-9a-f]{4})|(\.[0-9a-f]{4}){7})?",
)
_is_mac = re.compile("|".join(f"(?:{form})" for form in _MAC), re.IGNORECASE | re.ASCII).fullmatch


def is_ip(text: str) -> bool:
    """``ParseIPSloppy``: leading zeros in octets are decimal."""
    return _parses(text, sloppy=True)


def is_ipv4(text: str) -> bool:
    """kube-openapi's ipv4: any address with a dot, including ``::ffff:1.2.3.4``."""
    return "." in text and _parses(text, sloppy=True)


def is_ipv6(text: str) -> bool:
    return ":" in text and _parses(text, sloppy=False)


def is_cidr(text: str) -> bool:
    """``ParseCIDRSloppy``: leading zeros in octets are decimal."""
    address, slash, size = text.partition("/")
    limit = 32 if ":" not in address else 128
    return bool(slash) and _parses(address, sloppy=True) and _small(size) and int(size) <= limit


def is_mac(text: str) -> bool:
    return _is_mac(text) is not None


def _parses(text: str, *, sloppy: bool) -> bool:
    if ":" in text:
        return _is_v6(text, sloppy=sloppy)
    return _is_v4(text, sloppy=sloppy)


def _is_v4(text: str, *, sloppy: bool) -> bool:
    octets = _OCTETS.fullmatch(text)
    if octets is None or any(int(octet) > 255 for octet in octets.groups()):
        return False
    return sloppy or ".".join(octets.groups()) == text


def _is_v6(text: str, *, sloppy: bool) -> bool:
    if "%" in text:
        return False
    head, colon, tail = text.rpartition(":")
    if "." in tail:
        if not _is_v4(tail, sloppy=sloppy):
            return False
        text = f"{head}{colon}0:0"
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _small(size: str) -> bool:
    return size.isascii() and size.isdigit() and int(size) < 0xFFFFFF


_ATEXT = r"[a-zA-Z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\U0010ffff]"
_PHRASE = _ATEXT.replace("[", r"[. \t")
_ATOM = rf"{_ATEXT}+(?:\.{_ATEXT}+)*"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]++|\\[\x21-\x7e \t\u0080-\U0010ffff])*+"'
_DOMAIN = rf"(?:{_ATOM}|\[[^\[\]\\]*\])"
_SPEC = rf"(?:{_ATOM}|{_QUOTED})@{_DOMAIN}"


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """An address, and one with a display name. Compiling them takes 30 ms, and few definitions have the format."""
    # Possessive quantifiers (++, *+) prevent backtracking.
    return re.compile(rf"[ \t]*{_SPEC}[ \t]*"), re.compile(rf"(?:{_PHRASE}++|{_QUOTED})*+<{_SPEC}>[ \t]*")


def is_address(text: str) -> bool:
    """``mail.ParseAddress``: ``a@b.c``, or with a display name ``Foo <a@b.c>``."""
    return any(pattern.fullmatch(text) for pattern in _patterns())
