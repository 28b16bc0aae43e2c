"""Closures for comprehensions: the generic loop, and faster ones for the macros.

A macro compiles to what its generic loop does, step by step and cost by cost: the error of a
step becomes the accumulator's value, so ``all`` and ``exists`` absorb it when a later element
decides, and ``map``, ``filter`` and ``exists_one`` visit all elements before they raise it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.interpreter.aggregates import insertion
from webhook.cel.interpreter.compiler import (
    COST,
    INTERRUPT,
    LIMIT,
    UNSET,
    Compiler,
    Frame,
    Local,
    Run,
    Step,
    over_limit,
)
from webhook.cel.interpreter.logic import attempt
from webhook.cel.syntax.ast import Call, Comprehension, Expr
from webhook.cel.values.natives import Empty
from webhook.cel.values.nodes import COMPOSITE, Node
from webhook.cel.values.schema_aware import Invalid, reveal
from webhook.cel.values.value import from_map_key

Add = Callable[[Frame, Any], None]
"""Evaluates what a step adds, and adds it to the list or map that is being built."""


def compile_comprehension(compiler: Compiler, expr: Comprehension, _base: int) -> Step:
    outer = compiler.locals
    try:
        return Step(_MACROS.get(expr.macro, _generic)(_Comprehension(compiler, expr)))
    finally:
        compiler.locals = outer


class _Loop:
    """What runs: ``values`` evaluates the range, ``items`` is the schema of its elements if those are raw JSON.

    The variables are frame slots: ``element`` holds the element or map key, and in a loop over
    pairs ``key`` the index or map key.
    """

    __slots__ = ("element", "is_pair", "items", "key", "values")

    def __init__(self, values: Run, items: Node | None, *, key: int | None, element: int) -> None:
        self.values = values
        self.items = items
        self.is_pair = key is not None
        self.key = 0 if key is None else key
        self.element = element

    def rounds(self, frame: Frame) -> Iterator[None]:
        """Evaluate the range and set the variables to each element in turn, watching the limit."""
        limit, interrupt = frame[LIMIT], frame[INTERRUPT]
        for key, element in self._pairs(self.values(frame)):
            if self.is_pair:
                frame[self.key] = key
            frame[self.element] = element if self.items is None else _entered(element, self.items)
            yield
            if frame[COST] > limit:
                raise over_limit()
            if interrupt is not None and interrupt():
                raise BudgetExceeded("operation interrupted")

    def _pairs(self, values: Any) -> Iterator[tuple[Any, Any]]:
        if isinstance(values, list):
            return enumerate(values)
        if isinstance(values, dict):
            keys = ((from_map_key(key), value) for key, value in values.items())
            return keys if self.is_pair else ((None, key) for key, _ in keys)
        if self.is_pair:
            raise CelError(f"unsupported comprehension range type: {_go_class(values)}")
        raise CelError(f"got '{_go_class(values)}', expected iterable type")


class _Comprehension:
    """What is compiled: the loop, and the scope in which its parts are compiled."""

    def __init__(self, compiler: Compiler, expr: Comprehension) -> None:
        self.compiler = compiler
        self.expr = expr
        values, items = self._range()
        first = compiler.new_local()
        self.scope = {expr.iter_var: Local(first, Step(_reader(first)))}
        element = first if expr.iter_var2 is None else compiler.new_local()
        node = items if items is not None and items.kind in COMPOSITE else None
        self.scope[expr.iter_var2 or expr.iter_var] = Local(element, Step(_reader(element), node))
        self.loop = _Loop(values, items, key=None if expr.iter_var2 is None else first, element=element)

    def _range(self) -> tuple[Run, Node | None]:
        source = self.compiler.compile(self.expr.iter_range)
        node = None if source.optional else source.node
        if node is None or node.kind == "object":
            return source.value(), None
        if node.kind == "map" and self.expr.iter_var2 is None:
            return source.run, None  # the elements are keys
        return source.run, node.items

    @property
    def step(self) -> Call:
        """The loop's step; every macro has a call there."""
        step = self.expr.loop_step
        assert isinstance(step, Call)
        return step

    def guarded_step(self) -> tuple[Run | None, Call]:
        """The condition under which an element counts, if there is one, and the step without it."""
        step = self.step
        if step.function != "_?_:_":
            return None, step
        condition, then = step.args[0], step.args[1]
        assert isinstance(then, Call)
        return self.body(condition), then

    def body(self, expr: Expr) -> Run:
        """Compile an expression that sees the variables of the loop."""
        outer = self.compiler.locals
        self.compiler.locals = {**outer, **self.scope}
        run = self.compiler.value(expr)
        self.compiler.locals = outer
        return run


_GO_CLASSES: Final = {
    str: "types.String",
    int: "types.Int",
    bool: "types.Bool",
    float: "types.Double",
    type(None): "types.Null",
    Empty: "*types.protoObj",
}


def _go_class(value: Any) -> str:
    return _GO_CLASSES.get(value.__class__, f"types.{value.__class__.__name__}")


def _entered(raw: Any, node: Node) -> Any:
    try:
        return node.value(raw)
    except CelError as error:
        return Invalid(error)


def _reader(slot: int) -> Run:
    def read(frame: Frame) -> Any:
        value = frame[slot]
        if value.__class__ is Invalid:
            raise value.error
        return value

    return read


def _generic(comprehension: _Comprehension) -> Run:
    """The loop of a comprehension that is not one of the macros below."""
    compiler, expr, loop = comprehension.compiler, comprehension.expr, comprehension.loop
    accu = compiler.new_local()
    init = compiler.value(expr.accu_init)
    compiler.locals = {**compiler.locals, expr.accu_var: Local(accu, Step(_accumulator(accu, init)))}
    result = compiler.value(expr.result)
    condition, step = map(comprehension.body, (expr.loop_condition, expr.loop_step))

    def run(frame: Frame) -> Any:
        frame[accu] = UNSET
        for _ in loop.rounds(frame):
            if _attempt(condition, frame) is False:
                break
            frame[accu] = _attempt(step, frame)
        return result(frame)

    return run


def _attempt(run: Run, frame: Frame) -> Any:
    """The value, or the error as a value."""
    value, failure = attempt(run, frame)
    return value if failure is None else Invalid(failure)


def _accumulator(slot: int, init: Run) -> Run:
    """Reads the accumulator; like cel-go, computes its initial value at the first reading."""

    def read(frame: Frame) -> Any:
        if frame[slot] is UNSET:
            frame[slot] = _attempt(init, frame)
        return reveal(frame[slot])

    return read


def _quantifier(comprehension: _Comprehension, *, decisive: bool, condition_cost: int) -> Run:
    """``all`` and ``exists``: the ``decisive`` value ends the loop; the accumulator costs 1 per round."""
    loop, predicate = comprehension.loop, comprehension.body(comprehension.step.args[1])

    def run(frame: Frame) -> bool:
        failure = None
        decided = False
        for _ in loop.rounds(frame):
            frame[COST] += condition_cost
            if decided:
                break
            frame[COST] += 1
            try:
                value = predicate(frame)
            except BudgetExceeded:
                raise
            except CelError as error:
                failure = failure or error
                continue
            if value is decisive:
                decided = True
            elif value.__class__ is not bool:
                failure = failure or CelError("no such overload")
        frame[COST] += 1
        if decided:
            return decisive
        if failure is not None:
            raise failure
        return not decisive

    return run


def _exists_one(comprehension: _Comprehension) -> Run:
    loop, predicate = comprehension.loop, comprehension.body(comprehension.step.args[0])

    def run(frame: Frame) -> bool:
        found = 0
        failure = None
        for _ in loop.rounds(frame):
            try:
                value = _truth(predicate(frame))
            except BudgetExceeded:
                raise
            except CelError as error:
                failure = error
                continue
            if value:
                frame[COST] += 2 if failure is None else 1
                found += 1
        frame[COST] += 1
        if failure is not None:
            raise failure
        frame[COST] += 1
        return found == 1

    return run


def _truth(value: Any) -> bool:
    if value.__class__ is bool:
        return bool(value)
    raise CelError("no such overload")


def _collect(comprehension: _Comprehension) -> Run:
    """``map``, ``filter``, ``transformList``: the step is ``accu + [item]``."""
    condition, step = comprehension.guarded_step()
    list_of_one = comprehension.body(step.args[1])

    def add(frame: Frame, collected: list[Any]) -> None:
        frame[COST] += 1
        collected += list_of_one(frame)

    return _gather(comprehension.loop, condition=condition, empty=list, add=add)


def _build_map(comprehension: _Comprehension) -> Run:
    """``transformMap``, ``transformMapEntry``: the step is an insertion.

    The map grows in place; inserting into a copy would take quadratic time.
    """
    condition, step = comprehension.guarded_step()
    add = insertion([comprehension.body(arg) for arg in step.args[1:]])
    return _gather(comprehension.loop, condition=condition, empty=dict, add=add)


def _gather(loop: _Loop, *, condition: Run | None, empty: Callable[[], Any], add: Add) -> Run:
    """Build a list or a map from the elements that meet the condition; the last error is the result."""

    def run(frame: Frame) -> Any:
        gathered = empty()
        failure = None
        for _ in loop.rounds(frame):
            try:
                if condition is not None and not _truth(condition(frame)):
                    continue
                frame[COST] += 1  # the accumulator
                if failure is None:
                    add(frame, gathered)
            except BudgetExceeded:
                raise
            except CelError as error:
                failure = error
        frame[COST] += 1
        if failure is not None:
            raise failure
        return gathered

    return run


_MACROS: Final[Mapping[str, Callable[[_Comprehension], Run]]] = {
    "all": partial(_quantifier, decisive=False, condition_cost=2),
    "exists": partial(_quantifier, decisive=True, condition_cost=3),
    "exists_one": _exists_one,
    "map": _collect,
    "filter": _collect,
    "transformList": _collect,
    "transformMap": _build_map,
    "transformMapEntry": _build_map,
}
