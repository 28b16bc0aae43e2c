r"""Patterns that Python's own regular expressions run as well as RE2, and several times faster.

Only a plain subset is taken: ASCII literals, ``.``, classes of characters, ``\d`` and ``\w``,
groups, alternatives and quantifiers. Two things keep backtracking harmless: nothing that can
match in more than one way is repeated, so that the ways to try a whole pattern can be counted
and limited (:data:`_WAYS_LIMIT`); and longer texts than :data:`LENGTH_LIMIT` are left to RE2.
What matches is then the same; which match it is may differ, so this is for ``matches`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["LENGTH_LIMIT", "translate"]

LENGTH_LIMIT: Final = 256
"""Characters: more than the 253 of the longest DNS name."""

_WAYS_LIMIT: Final = 4 * LENGTH_LIMIT**2
"""Two quantifiers without bound, the start of an unanchored search being one, and two options: 4 ms at most."""

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
    groups = [_Group()]
    repeated: int | None = None  # in how many ways what a quantifier would repeat can match; None if there is nothing
    position = 0
    while position < len(pattern):
        found = _TOKEN.match(pattern, position)
        if found is None or not found[0].isascii():
            return None
        position = found.end()
        kind, text = found.lastgroup, found[0]
        if kind == "quantifier":
            if repeated is None or (repeated > 1 and text != "?"):
                return None
            groups[-1].ways *= _choices(text)  # too many where a choice may be left out, which does no harm
            repeated = None
            parts.append(text)
            continue
        repeated = 1 if kind in ("literal", "escape", "class") else None
        if kind == "open":
            groups.append(_Group())
            text = "(?:"
        elif kind == "close":
            if len(groups) == 1:
                return None
            repeated = groups.pop().total
            groups[-1].ways *= repeated
        elif kind == "bar":
            groups[-1].others += groups[-1].ways
            groups[-1].ways = 1
        elif kind == "end":
            text = r"\Z"
        elif kind == "start":
            text = r"\A"
        elif kind == "class" and not _is_plain_class(text):
            return None
        parts.append(text)
    starts = 1 if pattern.startswith("^") and "|" not in pattern else LENGTH_LIMIT
    return "".join(parts) if len(groups) == 1 and starts * groups[0].total <= _WAYS_LIMIT else None


@dataclass(slots=True)
class _Group:
    """A group that is still open: the ways of this alternative, and those of the ones before."""

    ways: int = 1
    others: int = 0

    @property
    def total(self) -> int:
        return self.ways + self.others


def _choices(quantifier: str) -> int:
    """In how many numbers what is quantified may stand there."""
    if quantifier == "?":
        return 2
    if quantifier in ("*", "+") or quantifier.endswith(",}"):
        return LENGTH_LIMIT
    low, _, high = quantifier[1:-1].partition(",")
    return int(high or low) - int(low) + 1


def _is_plain_class(text: str) -> bool:
    """No class in a class, no operators that one of the two would take otherwise."""
    return text in ("\\d", "\\w", ".") or not any(pair in text for pair in ("--", "&&", "||", "~~", "[:", "[]", "[^]"))
