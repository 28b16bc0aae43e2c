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
"""The arguments of a call, the receiver first."""
CallEstimator = Callable[[str, Operands], CallEstimate | None]
"""Takes overload id and operands; returns None if the call costs 1 and the result's size is unknown."""


def reading(place: int, factor: float = STRING_FACTOR, *, keeps: bool = False) -> CallEstimator:
    """A function that reads one of its operands; ``keeps`` if the result has the same length."""

    def estimate(_id: str, operands: Operands) -> CallEstimate:
        size = operands[place].known_size
        return CallEstimate(size.scaled(factor), size if keeps else None)

    return estimate


def pattern_cost(text: Operand, pattern: Operand) -> Bounds:
    """The cost of searching a text for a pattern: linear in both, never 0."""
    return text.known_size.plus(_ONE).scaled(STRING_FACTOR).times(pattern.known_size.scaled(REGEX_FACTOR))


def _to_bytes(_id: str, operands: Operands) -> CallEstimate:
    size = operands[0].known_size
    return CallEstimate(size.scaled(STRING_FACTOR), Bounds(size.min, size.max * 4 % (MAX + 1)))


def _to_text(_id: str, operands: Operands) -> CallEstimate:
    size = operands[0].known_size
    return CallEstimate(size.scaled(STRING_FACTOR), Bounds(size.min // 4, size.max))


def _quote(_id: str, operands: Operands) -> CallEstimate:
    size = operands[0].known_size
    return CallEstimate(size.scaled(STRING_FACTOR), Bounds(size.min + 2, (size.max * 2 + 2) % (MAX + 1)))


def _contains(_id: str, operands: Operands) -> CallEstimate:
    whole, part = (operand.known_size.scaled(STRING_FACTOR) for operand in operands)
    return CallEstimate(whole.times(part))


def _concatenation(overload: str, operands: Operands) -> CallEstimate:
    size = operands[0].known_size.plus(operands[1].known_size)
    return CallEstimate(_ONE if overload == "add_list" else size.scaled(STRING_FACTOR), size)


def _comparison(_id: str, operands: Operands) -> CallEstimate:
    shorter = min(operands[0].known_size.max, operands[1].known_size.max)
    return CallEstimate(Bounds(1 if shorter > 0 else 0, shorter).scaled(STRING_FACTOR))


_COMPARISONS: Final = ("less", "greater", "less_equals", "greater_equals")

STANDARD: Final[Mapping[str, CallEstimator]] = {
    "string_format": reading(0),
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_text,
    "strings_quote": _quote,
    "starts_with_string": reading(1),
    "ends_with_string": reading(1),
    "in_list": lambda _, operands: CallEstimate(operands[1].known_size),
    **dict.fromkeys(("matches", "matches_string"), lambda _, operands: CallEstimate(pattern_cost(*operands))),
    "contains_string": _contains,
    **dict.fromkeys(("add_string", "add_bytes", "add_list"), _concatenation),
    **{f"{name}_{kind}": _comparison for name in _COMPARISONS for kind in ("string", "bytes")},
    "equals": _comparison,
    "not_equals": _comparison,
}
"""By overload id."""
