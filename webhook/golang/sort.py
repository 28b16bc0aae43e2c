"""The order in which Go's ``sort.Slice`` leaves elements that compare as equal.

``sortBy`` in cel-go sorts with it, and it is not stable: beyond twelve elements, equal ones
end up where pattern-defeating quicksort happens to swap them. The result is deterministic, so
it is part of what an expression means, and :class:`_PatternDefeating` takes the same steps
(Go's ``sort/zsortfunc.go``, after Orson Peters' algorithm). Without equal elements any sort gives the same order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

__all__ = ["sort_indices"]

_INSERTION: Final = 12  # up to here Go sorts by insertion, which is stable
_NINTHER: Final = 50  # from here on the pivot is a median of medians, and nearly sorted input is repaired
_MAX_SWAPS: Final = 12
_MAX_STEPS: Final = 5
_WORD: Final = 2**64 - 1


def sort_indices(keys: list[Any]) -> list[int]:
    """Where the elements of a sorted list come from; keys are of one ordered type."""
    comparable = keys[0].__class__ is not float or all(key == key for key in keys)  # noqa: PLR0124 (NaN)
    if comparable:
        order = sorted(range(len(keys)), key=keys.__getitem__)
        if len(keys) <= _INSERTION or all(keys[a] != keys[b] for a, b in pairwise(order)):
            return order
    sorter = _PatternDefeating(keys)
    sorter.sort(0, len(keys), len(keys).bit_length())
    return sorter.order


class _PatternDefeating:
    """One sort in progress: ``order`` is permuted, ``keys`` stay."""

    def __init__(self, keys: list[Any]) -> None:
        self.keys = keys
        self.order = list(range(len(keys)))

    def less(self, i: int, j: int) -> bool:
        return bool(self.keys[self.order[i]] < self.keys[self.order[j]])

    def swap(self, i: int, j: int) -> None:
        order = self.order
        order[i], order[j] = order[j], order[i]

    def sort(self, low: int, high: int, limit: int) -> None:
        balanced = partitioned = True
        while True:
            length = high - low
            if length <= _INSERTION:
                self.insertion(low, high)
                return
            if limit == 0:
                self.heap(low, high)
                return
            if not balanced:
                self.break_patterns(low, high)
                limit -= 1
            pivot, swaps = self.choose_pivot(low, high)
            increasing = swaps == 0
            if swaps == _MAX_SWAPS:
                self.order[low:high] = self.order[low:high][::-1]
                pivot, increasing = (high - 1) - (pivot - low), True
            if balanced and partitioned and increasing and self.nearly_sorted(low, high):
                return
            if low > 0 and not self.less(low - 1, pivot):
                low = self.partition_equal(low, high, pivot)
                continue
            middle, partitioned = self.partition(low, high, pivot)
            left, right = middle - low, high - middle
            balanced = min(left, right) >= length // 8
            if left < right:
                self.sort(low, middle, limit)
                low = middle + 1
            else:
                self.sort(middle + 1, high, limit)
                high = middle

    def insertion(self, low: int, high: int) -> None:
        for i in range(low + 1, high):
            j = i
            while j > low and self.less(j, j - 1):
                self.swap(j, j - 1)
                j -= 1

    def heap(self, low: int, high: int) -> None:
        size = high - low
        for root in range((size - 1) // 2, -1, -1):
            self.sift_down(root, size, low)
        for end in range(size - 1, -1, -1):
            self.swap(low, low + end)
            self.sift_down(0, end, low)

    def sift_down(self, root: int, size: int, first: int) -> None:
        while (child := 2 * root + 1) < size:
            if child + 1 < size and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def partition(self, low: int, high: int, pivot: int) -> tuple[int, bool]:
        self.swap(low, pivot)
        i, j = self.narrow(low, low + 1, high - 1)
        if i > j:
            self.swap(j, low)
            return j, True
        while i <= j:
            self.swap(i, j)
            i, j = self.narrow(low, i + 1, j - 1)
        self.swap(j, low)
        return j, False

    def narrow(self, pivot: int, i: int, j: int) -> tuple[int, int]:
        while i <= j and self.less(i, pivot):
            i += 1
        while i <= j and not self.less(j, pivot):
            j -= 1
        return i, j

    def partition_equal(self, low: int, high: int, pivot: int) -> int:
        self.swap(low, pivot)
        i, j = low + 1, high - 1
        while True:
            while i <= j and not self.less(low, i):
                i += 1
            while i <= j and self.less(low, j):
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i, j = i + 1, j - 1

    def nearly_sorted(self, low: int, high: int) -> bool:
        i = low + 1
        for _ in range(_MAX_STEPS):
            while i < high and not self.less(i, i - 1):
                i += 1
            if i == high:
                return True
            if high - low < _NINTHER:
                return False
            self.swap(i, i - 1)
            if i - low >= 2:
                self.shift_left(i - 1)
            if high - i >= 2:
                self.shift_right(i + 1, high)
        return False

    def shift_left(self, j: int) -> None:
        while j >= 1 and self.less(j, j - 1):
            self.swap(j, j - 1)
            j -= 1

    def shift_right(self, j: int, high: int) -> None:
        while j < high and self.less(j, j - 1):
            self.swap(j, j - 1)
            j += 1

    def break_patterns(self, low: int, high: int) -> None:
        length = random = high - low
        mask = (1 << length.bit_length()) - 1
        middle = low + length // 4 * 2
        for i in range(middle - 1, middle + 2):
            random ^= random << 13 & _WORD
            random ^= random >> 7
            random ^= random << 17 & _WORD
            other = random & mask
            self.swap(i, low + (other - length if other >= length else other))

    def choose_pivot(self, low: int, high: int) -> tuple[int, int]:
        """A pivot, and how many swaps it took to find: 0 for increasing input, twelve for decreasing."""
        quarter = (high - low) // 4
        at = [low + quarter, low + quarter * 2, low + quarter * 3]
        swaps = 0
        if high - low >= _NINTHER:
            for n, each in enumerate(at):
                at[n], more = self.median(each - 1, each, each + 1)
                swaps += more
        pivot, more = self.median(*at)
        return pivot, swaps + more

    def median(self, a: int, b: int, c: int) -> tuple[int, int]:
        swaps = 0
        if self.less(b, a):
            a, b, swaps = b, a, swaps + 1
        if self.less(c, b):
            b, c, swaps = c, b, swaps + 1
        if self.less(b, a):
            a, b, swaps = b, a, swaps + 1
        return b, swaps
