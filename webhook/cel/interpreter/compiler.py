"""The exact backend: a checked expression as nested closures that count what they cost.

Every closure takes a frame, a list of slots, and returns a CEL value or raises ``CelError``.
The first slots count the cost, the others hold the variables: those of the program first,
then those of comprehensions. A program runs on a fresh frame each time, so it is immutable
and may run in many threads.

Costs are counted where cel-go's observer counts them (``interpreter/runtimecost.go``): 1 for
reading a variable or a computed value's members, 1 for each member, a call by its overload, 10
for making a list, 30 for a map, 40 for an object; nothing for constants, ``&&``, ``||``, ``?:``
and what constant folding removes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from webhook.cel.cost import runtime as costs
from webhook.cel.errors import CelError
from webhook.cel.interpreter import attributes, calls
from webhook.cel.interpreter import comprehensions as folds
from webhook.cel.interpreter.frame import RESERVED, Frame, Run, Step, constant
from webhook.cel.syntax.ast import (
    Call,
    Comprehension,
    Const,
    Expr,
    Ident,
    ListExpr,
    MapEntry,
    MapExpr,
    Select,
    StructExpr,
)
from webhook.cel.types import Type
from webhook.cel.values.members import key_text
from webhook.cel.values.nodes import COMPOSITE, Node
from webhook.cel.values.schema_aware import Made
from webhook.cel.values.value import Opt, map_key

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function, Reference

__all__ = ["Compiler", "Local"]

Build = Callable[[Type, dict[str, Any]], Any]
"""Makes an object of a type from its fields: ``Object.spec{replicas: 1}``."""


class Local:
    """A variable of a comprehension: where it is and how it is read."""

    __slots__ = ("slot", "step")

    def __init__(self, slot: int, step: Step) -> None:
        self.slot = slot
        self.step = step


class Compiler:
    """Compiles one checked expression.

    ``functions`` are all functions of the environment by name, for calls whose overload is
    decided at run time; ``nodes`` the schemas of variables that hold raw JSON; ``make`` makes
    objects.
    """

    def __init__(
        self,
        checked: Checked,
        functions: Mapping[str, Function],
        nodes: Mapping[str, Node],
        make: Build | None = None,
    ) -> None:
        self.checked = checked
        self.functions = functions
        self.nodes = nodes
        self.make = make or Made
        self.globals: dict[str, int] = {}
        self.locals: dict[str, Local] = {}
        self._local_slots = 0

    def reference(self, expr: Expr) -> Reference | None:
        return self.checked.references.get(expr)

    def compile(self, expr: Expr, base: int = 1) -> Step:
        """Compile; ``base`` is the cost of reading a variable, 0 where cel-go does not observe it."""
        return self._COMPILERS[type(expr)](self, expr, base)

    def value(self, expr: Expr) -> Run:
        return self.compile(expr).value()

    def new_local(self) -> int:
        """A frame slot for a variable of a comprehension; slots are counted from the end (negative)."""
        self._local_slots += 1
        return -self._local_slots

    @property
    def local_slots(self) -> int:
        return self._local_slots

    def _const(self, expr: Const, _base: int) -> Step:
        return constant(expr.value)

    def _ident(self, expr: Ident, base: int) -> Step:
        local = self.locals.get(expr.name)
        if local is not None:
            return _read_local(local, base)
        reference = self.reference(expr)
        if reference is not None and reference.value is not None:
            return constant(reference.value)
        return self._global(expr, reference.name if reference is not None else expr.name, base)

    def _global(self, expr: Expr, name: str, base: int) -> Step:
        slot = self.globals.setdefault(name, RESERVED + len(self.globals))
        read = attributes.variable(name, slot, base)
        node = self.nodes.get(name)
        if node is None:
            return Step(read)
        is_optional = self.checked.types[expr].kind == "optional"

        def enter(frame: Frame) -> Any:
            value = read(frame)
            if value.__class__ is Opt:
                return Opt.of(node.value(value.value)) if value.present else value
            return node.value(value)

        return Step(enter, node if node.kind in COMPOSITE else None, is_optional)

    def _select(self, expr: Select, base: int) -> Step:
        reference = self.reference(expr)
        if reference is not None:
            return (
                constant(reference.value) if reference.value is not None else self._global(expr, reference.name, base)
            )
        return attributes.compile_select(self, expr, base)

    def _call(self, expr: Call, base: int) -> Step:
        return calls.compile_call(self, expr, base)

    def _comprehension(self, expr: Comprehension, _base: int) -> Step:
        return folds.compile_fold(self, expr)

    def _list(self, expr: ListExpr, _base: int) -> Step:
        steps = [self.compile(element) for element in expr.elements]
        if all(step.is_constant for step in steps) and not expr.optional:
            return constant([step.constant for step in steps])
        return Step(_list_run([step.value() for step in steps], expr.optional))

    def _map(self, expr: MapExpr, _base: int) -> Step:
        keys = [self.compile(entry.key) for entry in expr.entries if isinstance(entry.key, Expr)]
        values = [self.compile(entry.value) for entry in expr.entries]
        run = _map_run([key.value() for key in keys], [value.value() for value in values], expr.entries)
        if all(step.is_constant for step in (*keys, *values)) and not any(entry.optional for entry in expr.entries):
            return constant(run([0] * RESERVED))
        return Step(run)

    def _struct(self, expr: StructExpr, _base: int) -> Step:
        values = [self.value(entry.value) for entry in expr.entries]
        return Step(_struct_run(self.make, self.checked.types[expr], values, expr.entries))

    _COMPILERS: ClassVar[Mapping[type[Expr], Callable[[Compiler, Any, int], Step]]] = {
        Const: _const,
        Ident: _ident,
        Select: _select,
        Call: _call,
        ListExpr: _list,
        MapExpr: _map,
        StructExpr: _struct,
        Comprehension: _comprehension,
    }


def _read_local(local: Local, base: int) -> Step:
    step = local.step
    if not base:
        return step
    run = step.run

    def read(frame: Frame) -> Any:
        frame[0] += base
        return run(frame)

    return Step(read, step.node, step.optional)


def _list_run(elements: Sequence[Run], optional: frozenset[int]) -> Run:
    if not optional:

        def make(frame: Frame) -> list[Any]:
            frame[0] += costs.LIST_CREATE
            return [element(frame) for element in elements]

        return make

    def make_optional(frame: Frame) -> list[Any]:
        frame[0] += costs.LIST_CREATE
        made = []
        for position, element in enumerate(elements):
            value = element(frame)
            if position in optional:
                if value.__class__ is not Opt:
                    raise CelError(f"cannot initialize optional list element from non-optional value {key_text(value)}")
                if not value.present:
                    continue
                value = value.value
            made.append(value)
        return made

    return make_optional


def _map_run(keys: Sequence[Run], values: Sequence[Run], entries: Sequence[MapEntry]) -> Run:
    parts = [(key, value, entry.optional) for key, value, entry in zip(keys, values, entries, strict=True)]

    def make(frame: Frame) -> dict[Any, Any]:
        frame[0] += costs.MAP_CREATE
        made: dict[Any, Any] = {}
        for read_key, read_value, optional in parts:
            key = read_key(frame)
            _store(made, map_key(key), read_value(frame), key_text(key) if optional else None)
        return made

    return make


def _struct_run(make_object: Build, of: Type, values: Sequence[Run], entries: Sequence[MapEntry]) -> Run:
    parts = [(entry.key, value, entry.optional) for entry, value in zip(entries, values, strict=True)]

    def make(frame: Frame) -> Any:
        frame[0] += costs.STRUCT_CREATE
        made: dict[str, Any] = {}
        for key, read_value, optional in parts:
            assert isinstance(key, str)
            _store(made, key, read_value(frame), key if optional else None)
        return make_object(of, made)

    return make


def _store(made: dict[Any, Any], key: Any, value: Any, optional: str | None) -> None:
    """Put an entry; ``optional`` is the name of a ``?`` entry, whose value is an optional."""
    if optional is not None:
        if value.__class__ is not Opt:
            raise CelError(f"cannot initialize optional entry '{optional}' from non-optional value {key_text(value)}")
        if not value.present:
            made.pop(key, None)
            return
        value = value.value
    made[key] = value
