"""The state of one compilation: a checked expression becomes nested closures that count what they cost.

Every closure takes a frame, a list of slots, and returns a CEL value or raises ``CelError``.
The first slots count the cost, the others hold the variables: those of the program first,
then those of comprehensions. A program runs on a fresh frame each time, so it is immutable
and may run in many threads.

Costs are counted where cel-go's observer counts them (``interpreter/runtimecost.go``): 1 for
reading a variable or a computed value's members, 1 for each member, a call by its overload, 10
for making a list, 30 for a map, 40 for an object; nothing for constants, ``&&``, ``||``, ``?:``
and what constant folding removes.

The form of each kind of expression is compiled by a function of its own module, found in a table
(:data:`webhook.cel.interpreter.plan.FORMS`). Those modules import this one, never the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.errors import BudgetExceeded
from webhook.cel.syntax.ast import Expr
from webhook.cel.types import Type
from webhook.cel.values.schema_aware import Made, schema_aware_optional, schema_aware_value

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function, Reference
    from webhook.cel.values.nodes import Node

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


MakeObject = Callable[[Type, dict[str, Any]], Any]
"""Makes an object of a type from its fields: ``Object.spec{replicas: 1}``."""


class Local:
    """A variable of a comprehension: its slot, and the step that reads it."""

    __slots__ = ("slot", "step")

    def __init__(self, slot: int, step: Step) -> None:
        self.slot = slot
        self.step = step


class Compiler:
    """Compiles one checked expression.

    ``functions`` are all functions of the environment by name, for calls whose overload is
    decided at run time; ``nodes`` the schemas of variables that hold raw JSON; ``forms`` the
    functions that compile each kind of expression; ``make`` makes objects.
    """

    def __init__(
        self,
        checked: Checked,
        functions: Mapping[str, Function],
        nodes: Mapping[str, Node],
        forms: Forms,
        make: MakeObject | None = None,
    ) -> None:
        self.checked = checked
        self.functions = functions
        self.nodes = nodes
        self.make = make or Made
        self.globals: dict[str, int] = {}
        self.locals: dict[str, Local] = {}
        self.local_slots = 0
        self._forms = forms

    def reference(self, expr: Expr) -> Reference | None:
        return self.checked.references.get(expr)

    def compile(self, expr: Expr, base: int = 1) -> Step:
        """Compile; ``base`` is the cost of reading a variable, 0 where cel-go does not observe it."""
        return self._forms[type(expr)](self, expr, base)

    def value(self, expr: Expr) -> Run:
        return self.compile(expr).value()

    def new_local(self) -> int:
        """A frame slot for a variable of a comprehension; slots are counted from the end (negative)."""
        self.local_slots += 1
        return -self.local_slots


Form = Callable[[Compiler, Any, int], Step]
"""Compiles one kind of expression; takes the compiler, the expression and the base cost of a variable."""

Forms = Mapping[type[Expr], Form]
