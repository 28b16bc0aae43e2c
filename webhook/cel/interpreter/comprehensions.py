"""Closures for comprehensions: the generic fold, and the macros it is too slow for.

A macro is compiled to what its fold would do, step by step and cost by cost: an error of a
step becomes the accumulator's value, so ``all`` and ``exists`` absorb it when a later element
decides, and ``map``, ``filter`` and ``exists_one`` go on to the end before they raise it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.interpreter.frame import COST, INTERRUPT, LIMIT, UNSET, Frame, Run, Step, over_limit
from webhook.cel.library.twovariables import insertion
from webhook.cel.syntax.ast import Call, Comprehension, Expr
from webhook.cel.values.nodes import COMPOSITE, Node
from webhook.cel.values.schema_aware import Invalid
from webhook.cel.values.value import from_map_key

if TYPE_CHECKING:
    from webhook.cel.interpreter.compiler import Compiler

__all__ = ["compile_fold"]

Add = Callable[[Frame, Any], None]


class _Variables:
    """Where the variables of one comprehension live, and how an element is put there."""

    def __init__(self, compiler: Compiler, expr: Comprehension, items: Node | None) -> None:
        from webhook.cel.interpreter.compiler import Local  # noqa: PLC0415 - the two modules need each other

        self.items = items
        self.is_pair = expr.iter_var2 is not None
        self.first = compiler.new_local()
        self.second = compiler.new_local() if self.is_pair else 0
        self.element = self.second if self.is_pair else self.first
        node = items if items is not None and items.kind in COMPOSITE else None
        self.scope = {expr.iter_var: Local(self.first, Step(_reader(self.first)))}
        if expr.iter_var2 is not None:
            self.scope[expr.iter_var2] = Local(self.second, Step(_reader(self.second)))
        holder = expr.iter_var2 if expr.iter_var2 is not None else expr.iter_var
        self.scope[holder] = Local(self.element, Step(_reader(self.element), node))

    def rounds(self, frame: Frame, values: Any) -> Iterator[None]:
        """Set the variables to each element in turn, watching the limit."""
        limit, interrupt = frame[LIMIT], frame[INTERRUPT]
        for key, element in self._pairs(values):
            if self.is_pair:
                frame[self.first] = key
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


_GO_CLASSES = {
    str: "types.String",
    int: "types.Int",
    bool: "types.Bool",
    float: "types.Double",
    type(None): "types.Null",
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


def compile_fold(compiler: Compiler, expr: Comprehension) -> Step:
    source = compiler.compile(expr.iter_range)
    node = None if source.optional else source.node
    if node is not None and (node.kind == "object" or (node.kind == "map" and expr.iter_var2 is None)):
        values, items = (source.run, None) if node.kind == "map" else (source.value(), None)
    else:
        values, items = (source.run, node.items) if node is not None else (source.value(), None)
    variables = _Variables(compiler, expr, items)
    build = _MACROS.get(expr.macro, _generic)
    outer = compiler.locals
    try:
        return Step(build(compiler, expr, values, variables))
    finally:
        compiler.locals = outer


def _body(compiler: Compiler, variables: _Variables, body: Expr) -> Run:
    outer = compiler.locals
    compiler.locals = {**outer, **variables.scope}
    run = compiler.value(body)
    compiler.locals = outer
    return run


def _generic(compiler: Compiler, expr: Comprehension, values: Run, variables: _Variables) -> Run:
    from webhook.cel.interpreter.compiler import Local  # noqa: PLC0415 - the two modules need each other

    accu = compiler.new_local()
    init = compiler.value(expr.accu_init)
    outer = compiler.locals
    compiler.locals = {**outer, expr.accu_var: Local(accu, Step(_accumulator(accu, init)))}
    result = compiler.value(expr.result)
    compiler.locals = {**compiler.locals, **variables.scope}
    condition, step = compiler.value(expr.loop_condition), compiler.value(expr.loop_step)
    compiler.locals = outer

    def run(frame: Frame) -> Any:
        source = values(frame)
        frame[accu] = UNSET
        for _ in variables.rounds(frame, source):
            if _outcome(condition, frame) is False:
                break
            frame[accu] = _outcome(step, frame)
        return result(frame)

    return run


def _outcome(run: Run, frame: Frame) -> Any:
    try:
        return run(frame)
    except BudgetExceeded:
        raise
    except CelError as error:
        return Invalid(error)


def _accumulator(slot: int, init: Run) -> Run:
    """Reads the accumulator; like cel-go, computes its initial value when somebody asks for it."""

    def read(frame: Frame) -> Any:
        value = frame[slot]
        if value is UNSET:
            value = frame[slot] = _outcome(init, frame)
        if value.__class__ is Invalid:
            raise value.error
        return value

    return read


def _quantifier(decisive: bool, per_element: int) -> Any:
    """``all`` and ``exists``: ``per_element`` is the cost of the loop condition, the accumulator costs 1 more."""

    def build(compiler: Compiler, expr: Comprehension, values: Run, variables: _Variables) -> Run:
        assert isinstance(expr.loop_step, Call)
        predicate = _body(compiler, variables, expr.loop_step.args[1])

        def run(frame: Frame) -> bool:
            failure = None
            decided = False
            for _ in variables.rounds(frame, values(frame)):
                frame[COST] += per_element
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

    return build


def _exists_one(compiler: Compiler, expr: Comprehension, values: Run, variables: _Variables) -> Run:
    assert isinstance(expr.loop_step, Call)
    predicate = _body(compiler, variables, expr.loop_step.args[0])

    def run(frame: Frame) -> bool:
        found = 0
        failure = None
        for _ in variables.rounds(frame, values(frame)):
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


def _collect(compiler: Compiler, expr: Comprehension, values: Run, variables: _Variables) -> Run:
    """``map``, ``filter``, ``transformList``: the step is ``accu + [item]``."""

    def adding(step: Call) -> Add:
        list_of_one = _body(compiler, variables, step.args[1])

        def add(frame: Frame, collected: list[Any]) -> None:
            frame[COST] += 1
            collected += list_of_one(frame)

        return add

    return _gather(compiler, expr, values, variables, list, adding)


def _build_map(compiler: Compiler, expr: Comprehension, values: Run, variables: _Variables) -> Run:
    """``transformMap``, ``transformMapEntry``: the step is an insertion.

    The map grows in place; inserting into a copy would take quadratic time.
    """

    def adding(step: Call) -> Add:
        return insertion([_body(compiler, variables, arg) for arg in step.args[1:]])

    return _gather(compiler, expr, values, variables, dict, adding)


def _gather(
    compiler: Compiler,
    expr: Comprehension,
    values: Run,
    variables: _Variables,
    empty: Callable[[], Any],
    adding: Callable[[Call], Add],
) -> Run:
    """A loop that adds to a list or a map what a step makes, perhaps under a condition; its last error decides."""
    step = expr.loop_step
    condition = None
    assert isinstance(step, Call)
    if step.function == "_?_:_":
        condition = _body(compiler, variables, step.args[0])
        step = step.args[1]
    assert isinstance(step, Call)
    add = adding(step)

    def run(frame: Frame) -> Any:
        gathered = empty()
        failure = None
        for _ in variables.rounds(frame, values(frame)):
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


_MACROS = {
    "all": _quantifier(decisive=False, per_element=2),
    "exists": _quantifier(decisive=True, per_element=3),
    "exists_one": _exists_one,
    "map": _collect,
    "filter": _collect,
    "transformList": _collect,
    "transformMap": _build_map,
    "transformMapEntry": _build_map,
}
