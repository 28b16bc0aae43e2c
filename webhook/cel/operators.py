"""The operators of CEL on native values.

Each operator is one function for all its overloads, as in cel-go: it looks at the values, so
it also serves a call whose types are known only at run time. Integers have 64 bits and say so
("integer overflow"); numbers of different types compare by value; ``+`` on lists and ``in``
are here too. ``webhook.cel.values.equal`` is ``==``.
"""

from __future__ import annotations

import math
from typing import Any, Final

from webhook.cel import gofloat, times
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    UINT_MAX,
    Duration,
    Opt,
    Timestamp,
    UInt,
    equal,
    map_key,
    type_name,
    type_of_value,
)

__all__ = [
    "LIST_LIMIT",
    "RECEIVERS",
    "STRING_LIMIT",
    "add",
    "compare",
    "concatenate",
    "contains",
    "divide",
    "go_value",
    "greater",
    "greater_equal",
    "holds",
    "index",
    "is_ordered",
    "less",
    "less_equal",
    "list_index",
    "modulo",
    "multiply",
    "negate",
    "not_",
    "not_equal",
    "optional_index",
    "size",
    "subtract",
]

LIST_LIMIT: Final = 1_000_000
"""No list is longer: looking at each element once would spend the cost limit of an expression."""

STRING_LIMIT: Final = 10_000_000
"""No string is longer: reading it once, at a tenth a character, would spend the limit."""

RECEIVERS: Final = frozenset({str, Timestamp, Duration})
"""The types whose values have methods in cel-go."""

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
    if len(a) + len(b) > STRING_LIMIT:
        raise BudgetExceeded("operation cancelled: actual cost limit exceeded")
    return a + b


def concatenate(a: list[Any], b: list[Any]) -> list[Any]:
    """``a + b``; a list that knows better (a set, a map list) says so in its ``__add__``."""
    if len(a) + len(b) > LIST_LIMIT:
        raise BudgetExceeded("operation cancelled: actual cost limit exceeded")
    return a + b


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
            _int((a.ns // times.SECOND - b.ns // times.SECOND) * times.SECOND)  # cel-go scales the seconds first
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


def less(a: Any, b: Any) -> bool:
    if a.__class__ is b.__class__ and a.__class__ in _ORDERED:
        return bool(a < b)
    order = _order(a, b, "_<_")
    return order is not None and order < 0


def less_equal(a: Any, b: Any) -> bool:
    if a.__class__ is b.__class__ and a.__class__ in _ORDERED:
        return bool(a <= b)
    order = _order(a, b, "_<=_")
    return order is not None and order <= 0


def greater(a: Any, b: Any) -> bool:
    if a.__class__ is b.__class__ and a.__class__ in _ORDERED:
        return bool(a > b)
    order = _order(a, b, "_>_")
    return order is not None and order > 0


def greater_equal(a: Any, b: Any) -> bool:
    if a.__class__ is b.__class__ and a.__class__ in _ORDERED:
        return bool(a >= b)
    order = _order(a, b, "_>=_")
    return order is not None and order >= 0


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


def index(container: Any, key: Any) -> Any:
    """``container[key]``.

    Raises:
        CelError: "no such key: …" or "index out of bounds: …".
    """
    if container.__class__ is Opt:
        return optional_index(container, key)
    if isinstance(container, list):
        position = list_index(key)
        if 0 <= position < len(container):
            return container[position]
        raise CelError(f"index out of bounds: {go_value(key)}")
    if isinstance(container, dict):
        found = map_key(key)
        if found in container:
            return container[found]
    raise CelError(f"no such key: {go_value(key)}")


def optional_index(container: Any, key: Any) -> Opt:
    """``container[?key]`` and ``container.?key``: what is there, as an optional; an optional container is opened."""
    if container.__class__ is Opt:
        return optional_index(container.value, key) if container.present else NONE
    if isinstance(container, list):
        position = list_index(key)
        return Opt.of(container[position]) if 0 <= position < len(container) else NONE
    if isinstance(container, dict):
        found = map_key(key)
        return Opt.of(container[found]) if found in container else NONE
    return NONE


def list_index(key: Any) -> int:
    """The position that a value means: an integer, or a number of another type that is one."""
    if key.__class__ is int:
        return int(key)
    if key.__class__ is UInt and key <= INT_MAX:
        return int(key)
    if key.__class__ is float and key.is_integer() and INT_MIN < key < INT_MAX:
        return int(key)
    if key.__class__ in _NUMBERS:
        raise CelError(f"unsupported index value {go_value(key)} in list")
    raise CelError(f"unsupported index type '{type_name(type_of_value(key))}' in list")


def contains(element: Any, container: Any) -> bool:
    """``element in container``."""
    if isinstance(container, dict):
        return map_key(element) in container
    if isinstance(container, list):
        if element.__class__ is str:
            return element in container  # no value of another type equals a string
        return any(holds(element, item) for item in container)
    raise CelError("no such overload")


def holds(element: Any, item: Any) -> bool:
    """Whether two values are equal, where values that cannot be compared are not."""
    try:
        return equal(element, item)
    except CelError:
        return False


def size(value: Any) -> int:
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise CelError("no such overload" if value.__class__ in RECEIVERS else "no such overload: size")


def go_value(value: Any) -> str:
    """A value in an error message, as Go prints it with ``%v``."""
    if value.__class__ is bool:
        return "true" if value else "false"
    if value is None:
        return "0"  # protobuf's NULL_VALUE
    if value.__class__ is float:
        return gofloat.shortest(value)
    return str(int(value)) if value.__class__ is UInt else str(value)
