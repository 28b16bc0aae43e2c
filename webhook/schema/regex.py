"""Go's regular expressions: RE2 syntax, linear time, search unanchored."""

from __future__ import annotations

from typing import Any

import re2

__all__ = ["RegexError", "regex"]

RegexError = re2.error

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # RE2 writes to stderr otherwise, also when a DFA outgrows its memory


def regex(pattern: str) -> Any:
    """The compiled pattern; RE2 keeps the last few hundred. Raises :data:`RegexError`."""
    return re2.compile(pattern, options=_OPTIONS)
