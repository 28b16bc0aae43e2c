"""Ranges of an operator's releases, as rules have them: ``>=0.8.18 <0.9.8``.

A release is dotted numbers, with ``-rc`` and a number for a candidate, or ``head`` with anything after it: what is
newer than every number that is known when it is taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Protocol, TypeVar

__all__ = ["Range", "Version", "in_force", "version"]

Version = tuple[tuple[float, ...], tuple[float, ...]]
"""The numbers, and that of the candidate. Versions are compared by it."""

Cut = tuple[Version, int]
"""A place between versions: before one (0) or after it (1)."""

_RELEASE: Final = re.compile(r"(\d+(?:\.\d+)*)(?:-rc\.?(\d+))?", re.ASCII)
_TERM: Final = re.compile(r"(>=|<=|==|>|<)([^<>=].*)")
_LOWEST: Final[Cut] = (((), ()), 0)
_HEAD: Final[Version] = ((math.inf,), (math.inf,))
_HIGHEST: Final[Cut] = (((math.inf,), (math.inf, math.inf)), 1)
_LONGEST: Final = 200
"""Characters of a range, of which a version has up to 50."""


def version(release: str) -> Version:
    """The place of a release among all.

    Raises:
        ValueError: it is neither numbers nor a head.
    """
    if release == "head" or release.startswith("head-"):
        return _HEAD
    found = _RELEASE.fullmatch(release)
    if found is None or len(release) > _LONGEST:
        raise ValueError(f"{_quoted(release)} is not a release; write it as 0.9.8, or head")
    numbers = [int(each) for each in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), (float(found[2]) if found[2] else math.inf,)


@dataclass(frozen=True, slots=True)
class Range:
    """The releases from one place to another; ``text`` is what was written."""

    text: str
    low: Cut = field(repr=False)
    high: Cut = field(repr=False)

    @staticmethod
    @cache
    def parse(text: str) -> Range:
        """A range of terms that must all hold.

        Raises:
            ValueError: a term is not one, or nothing is in the range; it says what to write.
        """
        terms = text.split()
        if not terms or len(text) > _LONGEST:
            raise ValueError(f"{_quoted(text)} is not a range of releases; write one as >=0.8.18 <0.9.8")
        cuts = [_cuts(term, text) for term in terms]
        low, high = max(low for low, _ in cuts), min(high for _, high in cuts)
        if low >= high and low[0] != _HEAD:  # a release with a number may be newer than the head
            raise ValueError(f"no release is in the range {_quoted(text)}")
        return Range(" ".join(terms), low, high)

    def holds(self, release: str, newest: str = "") -> bool:
        """Whether a release is in the range. The head comes after the ``newest`` release, or without it after all."""
        low, place, high = (_placed(each, newest) for each in (self.low, (version(release), 0), self.high))
        return low <= place < high

    def words(self, releases: Sequence[str]) -> str:
        """The range as people say it, where these releases are known, the oldest first."""
        newest = next((release for release in reversed(releases) if version(release) != _HEAD), "")
        held = [release for release in releases if self.holds(release, newest)]
        if not held or _placed((_HEAD, 1), newest) < self.high < (_HEAD, 0):
            return self.text
        if self.is_open:
            return f"{held[0]} and later"
        if self.low == _LOWEST:
            return f"up to {held[-1]}"
        return " to ".join(dict.fromkeys((held[0], held[-1])))

    def overlaps(self, other: Range) -> bool:
        """Whether a release may be in both."""
        pairs = ((self, other), (other, self))
        return max(self.low, other.low) < min(self.high, other.high) or any(
            one.low[0] == _HEAD and another.low < one.high and another.high[0] >= _HEAD for one, another in pairs
        )

    @property
    def is_open(self) -> bool:
        """Whether all later releases are in the range."""
        return self.high == _HIGHEST

    @property
    def versions(self) -> tuple[str, ...]:
        """The releases that are named."""
        return tuple(term.lstrip("<>=") for term in self.text.split())


class Ranged(Protocol):
    """A part of a Policy document: a variable with a ``name``, or a rule with a ``code``."""

    @property
    def operator(self) -> str | None: ...


_Part = TypeVar("_Part", bound=Ranged)


def in_force(parts: Sequence[_Part], holds: Callable[[str], bool]) -> Iterator[tuple[int, _Part]]:
    """The parts of a document that are in force, with their places in it: those whose ranges hold, and those without a
    range that share their name with none of these.
    """
    ranged = {_name_of(part) for part in parts if part.operator and holds(part.operator)}
    for at, part in enumerate(parts):
        if holds(part.operator) if part.operator else _name_of(part) not in ranged:
            yield at, part


def _name_of(part: Ranged) -> str:
    return str(getattr(part, "name", None) or getattr(part, "code", ""))


def _placed(cut: Cut, newest: str) -> Cut:
    """A place, if the head comes after the newest release."""
    return ((version(newest)[0], (math.inf, 0.0)), cut[1]) if newest and cut[0] == _HEAD else cut


def _cuts(term: str, text: str) -> tuple[Cut, Cut]:
    """Where the range of one term begins and ends."""
    found = _TERM.fullmatch(term)
    if found is None:
        raise ValueError(f"{_quoted(text)} is not a range of releases; {_advice(term, text)}")
    place = version(found[2])
    match found[1]:
        case ">=":
            return (place, 0), _HIGHEST
        case ">":
            return (place, 1), _HIGHEST
        case "<":
            return _LOWEST, (place, 0)
        case "<=":
            return _LOWEST, (place, 1)
        case _:
            return (place, 0), (place, 1)


def _advice(term: str, text: str) -> str:
    """What to write instead of a term."""
    rest = term.lstrip("<>=~^! ")
    sign = term[: len(term) - len(rest)]
    try:
        version(rest)
    except ValueError:
        joined = re.sub(r"(>=|<=|==|>|<)\s+", r"\1", text)
        return f"write {joined}" if joined != text and not rest else "write terms such as >=0.8.18 <0.9.8"
    meant = {"=": "==", "=>": ">=", "=<": "<=", "": "==", "===": "=="}.get(sign)
    later = f", or >={rest} for it and all later releases" if not sign else ""
    return f"write {meant}{rest}{later}" if meant else "use >=, >, <, <= or =="


def _quoted(text: str) -> str:
    return f'"{text if len(text) <= _LONGEST else text[:_LONGEST] + "…"}"'
