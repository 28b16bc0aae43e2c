"""The operators of CEL on native values.

Each operator is one function for all its overloads, as in cel-go: it looks at the values, so
it also serves a call whose types are known only at run time. Integers have 64 bits, beyond
which they raise "integer overflow"; numbers of different types compare by value. ``==`` is
:func:`webhook.cel.values.value.equal`; functions of containers are in :mod:`webhook.cel.values.members`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.limits import LIST_LIMIT, STRING_LIMIT, within
from webhook.cel.values import times
from webhook.cel.values.value import INT_MAX, INT_MIN, RECEIVERS, UINT_MAX, Duration, Timestamp, UInt, equal
from webhook.golang import time

_ORDERED: Final = frozenset({int, str, bool, bytes, UInt, Timestamp, Duration})
_NUMBERS: Final = frozenset({int, float, UInt})
_ADDED: Final = frozenset({int, float, UInt, str, bytes, list, Timestamp, Duration})
_SUBTRACTED: Final = frozenset({int, float, UInt, Timestamp, Duration})


def _no_overload(operator: str, left: Any, having: frozenset[type]) -> CelError:
    """cel-go's two messages: the operator is named where the left operand has no such operator at all.

    A value with methods (a string, a time) does not come so far: cel-go looks for a method of the name.
    """
    known = left.__class__ in having or left.__class__ in RECEIVERS or (list in having and isinstance(left, list))
    return CelError("no such overload" if known else f"no such overload: {operator}")


def _int(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelError("integer overflow")


def _uint(value: int) -> UInt:
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise CelError("unsigned integer overflow")


def _duration(ns: int) -> Duration:
    return Duration(_int(ns))


def add(a: Any, b: Any) -> Any:
    ca, cb = a.__class__, b.__class__
    if ca is cb:
        if ca is int:
            return _int(a + b)
        if ca is str or ca is bytes:
            return _joined(a, b)
        if ca is float:
            return a + b
        if ca is UInt:
            return _uint(int(a) + int(b))
        if ca is Duration:
            return _duration(a.ns + b.ns)
    if isinstance(a, list) and isinstance(b, list):
        return concatenate(a, b)
    if ca is Timestamp and cb is Duration:
        return times.shift(a, b.ns)
    if ca is Duration and cb is Timestamp:
        return times.shift(b, a.ns)
    raise _no_overload("_+_", a, _ADDED)


def _joined(a: Any, b: Any) -> Any:
    within(len(a) + len(b), STRING_LIMIT)
    return a + b


def concatenate(a: list[Any], b: list[Any]) -> list[Any]:
    """``a + b``; a set or a map list has its own ``__add__``.

    An empty list without a schema adds nothing: the result is the other one, with its schema.
    """
    within(len(a) + len(b), LIST_LIMIT)
    return a + b if a or a.__class__ is not list else b


def subtract(a: Any, b: Any) -> Any:
    ca, cb = a.__class__, b.__class__
    if ca is cb:
        if ca is int:
            return _int(a - b)
        if ca is float:
            return a - b
        if ca is UInt:
            return _uint(int(a) - int(b))
        if ca is Duration:
            return _duration(a.ns - b.ns)
        if ca is Timestamp:
            _int((a.ns // time.SECOND - b.ns // time.SECOND) * time.SECOND)  # cel-go scales the seconds first
            return _duration(a.ns - b.ns)
    if ca is Timestamp and cb is Duration:
        return times.shift(a, _int(-b.ns))
    raise _no_overload("_-_", a, _SUBTRACTED)


def multiply(a: Any, b: Any) -> Any:
    ca = a.__class__
    if ca is b.__class__:
        if ca is int:
            return _int(a * b)
        if ca is float:
            return a * b
        if ca is UInt:
            return _uint(int(a) * int(b))
    raise _no_overload("_*_", a, _NUMBERS)


def divide(a: Any, b: Any) -> Any:
    ca = a.__class__
    if ca is b.__class__:
        if ca is float:
            return _divide_floats(a, b)
        if ca is int or ca is UInt:
            if b == 0:
                raise CelError("division by zero")
            return _int(_truncated(a, b)) if ca is int else UInt(int(a) // int(b))
    raise _no_overload("_/_", a, _NUMBERS)


def _truncated(a: int, b: int) -> int:
    # Go rounds towards zero, Python down.
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) is (b < 0) else -quotient


def _divide_floats(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


def modulo(a: Any, b: Any) -> Any:
    ca = a.__class__
    if ca is b.__class__ and (ca is int or ca is UInt):
        if b == 0:
            raise CelError("modulus by zero")
        if ca is UInt:
            return UInt(int(a) % int(b))
        _int(_truncated(a, b))  # Go finds the smallest integer modulo -1 to overflow
        return a - b * _truncated(a, b)
    raise _no_overload("_%_", a, frozenset({int, UInt}))


def negate(a: Any) -> Any:
    ca = a.__class__
    if ca is int:
        return _int(-a)
    if ca is float:
        return -a
    if ca is Duration:
        return _duration(-a.ns)
    raise CelError("no such overload" if ca is bool or ca in RECEIVERS else "no such overload: -_")


def not_(a: Any) -> bool:
    if a.__class__ is bool:
        return not a
    raise CelError("no such overload")


def not_equal(a: Any, b: Any) -> bool:
    return not equal(a, b)


def _is_nan(value: Any) -> bool:
    return value.__class__ is float and math.isnan(value)


def _order(a: Any, b: Any, operator: str) -> int | None:
    """As :func:`compare`; None with NaN, which is neither less nor greater than anything (cel-go 0.30)."""
    if (_is_nan(a) or _is_nan(b)) and is_ordered(a):
        return None
    return compare(a, b, operator)


def compare(a: Any, b: Any, operator: str = "compare") -> int:
    """-1, 0 or 1: the order of two values of one type, or of two numbers.

    Raises:
        CelError: "NaN values cannot be ordered", or no such overload.
    """
    ca, cb = a.__class__, b.__class__
    if ca in _NUMBERS and cb in _NUMBERS:
        if ca is float or cb is float:
            # cel-go loses the lowest bits of a large integer here, and so do we.
            a, b = float(a), float(b)
            if math.isnan(a) or math.isnan(b):
                raise CelError("NaN values cannot be ordered")
        return int(a > b) - int(a < b)
    if ca is cb and ca in _ORDERED:
        return int(a > b) - int(a < b)
    raise _no_overload(operator, a, _ORDERED | _NUMBERS)


def is_ordered(value: Any) -> bool:
    """Whether values of this type have an order."""
    return value.__class__ in _ORDERED or value.__class__ is float


def _relation(operator: str, holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def relation(a: Any, b: Any) -> bool:
        if a.__class__ is b.__class__ and a.__class__ in _ORDERED:
            return holds(a, b)
        order = _order(a, b, operator)
        return order is not None and holds(order, 0)

    return relation


less, less_equal = _relation("_<_", lt), _relation("_<=_", le)
greater, greater_equal = _relation("_>_", gt), _relation("_>=_", ge)
