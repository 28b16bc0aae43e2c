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


def is_integer(a: Quantity) -> bool:
    return a.number.as_int() is not None


def as_float(a: Quantity) -> float:
    return a.number.as_float()


def sign(a: Quantity) -> int:
    return a.number.sign()


def compare(a: Quantity, b: Quantity) -> int:
    return a.number.compare(b.number)


def is_greater_than(a: Quantity, b: Quantity) -> bool:
    return a.number.amount > b.number.amount


def is_less_than(a: Quantity, b: Quantity) -> bool:
    return a.number.amount < b.number.amount


def add(a: Quantity, b: Quantity) -> Quantity:
    return _sum(a, b.number)


def add_int(a: Quantity, b: int) -> Quantity:
    return _sum(a, _of_int(b))


def sub(a: Quantity, b: Quantity) -> Quantity:
    return _sum(a, b.number, minus=True)


def sub_int(a: Quantity, b: int) -> Quantity:
    return _sum(a, _of_int(b), minus=True)


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
    free("sign", "quantity_sign", (_Q,), INT, sign),
    member("isGreaterThan", "quantity_is_greater_than", (_Q, _Q), BOOL, is_greater_than),
    member("isLessThan", "quantity_is_less_than", (_Q, _Q), BOOL, is_less_than),
    member("compareTo", "quantity_compare_to", (_Q, _Q), INT, compare),
    member("asApproximateFloat", "quantity_get_float", (_Q,), DOUBLE, as_float),
    member("asInteger", "quantity_get_int", (_Q,), INT, as_integer),
    member("isInteger", "quantity_is_integer", (_Q,), BOOL, is_integer),
    member("add", "quantity_add", (_Q, _Q), _Q, add),
    member("add", "quantity_add_int", (_Q, INT), _Q, add_int),
    member("sub", "quantity_sub", (_Q, _Q), _Q, sub),
    member("sub", "quantity_sub_int", (_Q, INT), _Q, sub_int),
)
