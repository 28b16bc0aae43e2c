"""Regular expressions of Go: RE2, in time linear in the text whatever the pattern.

``matches`` is of the standard library, ``find`` and ``findAll`` are Kubernetes'. Patterns are
compiled once and kept; the backends hold on to those of literals by :func:`compiled`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import re2

from webhook.cel.errors import CelError
from webhook.cel.limits import LIST_LIMIT, within
from webhook.cel.overload import Overload, member
from webhook.cel.types import INT, STRING, list_of

__all__ = ["REGEX", "Search", "Span", "compiled", "find", "find_all", "matches"]

Span = tuple[int, int]
Search = Callable[[bytes, int], Span | None]
"""A function of a text in UTF-8 and a byte position: the leftmost match from there, or None."""

_CACHED: Final = 128  # as many as google-re2 keeps; each may take its 8 MiB, though hardly any does
_GO_MESSAGES: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}
_NO_SPAN: Final = (-1, -1)
_ESCAPES: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False  # a bad pattern is its author's to hear of, not stderr's
    options.never_capture = True  # no group is ever read
    return options


def _go_error(error: Exception) -> CelError:
    text = error.args[0] if error.args else ""
    message = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    code, colon, rest = message.partition(": ")
    if code == "invalid repetition size":
        rest = rest.removesuffix("?")
    return CelError(f"error parsing regexp: {_GO_MESSAGES.get(code, code)}: `{rest if colon else ''}`")


@lru_cache(_CACHED)
def compiled(pattern: str) -> Search:
    """What searches for a pattern.

    Raises:
        CelError: Go's "error parsing regexp: …".
    """
    try:
        handle = re2.compile(pattern, _options())
    except re2.error as error:
        raise _go_error(error) from None
    except UnicodeEncodeError:
        raise CelError(f"error parsing regexp: invalid UTF-8: `{pattern!a}`") from None
    if any(match[0] == "\\C" for match in _ESCAPES.finditer(pattern)):
        raise CelError("error parsing regexp: invalid escape sequence: `\\C`")  # RE2 in C++ has it, Go has not
    return _on_runes(_fast(handle) or _public(handle))


def _on_runes(search: Search) -> Search:
    """Without the empty matches that C++ finds inside a code point: its word boundaries look at bytes."""

    def search_runes(text: bytes, start: int) -> Span | None:
        span = search(text, start)
        while span is not None and span[0] < len(text) and text[span[0]] & 0xC0 == 0x80:
            span = search(text, _next_rune(text, span[0]))
        return span

    return search_runes


def _fast(handle: Any) -> Search | None:
    """The bare RE2 object behind google-re2's, a sixth of the time a call; None if it is not as we know it."""
    try:
        match, anchor = handle._regexp.Match, re2._Anchor.UNANCHORED  # noqa: SLF001
        if match(anchor, b"", 0, 0) is None:
            return None
    except (AttributeError, TypeError):
        return None

    def search(text: bytes, start: int) -> Span | None:
        span: Span = match(anchor, text, start, len(text))[0]
        return None if span == _NO_SPAN else span

    return search


def _public(handle: Any) -> Search:
    by_bytes = re2.compile(handle.pattern.encode(), _options())

    def search(text: bytes, start: int) -> Span | None:
        found = by_bytes.search(text, start)
        return None if found is None else (found.start(), found.end())

    return search


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
    """All matches, or the first ``limit`` of them; an empty match next to the one before it is none (Go's rule)."""
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
        position = end if end > position else _next_rune(encoded, position)
        previous_end = end
    return found


def _next_rune(encoded: bytes, position: int) -> int:
    position += 1
    while position < len(encoded) and encoded[position] & 0xC0 == 0x80:
        position += 1
    return position


REGEX: Final[tuple[Overload, ...]] = (
    member("find", "string_find_string", (STRING, STRING), STRING, find),
    member("findAll", "string_find_all_string", (STRING, STRING), list_of(STRING), find_all),
    member("findAll", "string_find_all_string_int", (STRING, STRING, INT), list_of(STRING), find_all),
)
