"""URLs as Go's ``net/url`` reads and prints them, byte by byte, with its error texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from webhook.golang.errors import GoError
from webhook.golang.netip import parse_address
from webhook.golang.strconv import quote

_PLAIN: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_PATH: Final = frozenset(_PLAIN + b"$&+,/:;=@")
_HOST: Final = frozenset(_PLAIN + b"!\"$&'()*+,:;<=>[]")
_USER: Final = frozenset(_PLAIN + b"$&+,;=")
_FRAGMENT: Final = frozenset(_PLAIN + b"!$&()*+,/:;=?@")
_AS_WRITTEN: Final = frozenset(b"!$&'()*+,;=:@[]%")  # a path may contain these escaped or unescaped

_SCHEME: Final = re.compile(rb"([a-zA-Z][a-zA-Z0-9+.-]*):|(:)")
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]")
_PORT: Final = re.compile(rb"(:[0-9]*)?")
_ESCAPE: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_USER_INFO: Final = re.compile(rb"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_NOT_IN_HOST: Final = re.compile(b"[^\\x80-\\xff" + re.escape(bytes(sorted(_HOST))) + b"]")
_SIMPLE: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://([A-Za-z0-9._~-]+(?::[0-9]*)?)(/[A-Za-z0-9._~$&+,/:;=@-]*)?")
_USUAL: Final = 256  # characters of a URL that is worth remembering
_MAX_QUERY: Final = 10_000  # Go refuses a query with more parameters


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")  # quote() shows a byte that is not UTF-8 as Go does


def decoded(value: bytes) -> str:
    """The text of Go's bytes for CEL: each byte that is not UTF-8 becomes U+FFFD, as in Go's JSON."""
    text = value.decode(errors="surrogateescape")
    return text if text.isprintable() else _SURROGATES.sub("\ufffd", text)


@dataclass(slots=True)  # never changed: frozen, it would take several times as long to make
class ParsedURL:
    """The parts of a URL; ``raw_path`` and ``raw_fragment`` are set only if the default escaping would differ."""

    scheme: bytes = b""
    opaque: bytes = b""
    user: tuple[bytes, bytes | None] | None = None
    host: bytes = b""
    path: bytes = b""
    raw_path: bytes = b""
    query: bytes = b""
    force_query: bool = False
    omit_host: bool = False
    fragment: bytes = b""
    raw_fragment: bytes = b""

    def host_and_port(self) -> tuple[bytes, bytes]:
        """The host without its brackets, and the port without its colon."""
        host, colon, port = self.host.rpartition(b":")
        if not colon or (port and not port.isdigit()):
            host, port = self.host, b""
        if host.startswith(b"[") and host.endswith(b"]"):
            host = host[1:-1]
        return host, port

    def escaped_path(self) -> bytes:
        return _escaped(self.path, self.raw_path, _PATH) if self.path != b"*" else b"*"

    def __str__(self) -> str:
        scheme = self.scheme + b":" if self.scheme else b""
        body = self.opaque or self._hierarchy(scheme)
        query = b"?" + self.query if self.query or self.force_query else b""
        fragment = b"#" + _escaped(self.fragment, self.raw_fragment, _FRAGMENT) if self.fragment else b""
        return decoded(scheme + body + query + fragment)

    def _hierarchy(self, scheme: bytes) -> bytes:
        path = self.escaped_path()
        authority = b""
        has_authority = bool(self.host or self.user)
        if (scheme or has_authority) and not (self.omit_host and not has_authority):
            authority = b"//" if has_authority or self.path else b""
            if self.user is not None:
                name, password = self.user
                secret = b"" if password is None else b":" + _escape(password, _USER)
                authority += _escape(name, _USER) + secret + b"@"
            authority += _escape(self.host, _HOST)
        if path and not path.startswith(b"/") and self.host:
            path = b"/" + path
        if not (scheme or authority) and b":" in path.partition(b"/")[0]:
            path = b"./" + path
        return authority + path


def _escaped(value: bytes, raw: bytes, safe: frozenset[int]) -> bytes:
    if raw and not _outside(safe | _AS_WRITTEN).search(raw) and _unescape(raw) == value:
        return raw
    return _escape(value, safe)


def _escape(value: bytes, safe: frozenset[int]) -> bytes:
    return _outside(safe).sub(lambda found: b"%%%02X" % found[0][0], value)


@cache
def _outside(safe: frozenset[int]) -> re.Pattern[bytes]:
    """One byte that is not in the set."""
    return re.compile(b"[^" + re.escape(bytes(sorted(safe))) + b"]", re.DOTALL)


def _unescape(value: bytes) -> bytes:
    """Decode %XX.

    Raises:
        GoError: "invalid URL escape …".
    """
    position = value.find(b"%")
    while position >= 0:
        if not _ESCAPE.match(value, position):
            raise GoError(f"invalid URL escape {quote(_text(value[position : position + 3]))}")
        position = value.find(b"%", position + 3)
    return _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), value)


def _unescape_host(value: bytes, *, zone: bool = False) -> bytes:
    """Decode a host, where only non-ASCII bytes may be escaped; in a zone also a space and the characters of a host."""
    position = 0
    while found := _NOT_IN_HOST.search(value, position):
        position = found.start()
        if found[0] != b"%":
            raise GoError(f"invalid character {quote(found[0].decode())} in host name")
        escape = _ESCAPE.match(value, position)
        decoded = int(escape[1], 16) if escape else -1
        allowed = decoded in _HOST or decoded == ord(" ") if zone else decoded >= 0x80
        if not escape or not (allowed or escape[0] == b"%25"):
            raise GoError(f"invalid URL escape {quote(_text(value[position : position + 3]))}")
        position += 3
    return _unescape(value)


def parse(text: str) -> ParsedURL:
    """Read a URL or a relative reference.

    Raises:
        GoError: 'parse "…": …' as Go says it.
    """
    start, _, fragment = text.partition("#")
    url = _named(start, via_request=False)
    if not fragment:
        return url
    raw = fragment.encode(errors="surrogatepass")
    try:
        value = _unescape(raw)
    except GoError as error:
        raise GoError(f"parse {quote(text)}: {error.message}") from None
    parts = {name: getattr(url, name) for name in ParsedURL.__slots__}
    shown = b"" if _escape(value, _FRAGMENT) == raw else raw
    return ParsedURL(**{**parts, "fragment": value, "raw_fragment": shown})


def parse_request_uri(text: str) -> ParsedURL:
    """Read an absolute URL or an absolute path; a "#" is an ordinary character. Raises as :func:`parse`."""
    return _named(text, via_request=True)


def _named(text: str, *, via_request: bool) -> ParsedURL:
    if (url := usual(text)) is not None:
        return url
    return _remembered(text, via_request) if len(text) <= _USUAL else _read(text, via_request)


def usual(text: str) -> ParsedURL | None:
    """The URL, where it is short and has a scheme, a host and at most a path, without escapes; None for another text.

    :func:`parse` and :func:`parse_request_uri` agree on it.
    """
    return _simple(text) if len(text) <= _USUAL else None


@lru_cache(128)
def _simple(text: str) -> ParsedURL | None:
    """A URL of a scheme, a host and a path without escapes; None for another."""
    found = _SIMPLE.fullmatch(text)
    if found is None:
        return None
    scheme, host, path = found.groups("")
    return ParsedURL(scheme.lower().encode(), b"", None, host.encode(), path.encode())


@lru_cache(128)
def _remembered(text: str, via_request: bool) -> ParsedURL:
    """Several rules and facts read the same URL, in both calls of a request."""
    return _read(text, via_request)


def _read(text: str, via_request: bool) -> ParsedURL:
    try:
        return _parse(text.encode(errors="surrogatepass"), via_request=via_request)
    except GoError as error:
        raise GoError(f"parse {quote(text)}: {error.message}") from None


def _parse(raw: bytes, *, via_request: bool) -> ParsedURL:
    if _CONTROL.search(raw):
        raise GoError("net/url: invalid control character in URL")
    if not raw and via_request:
        raise GoError("empty url")
    if raw == b"*":
        return ParsedURL(path=b"*")
    scheme, rest = _split_scheme(raw)
    force_query = rest.endswith(b"?") and rest.count(b"?") == 1
    rest, _, query = rest.partition(b"?")
    if not rest.startswith(b"/"):
        if scheme:
            return ParsedURL(scheme, opaque=rest, query=query, force_query=force_query)
        if via_request:
            raise GoError("invalid URI for request")
        if b":" in rest.partition(b"/")[0]:
            raise GoError("first path segment in URL cannot contain colon")
    user, host, omit_host = None, b"", False
    if rest.startswith(b"//") and (scheme or not (via_request or rest.startswith(b"///"))):
        authority, slash, path = rest[2:].partition(b"/")
        user, host = _authority(scheme, authority)
        rest = slash + path
    elif scheme and rest.startswith(b"/"):
        omit_host = True
    path = _unescape(rest)
    raw_path = b"" if _escape(path, _PATH) == rest else rest
    return ParsedURL(scheme, b"", user, host, path, raw_path, query, force_query, omit_host)


def _split_scheme(raw: bytes) -> tuple[bytes, bytes]:
    match = _SCHEME.match(raw)
    if match is None:
        return b"", raw
    if match[2]:
        raise GoError("missing protocol scheme")
    return match[1].lower(), raw[match.end() :]


def _authority(scheme: bytes, authority: bytes) -> tuple[tuple[bytes, bytes | None] | None, bytes]:
    info, at, host_text = authority.rpartition(b"@")
    host = _host(scheme, host_text)
    if not at:
        return None, host
    if not _USER_INFO.fullmatch(info):
        raise GoError("net/url: invalid userinfo")
    name, colon, password = info.partition(b":")
    user = _unescape(name)
    return (user, _unescape(password) if colon else None), host


def _host(scheme: bytes, host: bytes) -> bytes:
    bracket = host.rfind(b"[")
    if bracket > 0:
        raise GoError("invalid IP-literal")
    if bracket == 0:
        return _literal(host)
    colon = host.find(b":") if scheme in (b"http", b"https") else host.rfind(b":")
    if colon >= 0:
        _check_port(host[colon:])
    return _unescape_host(host)


def _check_port(port: bytes) -> None:
    if not _PORT.fullmatch(port):
        raise GoError(f"invalid port {quote(_text(port))} after host")


def _literal(host: bytes) -> bytes:
    """An IPv6 address in brackets, with an optional zone after %25 and an optional port."""
    close = host.rfind(b"]")
    if close < 0:
        raise GoError("missing ']' in host")
    _check_port(host[close + 1 :])
    inside = host[1:close]
    zone = inside.find(b"%25")
    if zone >= 0:
        inside = _unescape_host(inside[:zone]) + _unescape_host(inside[zone:], zone=True)
    else:
        inside = _unescape_host(inside)
    try:
        address = parse_address(_text(inside))
    except GoError as error:
        raise GoError(f"invalid host: {error.message}") from None
    if len(address.packed) == 4:
        raise GoError("invalid IP-literal")
    return b"[" + inside + b"]" + host[close + 1 :]


def query_values(url: ParsedURL) -> dict[str, list[str]]:
    """The parameters of the query, decoded; malformed ones are left out."""
    values: dict[str, list[str]] = {}
    if url.query.count(b"&") >= _MAX_QUERY:
        return values
    for parameter in url.query.split(b"&"):
        if not parameter or b";" in parameter:
            continue
        name, _, value = parameter.replace(b"+", b" ").partition(b"=")
        try:
            key, item = _unescape(name), _unescape(value)
        except GoError:
            continue
        values.setdefault(decoded(key), []).append(decoded(item))
    return values
