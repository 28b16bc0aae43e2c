"""The standard library: operators, ``size``, ``in``, string tests, and the fields of times and durations.

Names, ids and order are those of cel-go's ``common/stdlib/standard.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from webhook.cel.cost.runtime import call_cost
from webhook.cel.errors import CelError
from webhook.cel.library import operators, regex
from webhook.cel.library.conversions import CONVERSIONS
from webhook.cel.overload import Overload, member
from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    param,
)
from webhook.cel.values import members, times
from webhook.cel.values.value import RECEIVERS, Timestamp, equal
from webhook.golang import time

_A, _B = param("A"), param("B")
_LIST, _MAP = list_of(_A), map_of(_A, _B)

TYPE_NAMES: Final[dict[str, Type]] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "google.protobuf.Duration": DURATION,
    "int": INT,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "null_type": NULL,
    "string": STRING,
    "google.protobuf.Timestamp": TIMESTAMP,
    "type": Type("type"),
    "uint": UINT,
}
"""By the name of a type in an expression, the type."""


def _operator(
    function: str, impl: Callable[..., Any], *signatures: tuple[str, tuple[Type, ...], Type], strict: bool = True
) -> Iterator[Overload]:
    """All overloads of an operator share one implementation, which looks at the values itself."""
    for overload_id, args, result in signatures:
        cost = call_cost(function, overload_id)
        yield Overload(function, overload_id, args, result, False, impl, cost, strict, impl)


def _same(name: str, *of: Type) -> Iterator[tuple[str, tuple[Type, ...], Type]]:
    for each in of:
        yield f"{name}_{_SUFFIX[each]}", (each, each), each


_SUFFIX: Final = {
    BOOL: "bool",
    BYTES: "bytes",
    DOUBLE: "double",
    DURATION: "duration",
    INT: "int64",
    STRING: "string",
    TIMESTAMP: "timestamp",
    UINT: "uint64",
}


def _relation(name: str) -> Iterator[tuple[str, tuple[Type, ...], Type]]:
    yield f"{name}_bool", (BOOL, BOOL), BOOL
    for left in (INT, UINT, DOUBLE):
        yield f"{name}_{_SUFFIX[left]}", (left, left), BOOL
        for right in (DOUBLE, INT, UINT):
            if right is not left:
                yield f"{name}_{_SUFFIX[left]}_{_SUFFIX[right]}", (left, right), BOOL
    for of in (STRING, BYTES, TIMESTAMP, DURATION):
        yield f"{name}_{_SUFFIX[of]}", (of, of), BOOL


def _undecided(*_values: Any) -> Any:
    # The backends own the logic of errors in && || ?: and in the condition of a loop.
    raise CelError("no such overload")


_LOGIC: Final = (
    *_operator("_?_:_", _undecided, ("conditional", (BOOL, _A, _A), _A), strict=False),
    *_operator("_&&_", _undecided, ("logical_and", (BOOL, BOOL), BOOL), strict=False),
    *_operator("_||_", _undecided, ("logical_or", (BOOL, BOOL), BOOL), strict=False),
    *_operator("!_", operators.not_, ("logical_not", (BOOL,), BOOL)),
    *_operator("@not_strictly_false", _undecided, ("not_strictly_false", (BOOL,), BOOL), strict=False),
    *_operator("_==_", equal, ("equals", (_A, _A), BOOL)),
    *_operator("_!=_", operators.not_equal, ("not_equals", (_A, _A), BOOL)),
)

_ARITHMETIC: Final = (
    *_operator(
        "_+_",
        operators.add,
        ("add_bytes", (BYTES, BYTES), BYTES),
        ("add_double", (DOUBLE, DOUBLE), DOUBLE),
        ("add_duration_duration", (DURATION, DURATION), DURATION),
        ("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP),
        ("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP),
        ("add_int64", (INT, INT), INT),
        ("add_list", (_LIST, _LIST), _LIST),
        ("add_string", (STRING, STRING), STRING),
        ("add_uint64", (UINT, UINT), UINT),
    ),
    *_operator("_/_", operators.divide, *_same("divide", DOUBLE, INT, UINT)),
    *_operator("_%_", operators.modulo, *_same("modulo", INT, UINT)),
    *_operator("_*_", operators.multiply, *_same("multiply", DOUBLE, INT, UINT)),
    *_operator("-_", operators.negate, ("negate_double", (DOUBLE,), DOUBLE), ("negate_int64", (INT,), INT)),
    *_operator(
        "_-_",
        operators.subtract,
        ("subtract_double", (DOUBLE, DOUBLE), DOUBLE),
        ("subtract_duration_duration", (DURATION, DURATION), DURATION),
        ("subtract_int64", (INT, INT), INT),
        ("subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP),
        ("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION),
        ("subtract_uint64", (UINT, UINT), UINT),
    ),
)

_RELATIONS: Final = (
    *_operator("_<_", operators.less, *_relation("less")),
    *_operator("_<=_", operators.less_equal, *_relation("less_equals")),
    *_operator("_>_", operators.greater, *_relation("greater")),
    *_operator("_>=_", operators.greater_equal, *_relation("greater_equals")),
)


def _size(of: Type, overload_id: str, member_id: str) -> Iterator[Overload]:
    for each, is_member in ((overload_id, False), (member_id, True)):
        yield Overload("size", each, (of,), INT, is_member, members.size, raw=members.size)


_CONTAINERS: Final = (
    *_operator("_[_]", members.index, ("index_list", (_LIST, INT), _A), ("index_map", (_MAP, _A), _B)),
    *_operator("@in", members.contains, ("in_list", (_A, _LIST), BOOL), ("in_map", (_A, _MAP), BOOL)),
    *_size(BYTES, "size_bytes", "bytes_size"),
    *_size(_LIST, "size_list", "list_size"),
    *_size(_MAP, "size_map", "map_size"),
    *_size(STRING, "size_string", "string_size"),
)


def _tests(text: Any, part: Any) -> None:
    if text.__class__ is not str or part.__class__ is not str:
        raise CelError("no such overload")


def contains(text: str, part: str) -> bool:
    _tests(text, part)
    return part in text


def ends_with(text: str, part: str) -> bool:
    _tests(text, part)
    return text.endswith(part)


def starts_with(text: str, part: str) -> bool:
    _tests(text, part)
    return text.startswith(part)


def matches(text: str, pattern: str) -> bool:
    if text.__class__ is not str and text.__class__ not in RECEIVERS:
        raise CelError("no such overload: matches")
    _tests(text, pattern)
    return regex.matches(text, pattern)


def _string_test(function: str, overload_id: str, impl: Callable[..., Any], *, is_member: bool = True) -> Overload:
    cost = call_cost(function, overload_id)
    return Overload(function, overload_id, (STRING, STRING), BOOL, is_member, impl, cost, raw=impl)


_STRINGS: Final = (
    _string_test("contains", "contains_string", contains),
    _string_test("endsWith", "ends_with_string", ends_with),
    _string_test("startsWith", "starts_with_string", starts_with),
    _string_test("matches", "matches", matches, is_member=False),
    _string_test("matches", "matches_string", matches),
)


def _time(
    function: str,
    name: str,
    of_utc: Callable[[Any], int],
    of_duration: Callable[..., int] | None = None,
    of_civil: Callable[[time.Civil], int] | None = None,
) -> Iterator[Overload]:
    """``of_civil`` is needed where the field of ``datetime``, which has fewer years, has another name in Civil."""
    in_zone = of_civil or of_utc

    def get(timestamp: Timestamp) -> int:
        try:
            return of_utc(times.utc(timestamp))
        except OverflowError:
            return in_zone(times.civil(timestamp, 0))

    def get_in_zone(timestamp: Timestamp, zone: str) -> int:
        return in_zone(times.civil(timestamp, times.zone_offset(timestamp, zone)))

    zoned = "timestamp_to_seconds_tz" if name == "seconds" else f"timestamp_to_{name}_with_tz"
    yield member(function, f"timestamp_to_{name}", (TIMESTAMP,), INT, get)
    yield member(function, zoned, (TIMESTAMP, STRING), INT, get_in_zone)
    if of_duration is not None:
        yield member(function, f"duration_to_{name}", (DURATION,), INT, of_duration)


_TIMES: Final = (
    *_time("getFullYear", "year", lambda at: at.year),
    *_time("getMonth", "month", lambda at: at.month - 1),
    *_time("getDayOfYear", "day_of_year", lambda at: at.timetuple().tm_yday - 1, of_civil=lambda at: at.year_day - 1),
    *_time("getDayOfMonth", "day_of_month", lambda at: at.day - 1),
    *_time("getDate", "day_of_month_1_based", lambda at: at.day),
    *_time("getDayOfWeek", "day_of_week", lambda at: at.isoweekday() % 7, of_civil=lambda at: at.weekday),
    *_time("getHours", "hours", lambda at: at.hour, times.duration_hours),
    *_time("getMinutes", "minutes", lambda at: at.minute, times.duration_minutes),
    *_time("getSeconds", "seconds", lambda at: at.second, times.duration_seconds),
    *_time(
        "getMilliseconds",
        "milliseconds",
        lambda at: at.microsecond // 1_000,
        times.duration_milliseconds,
        lambda at: at.nanosecond // 1_000_000,
    ),
)

STANDARD: Final[tuple[Overload, ...]] = (
    *_LOGIC,
    *_ARITHMETIC,
    *_RELATIONS,
    *_CONTAINERS,
    *CONVERSIONS,
    *_STRINGS,
    *_TIMES,
)
"""Every overload of the standard library, in cel-go's order."""
