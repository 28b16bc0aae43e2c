r"""Patterns that Python's own regular expressions run as well as RE2, and several times faster.

Only a plain subset is taken: ASCII literals, ``.``, classes of characters, ``\d`` and ``\w``,
groups, alternatives and quantifiers. Two things keep backtracking harmless: at most two
quantifiers are unbounded and none of them is within another, and longer texts than
:data:`LENGTH_LIMIT` are left to RE2. What matches is then the same; which match it is may
differ, so this is for ``matches`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

__all__ = ["LENGTH_LIMIT", "translate"]

LENGTH_LIMIT: Final = 256
"""Two unbounded quantifiers and a free start take at most the cube of the length; 253 is the longest DNS name."""

_UNBOUNDED_LIMIT: Final = 2
_REPEAT_LIMIT: Final = 64

_TOKEN = re.compile(
    r"""(?P<literal>[A-Za-z0-9_\-/:@%,;=~!#&'"<>\ ])
    |(?P<escape>\\[.\-/+*?()\[\]{}|^$\\])
    |(?P<class>\\[dw]|\.|\[\^?\]?(?:[^\[\]\\^]|\\[dw.\-/+*?()\[\]{}|^$\\])*\])
    |(?P<open>\((?:\?:)?)
    |(?P<close>\))
    |(?P<bar>\|)
    |(?P<start>\^)
    |(?P<end>\$)
    |(?P<quantifier>[*+?]|\{\d{1,2}(?:,\d{0,2})?\})""",
    re.VERBOSE | re.ASCII,
)


def translate(pattern: str) -> Callable[[str], Any] | None:
    """Python's search for a pattern of RE2, or None where it might not be the same or not be fast."""
    written = _translate(pattern)
    if written is None:
        return None
    try:
        return re.compile(written, re.ASCII).search
    except (re.error, RecursionError, OverflowError):
        return None


def _translate(pattern: str) -> str | None:
    parts: list[str] = []
    groups: list[bool] = [False]  # for each open group, whether there is a quantifier without bound in it
    last_holds_loop = False
    can_repeat = False
    unbounded = position = 0
    while position < len(pattern):
        found = _TOKEN.match(pattern, position)
        if found is None or not found[0].isascii():
            return None
        position = found.end()
        kind, text = found.lastgroup, found[0]
        if kind == "quantifier":
            loops = text in ("*", "+") or text.endswith(",}")
            repeats = loops or text.startswith("{")
            if not can_repeat or (repeats and last_holds_loop) or not _is_small(text):
                return None
            unbounded += loops
            groups[-1] = groups[-1] or repeats
            can_repeat = False
            parts.append(text)
            continue
        last_holds_loop = False
        can_repeat = kind in ("literal", "escape", "class", "close")
        if kind == "open":
            groups.append(False)
            text = "(?:"
        elif kind == "close":
            if len(groups) == 1:
                return None
            last_holds_loop = groups.pop()
            groups[-1] = groups[-1] or last_holds_loop
        elif kind == "end":
            text = r"\Z"
        elif kind == "start":
            text = r"\A"
        elif kind == "class" and not _is_plain_class(text):
            return None
        parts.append(text)
    return "".join(parts) if len(groups) == 1 and unbounded <= _UNBOUNDED_LIMIT else None


def _is_small(quantifier: str) -> bool:
    numbers = [int(number) for number in re.findall(r"\d+", quantifier)]
    return all(number <= _REPEAT_LIMIT for number in numbers) and numbers == sorted(numbers)


def _is_plain_class(text: str) -> bool:
    """No class in a class, no operators that one of the two would take otherwise."""
    return text in ("\\d", "\\w", ".") or not any(pair in text for pair in ("--", "&&", "||", "~~", "[:", "[]", "[^]"))
