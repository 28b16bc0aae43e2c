"""Make a failing case small: leave out whatever it fails without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def shrink(case: dict[str, Any], fails: Callable[[dict[str, Any]], bool], tries: int = 400) -> dict[str, Any]:
    """The smallest case found within so many tries that still fails."""
    while tries > 0:
        for smaller in _smaller(case):
            tries -= 1
            if tries <= 0:
                return case
            if fails(smaller):
                case = smaller
                break
        else:
            return case
    return case


def _smaller(value: Any) -> Iterator[Any]:
    """Every value with one thing left out, larger things first."""
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
        for key, item in value.items():
            for smaller in _smaller(item):
                yield {**value, key: smaller}
    elif isinstance(value, list):
        for i in range(len(value)):
            yield value[:i] + value[i + 1 :]
        for i, item in enumerate(value):
            for smaller in _smaller(item):
                yield [*value[:i], smaller, *value[i + 1 :]]
