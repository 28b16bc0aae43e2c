"""Lists as sets: ``sets.contains``, ``sets.equivalent``, ``sets.intersects`` (cel-go's extension)."""

from __future__ import annotations

from typing import Any, Final

from webhook.cel.limits import WORK_LIMIT, within
from webhook.cel.overload import Overload, free
from webhook.cel.types import BOOL, list_of, param
from webhook.cel.values import containers
from webhook.cel.values.value import Comparison

__all__ = ["SETS"]


def contains(whole: list[Any], part: list[Any]) -> bool:
    within(len(whole) * len(part), WORK_LIMIT)
    comparison = Comparison()
    return all(containers.contains(each, whole, comparison) for each in part)


def equivalent(a: list[Any], b: list[Any]) -> bool:
    return contains(a, b) and contains(b, a)


def intersects(a: list[Any], b: list[Any]) -> bool:
    within(len(a) * len(b), WORK_LIMIT)
    comparison = Comparison()
    return any(containers.contains(each, b, comparison) for each in a)


_LISTS: Final = (list_of(param("T")), list_of(param("T")))

SETS: Final[tuple[Overload, ...]] = (
    free("sets.contains", "list_sets_contains_list", _LISTS, BOOL, contains),
    free("sets.equivalent", "list_sets_equivalent_list", _LISTS, BOOL, equivalent),
    free("sets.intersects", "list_sets_intersects_list", _LISTS, BOOL, intersects),
)
