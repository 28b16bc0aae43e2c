"""The URL library of Kubernetes: ``url('https://…').getHost()``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from webhook.cel import types
from webhook.cel.errors import CelError
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import BOOL, STRING, Type, list_of, map_of
from webhook.cel.values.value import Opaque
from webhook.golang.errors import GoError, readable
from webhook.golang.url import ParsedURL, decoded, parse, parse_request_uri, query_values, usual


@dataclass(slots=True, eq=False)  # never changed: frozen, it would take twice as long to make
class URL(Opaque):
    """A URL; two are equal if they print the same."""

    parts: ParsedURL

    cel_type: ClassVar[Type] = types.opaque("kubernetes.URL")

    def cel_equal(self, other: object) -> bool | None:
        return str(self) == str(other) if isinstance(other, URL) else None

    def __str__(self) -> str:
        return str(self.parts)


def to_url(text: str) -> URL:
    if (simple := usual(text)) is not None:
        return URL(simple)
    try:
        parse_request_uri(text)  # decides what is a URL …
        return URL(parse(text))  # … and this knows what a fragment is
    except GoError as error:
        raise CelError(f"URL parse error during conversion from string: {error.message}") from None


_is_uri: Final = readable(parse_request_uri)


def is_url(text: str) -> bool:
    return usual(text) is not None or _is_uri(text)


_U: Final = URL.cel_type
_QUERY: Final = map_of(STRING, list_of(STRING))

URLS: Final[tuple[Overload, ...]] = (
    free("url", "string_to_url", (STRING,), _U, to_url),
    member("getScheme", "url_get_scheme", (_U,), STRING, lambda url: decoded(url.parts.scheme)),
    member("getHost", "url_get_host", (_U,), STRING, lambda url: decoded(url.parts.host)),
    member("getHostname", "url_get_hostname", (_U,), STRING, lambda url: decoded(url.parts.host_and_port()[0])),
    member("getPort", "url_get_port", (_U,), STRING, lambda url: decoded(url.parts.host_and_port()[1])),
    member("getEscapedPath", "url_get_escaped_path", (_U,), STRING, lambda url: decoded(url.parts.escaped_path())),
    member("getQuery", "url_get_query", (_U,), _QUERY, lambda url: query_values(url.parts)),
    free("isURL", "is_url_string", (STRING,), BOOL, is_url),
)
