"""cel-go's extensions for lists (version 3: ``slice``, ``flatten``, ``sort``, ``distinct`` …), sets of them, and maps.

What is left of macros at run time is here, too: ``@sortByAssociatedKeys`` of ``sortBy``, and ``cel.@mapInsert`` of
those over two variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.cost.runtime import SORTED, call_cost
from webhook.cel.errors import CelError
from webhook.cel.library import operators
from webhook.cel.limits import LIST_LIMIT, WORK_LIMIT, Steps, within
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, list_of, map_of, param
from webhook.cel.values import members
from webhook.cel.values.members import go_value
from webhook.cel.values.value import RECEIVERS, Comparison, from_map_key, map_key, type_name, type_of_value

if TYPE_CHECKING:
    from webhook.cel.types import Type


def slice_(values: list[Any], start: int, end: int) -> list[Any]:
    fault = None
    if start < 0 or end < 0:
        fault = "negative indexes not supported"
    elif start > end:
        fault = "start index must be less than or equal to end index"
    elif end > len(values):
        fault = f"list is length {len(values)}"
    if fault:
        raise CelError(f"cannot slice({start}, {end}), {fault}")
    return list(values[start:end])


def flatten(values: Any, depth: Any = None) -> list[Any]:
    """``flatten()`` is ``flatten(1)``; cel-go checks the types in the function, with its own error text."""
    if not isinstance(values, list) or (depth is not None and depth.__class__ is not int):
        arguments = "" if depth is None else type_name(type_of_value(depth))
        raise CelError(f"no such overload: {_type_text(values)}.flatten({arguments})")
    return _flatten(values, 1 if depth is None else depth, Steps(LIST_LIMIT))


def _type_text(value: Any) -> str:
    return str(type_of_value(value)) if value is not None else "null_type"


def _flatten(values: list[Any], depth: int, steps: Steps) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    steps.take(len(values) + 1)  # an empty list takes a step, too
    for value in values:
        if depth and isinstance(value, list):
            flat += _flatten(value, depth - 1, steps)
        else:
            flat.append(value)
    return flat


def sort(values: Any) -> list[Any]:
    _a_list(values, "sort")
    return sort_by_keys(values, values)


def _a_list(values: Any, function: str) -> None:
    if not isinstance(values, list):
        has_methods = values.__class__ in RECEIVERS
        raise CelError("no such overload" if has_methods else f"no such overload: {function}")


def sort_by_keys(values: Any, keys: Any) -> list[Any]:
    _a_list(values, "@sortByAssociatedKeys")
    if len(values) != len(keys):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(values)} and {len(keys)} elements respectively"
        )
    if not values:
        return []
    within(len(keys) ** 2, WORK_LIMIT)  # what it is charged
    if not operators.is_ordered(keys[0]):
        raise CelError("list elements must be comparable")
    kind = keys[0].__class__
    if len(keys) > 1 and any(key.__class__ is not kind for key in keys):
        raise CelError("list elements must have the same type")
    return [values[i] for i in sorted(range(len(keys)), key=keys.__getitem__)]


def range_(size: int) -> list[int]:
    if size < 0:
        raise CelError(f"lists.range: size must be non-negative, got {size}")
    within(size, LIST_LIMIT)
    return list(range(size))


def reverse(values: list[Any]) -> list[Any]:
    return list(values[::-1])


def distinct(values: list[Any]) -> list[Any]:
    if all(value.__class__ is str for value in values):
        return list(dict.fromkeys(values))
    within(len(values) ** 2, WORK_LIMIT)
    unique: list[Any] = []
    holds = Comparison().holds
    for value in values:
        if not any(holds(value, other) for other in unique):
            unique.append(value)
    return unique


_T: Final = param("T")
_LIST: Final = list_of(_T)
_SORTABLE: Final = dict(zip((INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES), SORTED, strict=True))


def _unguarded(
    function: str, overload_id: str, args: tuple[Type, ...], result: Type, impl: Callable[..., Any]
) -> Overload:
    return Overload(function, overload_id, args, result, True, impl, call_cost(function, overload_id), raw=impl)


def _sorts() -> Iterator[Overload]:
    for of, name in _SORTABLE.items():
        yield _unguarded("sort", f"list_{name}_sort", (list_of(of),), list_of(of), sort)
    for of, name in _SORTABLE.items():
        args = (_LIST, list_of(of))
        function = "@sortByAssociatedKeys"
        yield _unguarded(function, f"list_{name}_sortByAssociatedKeys", args, _LIST, sort_by_keys)


LIST_EXTENSION: Final[tuple[Overload, ...]] = (
    member("slice", "list_slice", (_LIST, INT, INT), _LIST, slice_),
    _unguarded("flatten", "list_flatten", (list_of(_LIST),), _LIST, flatten),
    _unguarded("flatten", "list_flatten_int", (list_of(DYN), INT), list_of(DYN), flatten),
    *_sorts(),
    free("lists.range", "lists_range", (INT,), list_of(INT), range_),
    member("reverse", "list_reverse", (_LIST,), _LIST, reverse),
    member("distinct", "list_distinct", (_LIST,), _LIST, distinct),
)


def contains(whole: list[Any], part: list[Any]) -> bool:
    within(len(whole) * len(part), WORK_LIMIT)
    comparison = Comparison()
    return all(members.contains(element, whole, comparison) for element in part)


def equivalent(a: list[Any], b: list[Any]) -> bool:
    return contains(a, b) and contains(b, a)


def intersects(a: list[Any], b: list[Any]) -> bool:
    within(len(a) * len(b), WORK_LIMIT)
    comparison = Comparison()
    return any(members.contains(element, b, comparison) for element in a)


SETS: Final[tuple[Overload, ...]] = (
    free("sets.contains", "list_sets_contains_list", (_LIST, _LIST), BOOL, contains),
    free("sets.equivalent", "list_sets_equivalent_list", (_LIST, _LIST), BOOL, equivalent),
    free("sets.intersects", "list_sets_intersects_list", (_LIST, _LIST), BOOL, intersects),
)


def insert_into(target: dict[Any, Any], key: Any, value: Any) -> None:
    """Add an entry to a map that is being built; a backend that owns the map may call this instead.

    Raises:
        CelError: the key is there already.
    """
    stored = map_key(key)
    if stored in target:
        raise CelError(f"insert failed: key {go_value(key)} already exists")
    target[stored] = value


def insert_all_into(target: dict[Any, Any], entries: dict[Any, Any]) -> None:
    """Add every entry of another map; raises as :func:`insert_into`."""
    for key, value in entries.items():
        insert_into(target, from_map_key(key), value)


def insert(target: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    result = dict(target)
    insert_into(result, key, value)
    return result


def insert_all(target: dict[Any, Any], entries: dict[Any, Any]) -> dict[Any, Any]:
    result = dict(target)
    insert_all_into(result, entries)
    return result


_K, _V = param("K"), param("V")
_MAP: Final = map_of(_K, _V)

TWO_VARIABLES: Final[tuple[Overload, ...]] = (
    free("cel.@mapInsert", "@mapInsert_map_key_value", (_MAP, _K, _V), _MAP, insert),
    free("cel.@mapInsert", "@mapInsert_map_map", (_MAP, _MAP), _MAP, insert_all),
)
