"""Many expressions over one object as one generated function.

Expressions of one kind read the same members and variables again and again. In one function each is read once, and a
call, a budget and a note are spent once for all. A :class:`Screen` tells which of many conditions do not hold: rules of
a policy, or ``x-kubernetes-validations``. A :class:`Formula` computes the value of one leaf under a condition.

The functions are optimistic, as those of single expressions are (:mod:`webhook.cel.codegen.generate`): after any
exception they give no answer, and the caller evaluates each expression by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from webhook.cel.codegen.code import Unsupported
from webhook.cel.codegen.conditions import Condition, ConditionsWriter
from webhook.cel.codegen.generate import defined, file_name, register
from webhook.cel.codegen.variables import Part
from webhook.cel.errors import CelError
from webhook.cel.limits import DEEP_RECURSION
from webhook.cel.values.members import ABSENT

if TYPE_CHECKING:
    from webhook.cel.values.nodes import Node

__all__ = ["ABSENT", "Condition", "Formula", "Part", "Screen", "Source", "Suspect", "formula"]

Suspect = tuple[int, bool, str | None]
"""A condition that fails, or may fail: its place among the conditions; whether it is certain to fail, at its only node;
and the value of its message expression, None if that was not computed.
"""

NONE: Final[Mapping[str, Part]] = MappingProxyType({})
FORMULA_LIMIT: Final = 250_000
"""What a formula may cost: all leaves of an object together cost less than the budget of an object."""


class Source(Protocol):
    """Computes the facts and variables that a function asks for."""

    def fact(self, name: str, /) -> Any: ...

    def variable(self, name: str, /) -> Any: ...


class Screen:
    """The generated function of the conditions that have one.

    ``run(bindings, source)`` gives the conditions that fail or may fail, in their order, and what the call cost at
    most. It gives None where only single evaluations can tell. ``others`` are the conditions that it does not cover:
    they may fail where the object has something at their path.
    """

    __slots__ = ("__weakref__", "_conditions", "_late", "_root", "_variables", "others", "run")

    def __init__(
        self,
        conditions: Sequence[Condition],
        variables: Mapping[str, Part],
        name: str,
        root: Node | None = None,
        late: Mapping[str, Part] = NONE,
    ) -> None:
        """Generate it.

        Args:
            conditions: in the order of evaluation; their environments have ``self`` for the node, and for a transition
                ``oldSelf``. The bindings have ``object``, and ``oldObject`` if there are transitions.
            variables: the variables that the conditions read as ``variables.name``, in the order of computation.
            name: what tracebacks and profilers call the function.
            root: the schema of the object; None if the expressions have it as ``object``.
            late: the variables that only messages read, computed where a condition fails.
        """
        self._conditions, self._variables, self._root, self._late = conditions, variables, root, late
        writer, others = self._written()
        self.others = frozenset(others)
        file = file_name(name)
        self.run: Callable[[Mapping[str, Any], Source | None], tuple[list[Suspect], int] | None]
        self.run = defined(writer.screen(), file, writer.constants)
        register(file, self)

    def text(self) -> str:
        """The source of the function, written again: kept, it would take more memory than the function."""
        return self._written()[0].screen()

    def _written(self) -> tuple[ConditionsWriter, list[int]]:
        with DEEP_RECURSION:
            writer = _writer([*_parts(self._conditions)], self._variables, self._root, self._late)
            others = []
            for index, condition in enumerate(self._conditions):
                if not writer.condition(index, condition):
                    writer.defer(index, condition)
                    others.append(index)
            return writer, others


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
        self.run: Callable[[Mapping[str, Any], Source | None], Any]
        self.run = defined(writer.formula(FORMULA_LIMIT), file, writer.constants)
        register(file, self)

    def text(self) -> str:
        """The source of the function, written again."""
        return self._written().formula(FORMULA_LIMIT)

    def _written(self) -> ConditionsWriter:
        with DEEP_RECURSION:
            parts = [*filter(None, (self._when, self._value))]
            writer = _writer(parts, self._variables)
            writer.assign(self._when, self._value)
            return writer


def formula(when: Part | None, value: Part, variables: Mapping[str, Part], name: str) -> Formula | None:
    """The function of a value under a condition; None if it has no generated form."""
    try:
        return Formula(when, value, variables, name)
    except (CelError, Unsupported, RecursionError):
        return None


def _writer(
    parts: Sequence[Part], variables: Mapping[str, Part], root: Node | None = None, late: Mapping[str, Part] = NONE
) -> ConditionsWriter:
    """A writer that can use these parts, and has written the variables."""
    if root is None and parts:
        root = parts[0].program.evaluate_exactly.origin.nodes["object"]
    writer = ConditionsWriter.of([*variables.values(), *late.values(), *parts], root)
    writer.late |= late
    for name, part in variables.items():
        writer.hoist(name, part)
    return writer


def _parts(conditions: Iterable[Condition]) -> Iterator[Part]:
    for condition in conditions:
        yield from filter(None, (condition.when, condition.test, condition.message))
