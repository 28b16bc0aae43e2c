"""What the closures are made of: the frame they run on and the steps they compile to."""

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
"""Slot 0: cost so far. 1: its limit. 2: the interrupt, or None. 3: elements copied. Then the variables."""
Run = Callable[[Frame], Any]

COST: Final = 0
LIMIT: Final = 1
INTERRUPT: Final = 2
COPIED: Final = 3
RESERVED: Final = 4

COPY_LIMIT: Final = 10_000_000
"""Elements that ``+`` may copy in one evaluation: on lists cel-go copies none, and on values of unknown type it
charges nothing for it."""

UNSET: Final = object()
"""A variable without a value: not bound, or an accumulator whose initial value nobody has asked for."""

_NO_CONSTANT: Final = object()


@dataclass(slots=True)
class Step:
    """A compiled expression.

    ``run`` gives a CEL value; or, when there is a ``node``, raw JSON already entered into that
    node (or null), and when it is ``optional`` an Opt of such. ``constant`` is the value of an
    expression that folding made one.
    """

    run: Run
    node: Node | None = None
    optional: bool = False
    constant: Any = _NO_CONSTANT

    @property
    def is_constant(self) -> bool:
        return self.constant is not _NO_CONSTANT

    def value(self) -> Run:
        """The same as a CEL value, whatever it was."""
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
