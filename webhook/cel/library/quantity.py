"""The quantity library of Kubernetes: ``quantity('1Gi')``, arithmetic and comparison."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import BOOL, DOUBLE, INT, STRING
from webhook.cel.values.quantity import Quantity, parse_quantity

__all__ = ["QUANTITY"]


def is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except CelError:
        return False
    return True


def as_integer(quantity: Quantity) -> int:
    value = quantity.as_int()
    if value is None:
        raise CelError("cannot convert value to integer")
    return value


def is_integer(quantity: Quantity) -> bool:
    return quantity.as_int() is not None


def is_greater_than(a: Quantity, b: Quantity) -> bool:
    return a.compare(b) > 0


def is_less_than(a: Quantity, b: Quantity) -> bool:
    return a.compare(b) < 0


def _of_int(value: int) -> Quantity:
    return Quantity(Decimal(value), False, "DecimalExponent")


def add(a: Quantity, b: Quantity) -> Quantity:
    return a.plus(b)


def add_int(a: Quantity, b: int) -> Quantity:
    return a.plus(_of_int(b))


def sub(a: Quantity, b: Quantity) -> Quantity:
    return a.plus(b, minus=True)


def sub_int(a: Quantity, b: int) -> Quantity:
    return a.plus(_of_int(b), minus=True)


_Q: Final = Quantity.cel_type

QUANTITY: Final[tuple[Overload, ...]] = (
    free("quantity", "string_to_quantity", (STRING,), _Q, parse_quantity),
    free("isQuantity", "is_quantity_string", (STRING,), BOOL, is_quantity),
    free("sign", "quantity_sign", (_Q,), INT, Quantity.sign),
    member("isGreaterThan", "quantity_is_greater_than", (_Q, _Q), BOOL, is_greater_than),
    member("isLessThan", "quantity_is_less_than", (_Q, _Q), BOOL, is_less_than),
    member("compareTo", "quantity_compare_to", (_Q, _Q), INT, Quantity.compare),
    member("asApproximateFloat", "quantity_get_float", (_Q,), DOUBLE, Quantity.as_float),
    member("asInteger", "quantity_get_int", (_Q,), INT, as_integer),
    member("isInteger", "quantity_is_integer", (_Q,), BOOL, is_integer),
    member("add", "quantity_add", (_Q, _Q), _Q, add),
    member("add", "quantity_add_int", (_Q, INT), _Q, add_int),
    member("sub", "quantity_sub", (_Q, _Q), _Q, sub),
    member("sub", "quantity_sub_int", (_Q, INT), _Q, sub_int),
)
