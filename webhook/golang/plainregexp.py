"""The patterns that Python's ``re`` matches as RE2 does, in a fifth of the time: for ASCII texts, told by their syntax.

A pattern is translated if it consists of literals, classes, groups, alternatives and repetitions, with ``^`` at the
start and ``$`` at the end of an alternative of the whole. Python backtracks; so that this takes no more steps than the
text is long, each character must tell which part of the pattern is next (a deterministic Glushkov automaton).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

__all__ = ["plain"]

_ALL: Final = frozenset(range(128))
_DIGITS: Final = frozenset(range(ord("0"), ord("9") + 1))
_WORD: Final = frozenset(code for code in _ALL if chr(code).isalnum()) | {ord("_")}
_SPACE: Final = frozenset(b"\t\n\f\r ")
_CLASSES: Final = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CLASSES_ALL: Final = {**_CLASSES, **{name.upper(): _ALL - codes for name, codes in _CLASSES.items()}}
_CONTROLS: Final = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11, "a": 7}
_DOT: Final = "(?s:.)"
_REPEATED: Final = re.compile(r"\{([0-9]+)(,[0-9]*)?\}")
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})")


class _Refused(Exception):
    """Only RE2 reads the pattern."""


class _Part(NamedTuple):
    """A part of a pattern: its text for ``re``, the places that a match may start and end at, and whether it may be
    empty. A place is a number; :attr:`_Reader.codes` has its characters.
    """

    text: str
    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    empty: bool = True


@lru_cache(1024)
def plain(pattern: str) -> Callable[[str], Any] | None:
    """A function of an ASCII text that gives None exactly if RE2 finds no match; None where there is no such function.

    RE2 must accept the pattern.
    """
    try:
        text, anchored = _Reader(pattern).read()
    except _Refused:
        return None
    found = re.compile(text)
    return found.match if anchored else found.search


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._codes: list[frozenset[int]] = []
        self._follow: list[set[int]] = []

    def read(self) -> tuple[str, bool]:
        """The pattern for ``re``, and whether every match starts at the start of the text."""
        if not self._pattern.isascii():
            raise _Refused
        branches, anchored = [], True
        while True:
            start = self._taken("^")
            part = self._sequence()
            end = self._taken("$")
            self._check([part.first, *self._follow])
            branches.append(("^" if start else "") + part.text + (r"\Z" if end else ""))
            anchored = anchored and start
            if not self._taken("|"):
                break
        if self._at < len(self._pattern):
            raise _Refused
        return "|".join(branches), anchored

    def _check(self, choices: Iterable[Iterable[int]]) -> None:
        """Refuse a pattern in which one character may stand for two places."""
        for places in choices:
            seen: set[int] = set()
            for place in places:
                if not seen.isdisjoint(self._codes[place]):
                    raise _Refused
                seen |= self._codes[place]

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _taken(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _sequence(self) -> _Part:
        whole = _Part("")
        while self._peek() not in ("", "|", ")", "$"):
            part = self._repeated(self._atom())
            self._join(whole.last, part.first)
            whole = _Part(
                whole.text + part.text,
                whole.first | part.first if whole.empty else whole.first,
                whole.last | part.last if part.empty else part.last,
                whole.empty and part.empty,
            )
        return whole

    def _join(self, last: Iterable[int], first: Iterable[int]) -> None:
        for place in last:
            self._follow[place].update(first)

    def _repeated(self, part: _Part) -> _Part:
        start = self._at
        if self._peek() in ("*", "+", "?"):
            sign = self._peek()
            self._at += 1
            least, most = (1 if sign == "+" else 0), (1 if sign == "?" else 2)
        elif counted := _REPEATED.match(self._pattern, self._at):
            self._at = counted.end()
            least, most = int(counted[1]), 2
        elif self._peek() == "{":
            raise _Refused
        else:
            return part
        self._taken("?")  # whether the match is short or long does not matter
        if self._peek() in ("*", "+", "?", "{"):
            raise _Refused
        if part.empty:  # repetitions of nothing differ between the two
            raise _Refused
        if most > 1:
            self._join(part.last, part.first)
        return part._replace(text=part.text + self._pattern[start : self._at], empty=least == 0)

    def _atom(self) -> _Part:
        if self._taken(_DOT):
            return self._place(_ALL)
        if self._taken("("):
            return self._group()
        if self._taken("["):
            return self._place(self._members())
        if self._taken("."):
            return self._place(_ALL - {ord("\n")})
        if self._peek() in ("*", "+", "?", "^", "{"):
            raise _Refused
        return self._place(self._escaped() if self._taken("\\") else frozenset({ord(self._next())}))

    def _group(self) -> _Part:
        if self._peek() == "?" and not self._taken("?:"):
            raise _Refused
        parts = [self._sequence()]
        while self._taken("|"):
            parts.append(self._sequence())
        if not self._taken(")"):
            raise _Refused
        return _Part(
            f"(?:{'|'.join(part.text for part in parts)})",
            frozenset().union(*(part.first for part in parts)),
            frozenset().union(*(part.last for part in parts)),
            any(part.empty for part in parts),
        )

    def _place(self, codes: frozenset[int]) -> _Part:
        if not codes:
            raise _Refused
        place = len(self._codes)
        self._codes.append(codes)
        self._follow.append(set())
        shown = "".join(f"\\x{code:02x}" for code in sorted(codes))
        text = re.escape(chr(min(codes))) if len(codes) == 1 else "(?s:.)" if codes == _ALL else f"[{shown}]"
        return _Part(text, frozenset({place}), frozenset({place}), empty=False)

    def _members(self) -> frozenset[int]:
        """The characters of a class, after its bracket."""
        negated = self._taken("^")
        codes: set[int] = set()
        first = True
        while first or self._peek() != "]":
            if self._pattern.startswith("[:", self._at):
                raise _Refused
            member = self._member()
            if self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                end = self._member()
                if len(member) != 1 or len(end) != 1:
                    raise _Refused
                member = frozenset(range(min(member), min(end) + 1))
            codes |= member
            first = False
        self._at += 1
        return _ALL - codes if negated else frozenset(codes)

    def _member(self) -> frozenset[int]:
        return self._escaped() if self._taken("\\") else frozenset({ord(self._next())})

    def _escaped(self) -> frozenset[int]:
        """The characters that an escape stands for, after its backslash."""
        if found := _HEX.match(self._pattern, self._at):
            self._at = found.end()
            code = int(found[1], 16)
            if code > 127:
                raise _Refused
            return frozenset({code})
        char = self._next()
        if char in _CLASSES_ALL:
            return _CLASSES_ALL[char]
        if char in _CONTROLS:
            return frozenset({_CONTROLS[char]})
        if char.isalnum():
            raise _Refused
        return frozenset({ord(char)})

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise _Refused
        self._at += 1
        return char
