"""Go's regular expressions as schemas use them: search unanchored, answer yes or no."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel import CelError as RegexError
from webhook.cel.library.regex import compiled

__all__ = ["RegexError", "matcher"]


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text has a match. Raises :class:`RegexError` with Go's message for what is no pattern."""
    search = compiled(pattern)
    return lambda text: search(text.encode(errors="replace"), 0) is not None
