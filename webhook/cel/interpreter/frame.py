"""The frame that closures run on, and the steps that expressions compile to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.errors import BudgetExceeded
from webhook.cel.values.schema_aware import schema_aware_optional, schema_aware_value

if TYPE_CHECKING:
    from webhook.cel.values.nodes import Node

__all__ = [
    "COPIED",
    "COPY_LIMIT",
    "COST",
    "INTERRUPT",
    "LIMIT",
    "RESERVED",
    "UNSET",
    "Frame",
    "Run",
    "Step",
    "constant",
    "over_limit",
]

Frame = list[Any]
"""Slot 0: cost so far. 1: its limit. 2: the interrupt, or None. 3: elements copied or compared. Then the variables."""
Run = Callable[[Frame], Any]

COST: Final = 0
LIMIT: Final = 1
INTERRUPT: Final = 2
COPIED: Final = 3
RESERVED: Final = 4

COPY_LIMIT: Final = 10_000_000
"""The number of elements that ``+`` may copy and ``==`` compare in one evaluation. ``==`` is charged for the outermost
list only. cel-go needs no such limit: its ``+`` of lists copies
no elements. It charges nothing for ``+`` on values of unknown type, so the cost limit does not bound them either."""

UNSET: Final = object()
"""Marks a variable that is not bound, or an accumulator whose initial value is not computed yet."""

_NO_CONSTANT: Final = object()


@dataclass(slots=True)
class Step:
    """A compiled expression.

    ``run`` returns a CEL value; or, if there is a ``node``, raw JSON that already passed
    ``node.enter`` (or null); or, if also ``optional``, an Opt of such JSON. ``constant`` is the
    value if constant folding computed it.
    """

    run: Run
    node: Node | None = None
    optional: bool = False
    constant: Any = _NO_CONSTANT

    @property
    def is_constant(self) -> bool:
        return self.constant is not _NO_CONSTANT

    def value(self) -> Run:
        """A closure that returns the result as a CEL value."""
        run, node = self.run, self.node
        if node is None:
            return run
        if self.optional:
            return lambda frame: schema_aware_optional(run(frame), node)
        return lambda frame: schema_aware_value(run(frame), node)


def constant(value: Any) -> Step:
    return Step(lambda _frame: value, constant=value)


def over_limit() -> BudgetExceeded:
    return BudgetExceeded("operation cancelled: actual cost limit exceeded")
