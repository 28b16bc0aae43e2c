"""Many conditions over one object as one generated function: which of them do not hold?

Conditions of one policy read the same members and variables again and again. Here each is read once, and a call, a
budget and a note are spent once for all. The function is optimistic, as those of single expressions are
(:mod:`webhook.cel.codegen.generate`): after any exception it answers nothing, and the caller evaluates each condition
by itself. The caller also does so where a message is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from webhook.cel.codegen.conditions import Condition, ConditionsWriter, Part
from webhook.cel.codegen.generate import defined
from webhook.cel.codegen.listing import file_name, register
from webhook.cel.limits import DEEP_RECURSION

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Condition", "Part", "Screen", "Source", "Suspect"]

Suspect = tuple[int, bool, str | None]
"""The index of a condition; whether it is known to fail, at its only node (otherwise it may fail); and its message, if
that was computed.
"""


class Source(Protocol):
    """Computes the facts and variables that a function asks for."""

    def fact(self, name: str, /) -> Any: ...

    def variable(self, name: str, /) -> Any: ...


Run = Callable[[Mapping[str, Any], Source], tuple[list[Suspect], int] | None]


class Screen:
    """The generated function of the conditions that have one.

    ``run(bindings, source)`` gives the conditions that fail or may fail, in their order, and what the call cost at
    most. It gives None where only single evaluations can tell. ``others`` are the conditions that it does not cover:
    they may fail where the object has something at their path.
    """

    __slots__ = ("__weakref__", "_conditions", "_variables", "others", "run")

    def __init__(self, conditions: Sequence[Condition], variables: Mapping[str, Part], name: str) -> None:
        """Generate it.

        Args:
            conditions: in the order of evaluation; their environments have ``object``, ``self`` for the node, and for
                a transition ``oldSelf``. The bindings have ``object``, and ``oldObject`` if there are transitions.
            variables: the variables that the conditions read as ``variables.name``, in the order of computation.
            name: what tracebacks and profilers call the function.
        """
        self._conditions, self._variables = conditions, variables
        writer, others = _written(conditions, variables)
        self.others = frozenset(others)
        file = file_name(name)
        self.run: Run = defined(writer.text(), file, writer.constants)
        register(file, self)

    def text(self) -> str:
        """The text of the function, written again: kept, it would take more memory than the function."""
        return _written(self._conditions, self._variables)[0].text()


def _written(conditions: Sequence[Condition], variables: Mapping[str, Part]) -> tuple[ConditionsWriter, list[int]]:
    with DEEP_RECURSION:
        return _write(conditions, variables)


def _write(conditions: Sequence[Condition], variables: Mapping[str, Part]) -> tuple[ConditionsWriter, list[int]]:
    writer = ConditionsWriter.of(_parts(conditions, variables.values()))
    for name, part in variables.items():
        writer.hoist(name, part)
    others = []
    for index, condition in enumerate(conditions):
        if not writer.condition(index, condition):
            writer.defer(index, condition)
            others.append(index)
    return writer, others


def _parts(conditions: Iterable[Condition], variables: Iterable[Part]) -> Iterator[Part]:
    yield from variables
    for condition in conditions:
        if condition.when is not None:
            yield condition.when
        yield condition.test
        if condition.message is not None:
            yield condition.message
