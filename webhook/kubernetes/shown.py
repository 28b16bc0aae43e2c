"""Values and lists in texts: what is long is cut while the text is made, because each fault may quote the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import merge, nsmallest
from itertools import islice
from typing import Final

from webhook.golang.credentials import masked
from webhook.golang.strconv import quote

VALUE: Final = 200
"""Characters of a value."""
FEW: Final = 20
"""Items of a list, of which the others are counted. Kubernetes names all."""
_READ: Final = 8 * VALUE
"""Characters in which credentials are hidden before the text is cut: half of one could not be recognised."""


def cut(text: str, length: int = VALUE) -> str:
    """A value of a user in a text."""
    return text if len(text) <= length else f"{masked(text[:_READ])[: length - 1]}…"


def shown(text: str) -> str:
    """A value as Go quotes it."""
    return quote(cut(text))


def listed(names: Collection[str]) -> str:
    """The first names in their order, and how many more there are."""
    first = ", ".join(map(cut, nsmallest(FEW, names)))
    return first if len(names) <= FEW else f"{first} and {len(names) - FEW} more"


class Few:
    """The first :data:`FEW` of what may be as many as the square of a list is long; the others are ``omitted``."""

    def __init__(self) -> None:
        self.omitted, self._left = 0, FEW

    def first(self, places: Sequence[Sequence[int]]) -> Iterator[int]:
        """The first places of all these sorted lists, in their order."""
        count = sum(map(len, places))
        taken = min(count, self._left)
        self._left -= taken
        self.omitted += count - taken
        return islice(merge(*places), taken) if taken else iter(())
