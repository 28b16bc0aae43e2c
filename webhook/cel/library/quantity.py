"""The quantity library of Kubernetes: ``quantity('1Gi')``, arithmetic and comparison."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Final

from webhook.cel import types
from webhook.cel.errors import CelError
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import BOOL, DOUBLE, INT, STRING, Type
from webhook.cel.values.value import Opaque
from webhook.golang import quantity
from webhook.golang.errors import GoError, readable


@dataclass(slots=True, eq=False)  # never changed: frozen, it would take twice as long to make
class Quantity(Opaque):
    """``computed`` marks the result of ``add`` or ``sub``: cel-go finds "no such overload" for one right of ``==``."""

    number: quantity.Quantity
    computed: bool = False

    cel_type: ClassVar[Type] = types.opaque("kubernetes.Quantity")

    def cel_equal(self, other: object) -> bool | None:
        if not isinstance(other, Quantity) or other.computed:
            return None
        return self.number.amount == other.number.amount

    def __str__(self) -> str:
        return str(self.number)


def parse_quantity(text: str) -> Quantity:
    """Read a quantity.

    Raises:
        CelError: one of Kubernetes' three texts: for the form, the number, or the suffix.
    """
    try:
        return Quantity(quantity.parse(text))
    except GoError as error:
        raise CelError(error.message) from None


def as_integer(a: Quantity) -> int:
    value = a.number.as_int()
    if value is None:
        raise CelError("cannot convert value to integer")
    return value


def _of_int(value: int) -> quantity.Quantity:
    return quantity.Quantity(Decimal(value), False, "DecimalExponent")


def _sum(a: Quantity, b: quantity.Quantity, *, minus: bool = False) -> Quantity:
    try:
        return Quantity(a.number.plus(b, minus=minus), computed=True)
    except GoError as error:
        raise CelError(error.message) from None


_Q: Final = Quantity.cel_type

QUANTITY: Final[tuple[Overload, ...]] = (
    free("quantity", "string_to_quantity", (STRING,), _Q, parse_quantity),
    free("isQuantity", "is_quantity_string", (STRING,), BOOL, readable(quantity.parse)),
    free("sign", "quantity_sign", (_Q,), INT, lambda a: a.number.sign()),
    member("isGreaterThan", "quantity_is_greater_than", (_Q, _Q), BOOL, lambda a, b: a.number.amount > b.number.amount),
    member("isLessThan", "quantity_is_less_than", (_Q, _Q), BOOL, lambda a, b: a.number.amount < b.number.amount),
    member("compareTo", "quantity_compare_to", (_Q, _Q), INT, lambda a, b: a.number.compare(b.number)),
    member("asApproximateFloat", "quantity_get_float", (_Q,), DOUBLE, lambda a: a.number.as_float()),
    member("asInteger", "quantity_get_int", (_Q,), INT, as_integer),
    member("isInteger", "quantity_is_integer", (_Q,), BOOL, lambda a: a.number.as_int() is not None),
    member("add", "quantity_add", (_Q, _Q), _Q, lambda a, b: _sum(a, b.number)),
    member("add", "quantity_add_int", (_Q, INT), _Q, lambda a, b: _sum(a, _of_int(b))),
    member("sub", "quantity_sub", (_Q, _Q), _Q, lambda a, b: _sum(a, b.number, minus=True)),
    member("sub", "quantity_sub_int", (_Q, INT), _Q, lambda a, b: _sum(a, _of_int(b), minus=True)),
)
