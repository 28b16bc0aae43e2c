"""The quantities of Kubernetes' CEL library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from webhook.cel import types
from webhook.cel.errors import CelError
from webhook.cel.types import Type
from webhook.cel.values.value import Opaque
from webhook.golang import quantity
from webhook.golang.errors import GoError

__all__ = ["Quantity", "parse_quantity"]


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
