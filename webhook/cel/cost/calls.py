"""Estimates for calls to the standard library: the cost, and the size of the result.

Both follow from the sizes of the arguments, by overload, as in cel-go's ``checker/cost.go``. The
cost of evaluating the arguments is not included. Operators that do not evaluate all arguments
(``&&``, ``?:``) are in :mod:`webhook.cel.cost.estimate`, libraries in :mod:`webhook.cel.cost.libraries`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.cel.cost.runtime import REGEX_FACTOR, STRING_FACTOR
from webhook.cel.cost.sizes import MAX, UNKNOWN, Bounds, fixed

if TYPE_CHECKING:
    from webhook.cel.syntax.ast import Expr
    from webhook.cel.types import Type

_ONE: Final = fixed(1)


class CallEstimate(NamedTuple):
    cost: Bounds
    result: Bounds | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument or the receiver of a call.

    ``of`` is its type, ``size`` the size of its value if known. ``items`` is the size of an
    element, if it is a list whose elements have a known type.
    """

    expr: Expr
    of: Type
    size: Bounds | None
    items: Bounds | None

    @property
    def known_size(self) -> Bounds:
        return UNKNOWN if self.size is None else self.size


Operands = Sequence[Operand]
CallEstimator = Callable[[str, Operand | None, Operands], CallEstimate | None]
"""Takes overload id, receiver and arguments; returns None if the call costs 1 and the result's size is unknown."""


def read_argument(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    return CallEstimate(args[0].known_size.scaled(STRING_FACTOR)) if args else None


def pattern_cost(text: Bounds, pattern: Bounds) -> Bounds:
    """The cost of searching a text for a pattern: linear in both, never 0."""
    return text.plus(_ONE).scaled(STRING_FACTOR).times(pattern.scaled(REGEX_FACTOR))


def _to_bytes(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    size = args[0].known_size
    return CallEstimate(size.scaled(STRING_FACTOR), Bounds(size.min, size.max * 4 % (MAX + 1)))


def _to_text(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    size = args[0].known_size
    return CallEstimate(size.scaled(STRING_FACTOR), Bounds(size.min // 4, size.max))


def _format(_id: str, target: Operand | None, _args: Operands) -> CallEstimate | None:
    return None if target is None else CallEstimate(target.known_size.scaled(STRING_FACTOR))


def _quote(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    size = args[0].known_size
    return CallEstimate(size.scaled(STRING_FACTOR), Bounds(size.min + 2, (size.max * 2 + 2) % (MAX + 1)))


def _in_list(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    return CallEstimate(args[1].known_size)


def _matches(_id: str, target: Operand | None, args: Operands) -> CallEstimate | None:
    text, pattern = (target, *args) if target is not None else args
    return CallEstimate(pattern_cost(text.known_size, pattern.known_size))


def _contains(_id: str, target: Operand | None, args: Operands) -> CallEstimate | None:
    if target is None:
        return None
    return CallEstimate(target.known_size.scaled(STRING_FACTOR).times(args[0].known_size.scaled(STRING_FACTOR)))


def _concatenation(overload: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    size = args[0].known_size.plus(args[1].known_size)
    return CallEstimate(_ONE if overload == "add_list" else size.scaled(STRING_FACTOR), size)


def _comparison(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    shorter = min(args[0].known_size.max, args[1].known_size.max)
    return CallEstimate(Bounds(1 if shorter > 0 else 0, shorter).scaled(STRING_FACTOR))


_COMPARISONS: Final = ("less", "greater", "less_equals", "greater_equals")

STANDARD: Final[Mapping[str, CallEstimator]] = {
    "string_format": _format,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_text,
    "strings_quote": _quote,
    "starts_with_string": read_argument,
    "ends_with_string": read_argument,
    "in_list": _in_list,
    "matches": _matches,
    "matches_string": _matches,
    "contains_string": _contains,
    **dict.fromkeys(("add_string", "add_bytes", "add_list"), _concatenation),
    **{f"{name}_{kind}": _comparison for name in _COMPARISONS for kind in ("string", "bytes")},
    "equals": _comparison,
    "not_equals": _comparison,
}
"""By overload id."""
