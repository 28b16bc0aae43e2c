"""The values of CEL: those of JSON, and the few that JSON does not have.

A value is ``None``, ``bool``, ``int`` (64 bits; operations check the range), ``float``,
``str``, ``bytes``, ``list`` or ``dict``; an unsigned integer is :class:`UInt`, time is
:class:`Timestamp` and :class:`Duration` in nanoseconds (as Go counts it), an optional is
:class:`Opt`, a type is a :class:`webhook.cel.types.Type`, and what a library adds is a
subclass of :class:`Opaque`. Values are never mutated, so a program may return parts of
what it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from webhook.cel import types
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.limits import WORK_LIMIT, Steps
from webhook.cel.types import Type

INT_MAX: Final = 2**63 - 1
INT_MIN: Final = -(2**63)
UINT_MAX: Final = 2**64 - 1


class UInt(int):
    """An unsigned 64-bit integer; equal to the ``int`` of the same value, as CEL has it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"UInt({int(self)})"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant.

    ``ns`` counts nanoseconds since the Unix epoch. ``offset`` is the zone it was written in,
    seconds east of UTC: it shows in ``string(t)`` and in nothing else.
    """

    ns: int
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds, signed, within 64 bits."""

    ns: int


@dataclass(frozen=True, slots=True, eq=False)
class Opt:
    """An optional value: ``Opt(True, value)`` or :data:`NONE`."""

    present: bool
    value: Any = None

    @classmethod
    def of(cls, value: Any) -> Opt:
        return cls(True, value)


NONE: Final = Opt(False)

RECEIVERS: Final = frozenset({str, Timestamp, Duration})
"""The types whose values have methods in cel-go, which words some errors by it."""


class Opaque:
    """The base of the values of libraries: a type, equality within the type, and no operators."""

    __slots__ = ()
    cel_type: ClassVar[Type]

    def cel_equal(self, other: Any) -> bool | None:
        """Whether they are equal; None where ``==`` is "no such overload"."""
        return self == other if other.__class__ is self.__class__ else None


class _BoolKey:
    """A bool as the key of a map; Python takes a plain one for 0 or 1."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "true" if self.value else "false"


TRUE_KEY: Final = _BoolKey(True)
FALSE_KEY: Final = _BoolKey(False)


def map_key(value: Any) -> Any:
    """The dict key that stands for a CEL value; a value that cannot be a key gives one that no dict has."""
    if value.__class__ is str:
        return value
    if value is True:
        return TRUE_KEY
    if value is False:
        return FALSE_KEY
    if value.__class__ in (list, dict) or isinstance(value, (list, dict)):
        return object()
    if value.__class__ is float and value != value:  # noqa: PLR0124 (NaN, which must not be found by identity)
        return object()
    return value


def from_map_key(key: Any) -> Any:
    """The CEL value that a dict key stands for: the inverse of :func:`map_key`."""
    return key.value if key.__class__ is _BoolKey else key


_TYPES: Final[dict[type, Type]] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    list: types.list_of(types.DYN),
    dict: types.map_of(types.DYN, types.DYN),
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    Opt: types.optional_of(types.DYN),
    Type: types.type_of(types.DYN),
}


def type_of_value(value: Any) -> Type:
    """The type of a value at run time, without the type arguments that only the checker knows."""
    found = _TYPES.get(value.__class__)
    if found is not None:
        return found
    if isinstance(value, Opaque):
        return value.cel_type
    for base in (list, dict, str, int):
        if isinstance(value, base):
            return _TYPES[base]
    raise TypeError(f"{value.__class__.__name__} is not a CEL value")


def type_name(of: Type) -> str:
    """The name of a type at run time, which is all that ``type(x) == list`` compares."""
    match of.kind:
        case "object" | "opaque" | "param":
            return of.name
        case "null":
            return "null_type"
        case "optional":
            return "optional_type"
        case "timestamp" | "duration":
            return f"google.protobuf.{of.kind.capitalize()}"
        case "any":
            return "google.protobuf.Any"
    return of.kind


def equal(a: Any, b: Any) -> bool:
    """CEL's ``==``: numbers by value across types, lists and maps deeply, everything else within its type.

    A value with a ``cel_equal`` on the left decides by itself, at any depth: a value of a library, or one of
    :mod:`webhook.cel.values.schema_aware`.

    Raises:
        CelError: "no such overload" where such a value is compared with another type.
        BudgetExceeded: the values have too many parts.
    """
    ca, cb = a.__class__, b.__class__
    if ca is str or ca is bool or ca is bytes:
        return ca is cb and bool(a == b)
    if a is None or b is None:
        return a is b
    if ca is int or ca is float or ca is UInt:
        return (cb is int or cb is float or cb is UInt) and _equal_numbers(a, b)
    return Comparison().equal(a, b)


def _equal_numbers(a: float, b: float) -> bool:
    # Go converts the integer to a double to compare it with one, and so loses bits above 2**53; Python does not.
    if a.__class__ is float or b.__class__ is float:
        return float(a) == float(b)
    return a == b


class Comparison:
    """Compares values that may share their parts: two lists or maps are compared once, however often they meet.

    A list of a list of a list, each with the next one twice, has as many paths as there are powers of two. An identical
    list need not be equal: it may hold NaN. ``steps`` counts the members that were compared.
    """

    __slots__ = ("_known", "steps")

    def __init__(self, limit: int = WORK_LIMIT) -> None:
        self.steps = Steps(limit)
        self._known: dict[tuple[int, int], bool] = {}

    def holds(self, a: Any, b: Any) -> bool:
        """Whether two values are equal, where values that cannot be compared are not."""
        try:
            return self.equal(a, b)
        except BudgetExceeded:
            raise
        except CelError:
            return False

    def equal(self, a: Any, b: Any) -> bool:
        """As the function :func:`equal`."""
        ca = a.__class__
        if ca is list:
            return isinstance(b, list) and len(a) == len(b) and self._met(a, b, self._lists)
        if ca is dict:
            return isinstance(b, dict) and len(a) == len(b) and self._met(a, b, self._maps)
        if ca is Opt:
            return b.__class__ is Opt and (
                self._held(a.value, b.value) if a.present and b.present else a.present == b.present
            )
        if b is None:
            return a is None
        compare = getattr(a, "cel_equal", None)
        if compare is not None:
            outcome = compare(b)
            if outcome is None:
                raise CelError("no such overload")
            return bool(outcome)
        if isinstance(a, dict):
            return isinstance(b, dict) and len(a) == len(b) and self._met(a, b, self._maps)
        if ca is Type:
            return b.__class__ is Type and type_name(a) == type_name(b)
        if ca in _PLAIN:
            return equal(a, b)
        return ca is b.__class__ and bool(a == b)

    def _held(self, a: Any, b: Any) -> bool:
        """Of the values of optionals, also null is asked about: a value of a library cannot be compared with it."""
        if b is None and getattr(a, "cel_equal", bool)(b) is None:
            raise CelError("no such overload")
        return self.equal(a, b)

    def _met(self, a: Any, b: Any, compare: Callable[[Any, Any], bool]) -> bool:
        pair = id(a), id(b)
        found = self._known.get(pair)
        if found is None:
            self.steps.take(len(a) + 1)
            found = self._known[pair] = compare(a, b)
        return found

    def _lists(self, a: list[Any], b: list[Any]) -> bool:
        return not any(map(self._differ, a, b))

    def _maps(self, a: dict[Any, Any], b: dict[Any, Any]) -> bool:
        return not any(key not in b or self._differ(value, b[key]) for key, value in a.items())

    def _differ(self, a: Any, b: Any) -> bool:
        """Whether members of lists or maps are unequal; cel-go takes an error there for "not unequal"."""
        try:
            return not (equal(a, b) if a.__class__ in _PLAIN else self.equal(a, b))
        except BudgetExceeded:
            raise
        except CelError:
            return False


_PLAIN: Final = frozenset({str, bool, bytes, int, float, UInt, type(None)})
"""The classes of values that :func:`equal` compares by itself."""
