"""The value of a leaf as one generated function: its condition, its value and the variables that both read.

It is made as the function of all conditions is (:mod:`webhook.cel.screen`), and as optimistic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.cel.codegen.code import Unsupported
from webhook.cel.codegen.conditions import ConditionsWriter, Part
from webhook.cel.codegen.generate import made
from webhook.cel.codegen.listing import file_name, register
from webhook.cel.codegen.variables import Around
from webhook.cel.errors import CelError
from webhook.cel.limits import DEEP_RECURSION
from webhook.cel.screen import Source
from webhook.cel.values.members import ABSENT

__all__ = ["ABSENT", "Formula", "formula"]

LIMIT: Final = 250_000
"""What a call may cost: all leaves of an object together cost less than the budget of an object."""

Run = Callable[[Mapping[str, Any], Source | None], Any]

_FUNCTION: Final = """\
# V: the bindings. S: computes facts and variables. b: what the call may still cost. r: the value, A: it does not apply.
# i: no interrupt. E: raised where only the interpreter is exact. ...: a value not computed, or no answer.
def make({parameters}):
 def run(V, S):
  try:
   r = A
{body}
  except Exception: return ...
  return r
 return run
"""


class Formula:
    """``run(bindings, source)`` gives the value, ABSENT where the condition does not hold, or ``...``, where only
    single evaluations can tell. ``is_plain``: it reads nothing but ``object``, and no facts.
    """

    __slots__ = ("__weakref__", "_value", "_variables", "_when", "is_plain", "run")

    def __init__(self, when: Part | None, value: Part, variables: Mapping[str, Part], name: str) -> None:
        self._when, self._value, self._variables = when, value, variables
        writer = self._written()
        file = file_name(name)
        self.is_plain = writer.is_plain
        self.run: Run = made(writer.text(_FUNCTION, LIMIT), file)(*writer.constants)
        register(file, self)

    def text(self) -> str:
        """The source of the function, written again."""
        return self._written().text(_FUNCTION, LIMIT)

    def inlined(self, around: Around) -> tuple[list[str], int]:
        """The lines that set ``r`` to the value, or leave it as it is where the condition does not hold, and the number
        of the next local. An exception means that only single evaluations can tell.
        """
        writer = self._written(around)
        return writer.body(LIMIT), writer.count

    def _written(self, around: Around | None = None) -> ConditionsWriter:
        with DEEP_RECURSION:
            parts = [*self._variables.values(), *filter(None, (self._when, self._value))]
            writer = ConditionsWriter.of(parts, around)
            for name, part in self._variables.items():
                writer.hoist(name, part)
            writer.assign("r", self._when, self._value)
            return writer


def formula(when: Part | None, value: Part, variables: Mapping[str, Part], name: str) -> Formula | None:
    """The function of a value under a condition; None if it has no generated form."""
    try:
        return Formula(when, value, variables, name)
    except (CelError, Unsupported, RecursionError):
        return None
