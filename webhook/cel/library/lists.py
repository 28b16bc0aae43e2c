"""The list functions of Kubernetes: ``isSorted``, ``sum``, ``min``, ``max``, ``indexOf``, ``includes`` …"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.library import operators
from webhook.cel.overload import Overload, member
from webhook.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, list_of, param
from webhook.cel.values.value import Comparison, Duration, UInt

_ZEROS: Final[dict[Type, Any]] = {INT: 0, UINT: UInt(0), DOUBLE: 0.0, DURATION: Duration(0)}
_NAMES: Final = {
    INT: "int",
    UINT: "uint",
    DOUBLE: "double",
    BOOL: "bool",
    DURATION: "duration",
    TIMESTAMP: "timestamp",
    STRING: "string",
    BYTES: "bytes",
}


def _compare(a: Any, b: Any) -> int:
    """The order of two elements; elements without an order (1 and 'a', NaN) count as equal."""
    try:
        return operators.compare(a, b)
    except CelError:
        return 0


def _ordered(value: Any) -> None:
    # Everything in the list must be of an ordered type, even where nothing is compared with it.
    if not operators.is_ordered(value):
        raise CelError("no such overload")


def is_sorted(values: list[Any]) -> bool:
    for position, value in enumerate(values):
        _ordered(value)
        if position and _compare(values[position - 1], value) > 0:
            return False
    return True


def _sum_from(zero: Any) -> Callable[[list[Any]], Any]:
    def total(values: list[Any]) -> Any:
        result = zero
        for value in values:
            result = operators.add(result, value)
        return result

    return total


def _extreme(name: str, worse: int) -> Callable[[list[Any]], Any]:
    def extreme(values: list[Any]) -> Any:
        if not values:
            raise CelError(f"{name} called on empty list")
        best = values[0]
        _ordered(best)
        for value in values[1:]:
            _ordered(value)
            if _compare(best, value) == worse:
                best = value
        return best

    return extreme


def index_of(values: list[Any], wanted: Any) -> int:
    holds = Comparison().holds
    return next((i for i, value in enumerate(values) if holds(value, wanted)), -1)


def last_index_of(values: list[Any], wanted: Any) -> int:
    holds = Comparison().holds
    return next((i for i in range(len(values) - 1, -1, -1) if holds(values[i], wanted)), -1)


def includes(target: Any, wanted: Any) -> bool:
    """Whether a list holds a value, or a single value is it (for ``dyn`` that may be either)."""
    holds = Comparison().holds
    if isinstance(target, list):
        return any(holds(value, wanted) for value in target)
    return holds(target, wanted)


def _each(function: str, form: str, impl: Callable[[list[Any]], Any], result: Type | None = None) -> Iterator[Overload]:
    for of, name in _NAMES.items():
        yield member(function, form.format(name), (list_of(of),), result or of, impl)


_A: Final = param("A")

LISTS: Final[tuple[Overload, ...]] = (
    *_each("isSorted", "list_{}_is_sorted_bool", is_sorted, BOOL),
    *(
        member("sum", f"list_{_NAMES[of]}_sum_{_NAMES[of]}", (list_of(of),), of, _sum_from(zero))
        for of, zero in _ZEROS.items()
    ),
    *_each("max", "list_{0}_max_{0}", _extreme("max", -1)),
    *_each("min", "list_{0}_min_{0}", _extreme("min", 1)),
    member("indexOf", "list_a_index_of_int", (list_of(_A), _A), INT, index_of),
    member("lastIndexOf", "list_a_last_index_of_int", (list_of(_A), _A), INT, last_index_of),
)

INCLUDES: Final[tuple[Overload, ...]] = (member("includes", "list_includes_dyn_dyn", (DYN, DYN), BOOL, includes),)
