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
from typing import TYPE_CHECKING, Any

from webhook.cel.interpreter.frame import Run, Step
from webhook.cel.syntax.ast import Expr
from webhook.cel.types import Type
from webhook.cel.values.schema_aware import Made

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function, Reference
    from webhook.cel.values.nodes import Node

__all__ = ["Compiler", "Form", "Forms", "Local", "MakeObject"]

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
