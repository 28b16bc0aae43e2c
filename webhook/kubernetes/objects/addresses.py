"""Addresses and networks, as strictly as new objects are held to them (``IsValidIPForLegacyField`` …)."""

from __future__ import annotations

import ipaddress
from typing import Final

from webhook.golang.net import is_cidr
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import Judge
from webhook.schema.fielderror import invalid

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def check_address(judge: Judge, text: str, at: FieldPath) -> bool:
    """Add what is wrong with an address; whether it is one."""
    problems = FORMATS["ip"][1](text)
    for problem in problems:
        judge.add(invalid(at, text, problem))
    return not problems


def check_cidr(judge: Judge, text: str, at: FieldPath) -> None:
    """``ValidateCIDRForLegacyField`` with strict parsing, as for new values."""
    for problem in cidr_problems(text):
        judge.add(invalid(at, text, problem))


def cidr_problems(text: str) -> list[str]:
    """What is wrong with a network."""
    if not is_cidr(text):
        return [_CIDR]
    address, _, size = text.partition("/")
    problems = []
    if "." in address and ":" in address:
        problems.append("must not have an IPv4-mapped IPv6 address")
    plain = ".".join(part.lstrip("0") or "0" for part in address.split(".")) if ":" not in address else address
    if plain != address or (len(size) > 1 and size.startswith("0")):
        problems.append("must not have leading 0s in IP or prefix length")
    if not problems and network_of(text) is None:
        problems.append("must not have bits set beyond the prefix length")
    return problems


def network_of(text: str, *, strict: bool = True) -> Network | None:
    """The network; None if it cannot be read, or, if ``strict``, has bits beyond its prefix."""
    if "/" not in text:
        return None
    try:
        return ipaddress.ip_network(text, strict)
    except ValueError:
        return None
