"""Go's ``regexp``: RE2, in time linear in the text for every pattern, with Go's error texts."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import re2

from webhook.golang.errors import GoError

Span = tuple[int, int]
Search = Callable[[bytes, int], Span | None]
"""A function of a text in UTF-8 and a byte position: the leftmost match from there, or None."""

_CACHED: Final = 128  # as many as google-re2 keeps; each may take up to 8 MiB, but most take far less
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
_ANYWHERE: Final = getattr(getattr(re2, "_Anchor", None), "UNANCHORED", None)
_ESCAPES: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False  # the caller reports an invalid pattern; otherwise RE2 also writes it to stderr
    options.never_capture = True  # no caller reads groups
    return options


def _go_error(error: Exception) -> GoError:
    text = error.args[0] if error.args else ""
    message = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    code, colon, rest = message.partition(": ")
    if code == "invalid repetition size":
        rest = rest.removesuffix("?")
    return GoError(f"error parsing regexp: {_GO_MESSAGES.get(code, code)}: `{rest if colon else ''}`")


@lru_cache(_CACHED)
def compiled(pattern: str) -> Search:
    """The search for a pattern.

    Raises:
        GoError: Go's "error parsing regexp: …".
    """
    try:
        handle = re2.compile(pattern, _options())
    except re2.error as error:
        raise _go_error(error) from None
    except UnicodeEncodeError:
        raise GoError(f"error parsing regexp: invalid UTF-8: `{pattern!a}`") from None
    if any(match[0] == "\\C" for match in _ESCAPES.finditer(pattern)):
        raise GoError("error parsing regexp: invalid escape sequence: `\\C`")  # C++ RE2 supports it, Go does not
    search = _fast(handle) or _on_runes(_public(handle))
    search.__reduced__ = (compiled, (pattern,))  # type: ignore[attr-defined]  # how a pickle has it
    return search


def _on_runes(search: Search) -> Search:
    """Skip the empty matches that C++ RE2 finds inside a code point, because its word boundaries work on bytes."""

    def search_runes(text: bytes, start: int) -> Span | None:
        span = search(text, start)
        while span is not None and span[0] < len(text) and text[span[0]] & 0xC0 == 0x80:
            span = search(text, next_rune(text, span[0]))
        return span

    return search_runes


def _fast(handle: Any) -> Search | None:
    """The search by the RE2 object that google-re2 wraps; None if this release wraps another."""
    match = _wrapped(handle)
    if match is None:
        return None

    def search(text: bytes, start: int) -> Span | None:
        span: Span = match(_ANYWHERE, text, start, len(text))[0]
        if span == _NO_SPAN:
            return None
        return span if span[0] == len(text) or text[span[0]] & 0xC0 != 0x80 else runes(text, next_rune(text, span[0]))

    runes = _on_runes(search)
    return search


def _wrapped(handle: Any) -> Callable[..., Any] | None:
    """The method of the RE2 object that google-re2 wraps: a call takes a sixth of the time."""
    try:
        match: Callable[..., Any] = handle._regexp.Match  # noqa: SLF001
        return None if match(_ANYWHERE, b"", 0, 0) is None else match
    except (AttributeError, TypeError):
        return None


def _public(handle: Any) -> Search:
    by_bytes = re2.compile(handle.pattern.encode(), _options())

    def search(text: bytes, start: int) -> Span | None:
        found = by_bytes.search(text, start)
        return None if found is None else (found.start(), found.end())

    return search


def matcher(
    pattern: str, longest: int = sys.maxsize, too_long: type[Exception] = OverflowError
) -> Callable[[str], bool]:
    """Whether a text has a match; ``too_long`` is raised for one with more than ``longest`` characters.

    Raises:
        GoError: as :func:`compiled`.
    """
    search = compiled(pattern)
    match = _wrapped(re2.compile(pattern, _options()))

    def matches(text: str) -> bool:
        if len(text) > longest:
            raise too_long
        if match is None or not text.isascii():
            return search(text.encode(errors="replace"), 0) is not None
        found: Span = match(_ANYWHERE, text.encode(), 0, len(text))[0]
        return found != _NO_SPAN

    return matches


def next_rune(encoded: bytes, position: int) -> int:
    """The byte position of the next code point."""
    position += 1
    while position < len(encoded) and encoded[position] & 0xC0 == 0x80:
        position += 1
    return position
