"""The checks of scalar values for :mod:`webhook.schema.fast.check`; None means that the walkers must check."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import Any

from webhook.golang.errors import GoError
from webhook.golang.regexp import matcher
from webhook.golang.strconv import INT64
from webhook.schema.formats import FORMATS
from webhook.schema.node import SchemaNode

Check = Callable[[Any], bool]

# Names, reasons and times recur, and a cache look-up takes a tenth of the time of a match.
_CACHE_SIZE = 1024  # values per pattern or format
_MAX_CACHED = 256  # characters; with the above, the caches take a few MiB at most

_INT32 = range(-(2**31), 2**31)


def check_string(node: SchemaNode) -> Check | None:
    tests = _string_tests(node)
    if tests is None:
        return None
    if node.enum:
        allowed = frozenset(value for value in node.enum if isinstance(value, str))
        if not tests:
            return allowed.__contains__  # raises TypeError for a list or dict, which compile_clean catches
        tests.append(allowed.__contains__)
    if not tests:
        return lambda value: type(value) is str
    if len(tests) == 1:
        test = tests[0]
        return lambda value: type(value) is str and test(value)
    first, second, *more = tests
    if not more:
        return lambda value: type(value) is str and first(value) and second(value)
    return lambda value: type(value) is str and all(test(value) for test in tests)


def _string_tests(node: SchemaNode) -> list[Check] | None:
    tests: list[Check] = []
    if node.min_length is not None or node.max_length is not None:
        low = node.min_length or 0
        if node.max_length is None:
            tests.append(lambda value: len(value) >= low)
        else:
            high = node.max_length
            tests.append(lambda value: low <= len(value) <= high)
    if node.pattern:
        try:
            tests.append(_cached(matcher(node.pattern)))
        except GoError:
            return None
    if node.format:
        accepts = FORMATS.get(node.format.replace("-", ""))
        if accepts is not None:
            tests.append(_cached(accepts))
    return tests


def _cached(test: Callable[[str], Any]) -> Check:
    cached = lru_cache(_CACHE_SIZE)(test)
    return lambda value: bool(cached(value) if len(value) <= _MAX_CACHED else test(value))


def check_integer(node: SchemaNode) -> Check | None:
    low, high = _bounds(node)
    bounds = _INT32 if node.format == "int32" else INT64
    factor = node.multiple_of
    if not low.is_integer() or not high.is_integer() or factor is not None:
        return None
    if any(not isinstance(value, int) or isinstance(value, bool) for value in node.enum):
        return None
    least = max(bounds.start, int(low) + node.exclusive_minimum if node.minimum is not None else bounds.start)
    most = min(bounds.stop - 1, int(high) - node.exclusive_maximum if node.maximum is not None else bounds.stop - 1)
    if node.enum:
        allowed = frozenset(node.enum)
        return lambda value: type(value) is int and least <= value <= most and value in allowed
    if (least, most) == (INT64.start, INT64.stop - 1):
        return lambda value: type(value) is int and value.bit_length() < 64
    return lambda value: type(value) is int and least <= value <= most


def _bounds(node: SchemaNode) -> tuple[float, float]:
    return (0.0 if node.minimum is None else node.minimum, 0.0 if node.maximum is None else node.maximum)


def check_number(node: SchemaNode) -> Check | None:
    if node.multiple_of is not None or node.enum or node.format == "float":
        return None
    if not all(bound.is_integer() for bound in _bounds(node)):
        return None  # the API server compares integers with the bound's whole part
    low, high = node.minimum, node.maximum
    over, under = node.exclusive_minimum, node.exclusive_maximum

    def check(value: Any) -> bool:
        if type(value) is float:
            if not isfinite(value):
                return False
        elif type(value) is not int or value not in INT64:
            return False
        if low is not None and not (value > low if over else value >= low):
            return False
        return high is None or (value < high if under else value <= high)

    return check


def check_int_or_string(node: SchemaNode) -> Check | None:
    handled = {"x-kubernetes-int-or-string", "anyOf", "description", "pattern", "default", "x-kubernetes-validations"}
    if not node.raw.keys() <= handled:
        return None
    tests = _string_tests(node)
    if tests is None:
        return None
    if not tests:
        return lambda value: type(value) is str or (type(value) is int and value.bit_length() < 64)
    test = tests[0]
    return lambda value: test(value) if type(value) is str else type(value) is int and value.bit_length() < 64
