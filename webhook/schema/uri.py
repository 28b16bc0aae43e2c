"""``url.ParseRequestURI`` of Go, as far as "does it parse" goes."""

from __future__ import annotations

import re

from webhook.schema.netformats import is_ipv6

__all__ = ["is_request_uri"]

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_HOST = re.compile(r"[a-zA-Z0-9\-_.~!$&'()*+,;=:\[\]<>\"%\u0080-\U0010ffff]*")
_USER = re.compile(r"[a-zA-Z0-9\-._:~!$&'()*+,;=%@]*")
_PORT = re.compile(r"(:[0-9]*)?")


def is_request_uri(text: str) -> bool:
    """An absolute URI or an absolute path; ``*`` too."""
    if not text or any(c < " " or c == "\x7f" for c in text):
        return False
    if text == "*":
        return True
    found = _split_scheme(text)
    if found is None:
        return False
    scheme, rest = found
    rest = rest.partition("?")[0] if not (rest.endswith("?") and rest.count("?") == 1) else rest[:-1]
    if not rest.startswith("/"):
        return bool(scheme)  # opaque, such as mailto:x
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        if not _is_authority(authority):
            return False
    return not _BAD_ESCAPE.search(rest)


def _split_scheme(text: str) -> tuple[str, str] | None:
    """The scheme ("" for none) and what follows; None where Go finds the scheme malformed."""
    for i, char in enumerate(text):
        if char.isascii() and char.isalpha():
            continue
        if char.isascii() and (char.isdigit() or char in "+-."):
            if i == 0:
                return "", text
            continue
        if char == ":":
            return None if i == 0 else (text[:i], text[i + 1 :])
        return "", text
    return "", text


def _is_authority(authority: str) -> bool:
    user, at, host = authority.rpartition("@")
    if at and (not _USER.fullmatch(user) or _BAD_ESCAPE.search(user)):
        return False
    return _is_host(host)


def _is_host(host: str) -> bool:
    if host.startswith("["):
        return _is_bracketed(host)
    head, colon, port = host.rpartition(":")
    if colon and not _PORT.fullmatch(colon + port):
        return False
    return bool(_HOST.fullmatch(host)) and not _has_bad_host_escape(head if colon else host)


def _is_bracketed(host: str) -> bool:
    inside, bracket, port = host[1:].rpartition("]")
    if not bracket or not _PORT.fullmatch(port):
        return False
    address, zone_sign, zone = inside.partition("%25")
    if zone_sign and (not zone or _BAD_ESCAPE.search(zone)):
        return False
    return is_ipv6(address)


def _has_bad_host_escape(host: str) -> bool:
    """In a host only bytes outside ASCII may be escaped."""
    return bool(_BAD_ESCAPE.search(host)) or any(int(code, 16) < 0x80 for code in re.findall("%(..)", host))
