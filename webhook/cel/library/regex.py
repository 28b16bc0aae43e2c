"""Regular expressions: ``matches`` of the standard library, ``find`` and ``findAll`` of Kubernetes.

Patterns are compiled once and kept; the backends hold on to those of literals by :func:`compiled`.
"""

from __future__ import annotations

from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.limits import LIST_LIMIT, within
from webhook.cel.overload import Overload, member
from webhook.cel.types import INT, STRING, list_of
from webhook.golang import regexp
from webhook.golang.errors import GoError
from webhook.golang.regexp import Search, next_rune


def compiled(pattern: str) -> Search:
    """The search for a pattern.

    Raises:
        CelError: Go's "error parsing regexp: …".
    """
    try:
        return regexp.compiled(pattern)
    except GoError as error:
        raise CelError(error.message) from None


def matches(text: str, pattern: str) -> bool:
    return compiled(pattern)(text.encode(errors="replace"), 0) is not None


def _legal(pattern: str) -> Search:
    try:
        return compiled(pattern)
    except CelError as error:
        raise CelError(f"Illegal regex: {error.message}") from None


def find(text: str, pattern: str) -> str:
    """The leftmost match, or ""."""
    encoded = text.encode(errors="replace")
    span = _legal(pattern)(encoded, 0)
    return "" if span is None else encoded[span[0] : span[1]].decode()


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """All matches, or the first ``limit`` of them; Go skips an empty match next to the one before it."""
    search = _legal(pattern)
    encoded = text.encode(errors="replace")
    found: list[str] = []
    position, previous_end = 0, -1
    while (limit < 0 or len(found) < limit) and position <= len(encoded):
        span = search(encoded, position)
        if span is None:
            break
        start, end = span
        if end != position or start != previous_end:
            found.append(encoded[start:end].decode())
            within(len(found), LIST_LIMIT)
        position = end if end > position else next_rune(encoded, position)
        previous_end = end
    return found


REGEX: Final[tuple[Overload, ...]] = (
    member("find", "string_find_string", (STRING, STRING), STRING, find),
    member("findAll", "string_find_all_string", (STRING, STRING), list_of(STRING), find_all),
    member("findAll", "string_find_all_string_int", (STRING, STRING, INT), list_of(STRING), find_all),
)
