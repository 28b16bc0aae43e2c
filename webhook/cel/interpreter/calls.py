"""Closures for calls: operators, equality, logic, functions with one or several overloads.

Three tables name the calls that need special closures: operators that compile their arguments themselves,
overloads that evaluate an argument lazily, and functions that are called like any but do more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.cost.runtime import size_of
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.interpreter import attributes, logic
from webhook.cel.interpreter.compiler import COPIED, COPY_LIMIT, Compiler, Form, Frame, Run, Step, constant, over_limit
from webhook.cel.library.regex import compiled
from webhook.cel.overload import Cost
from webhook.cel.syntax.ast import Call, Expr
from webhook.cel.values import schema_aware
from webhook.cel.values.natives import Empty
from webhook.cel.values.schema_aware import Struct
from webhook.cel.values.value import Comparison, Opt, equal

if TYPE_CHECKING:
    from webhook.cel.typing.declarations import Reference

_NO_OVERLOAD: Final = "no such overload"
_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
"""The functions that cel-go's planner evaluates when their argument is a constant."""
_PRIMITIVES: Final = frozenset({bool, int, float, str}) | {type(None)}


@dataclass(slots=True)
class _Operation:
    """A call whose implementation is known and whose arguments are compiled."""

    function: str
    steps: list[Step]
    impl: Callable[..., Any]
    cost: Cost | None

    def runs(self) -> list[Run]:
        return [step.value() for step in self.steps]


def compile_call(compiler: Compiler, expr: Call, base: int) -> Step:
    operator = _OPERATORS.get(expr.function)
    if operator is not None:
        return operator(compiler, expr, base)
    reference = compiler.reference(expr)
    assert reference is not None, "every call that was checked has a reference"
    args = reference.arguments(expr)
    lazy = _LAZY.get(reference.overloads[0].id)
    if lazy is not None:
        return lazy(compiler, args)
    return _strict_call(compiler, reference, args)


def _strict_call(compiler: Compiler, reference: Reference, args: Sequence[Expr]) -> Step:
    """A call whose arguments are all evaluated first."""
    steps = [compiler.compile(arg) for arg in args]
    operation = _Operation(reference.name, steps, *_implementation(compiler, reference))
    return _FUNCTIONS.get(reference.name, _plain)(operation)


def _implementation(compiler: Compiler, reference: Reference) -> tuple[Callable[..., Any], Cost | None]:
    overloads = reference.overloads
    if len(overloads) == 1:  # the checked implementation: a nullable field may hold null
        return overloads[0].impl, overloads[0].cost
    return compiler.functions[reference.name].dispatched()


def _plain(operation: _Operation) -> Step:
    runs, impl, cost = operation.runs(), operation.impl, operation.cost
    if len(runs) == 1:
        return Step(_unary(runs[0], impl, cost))
    if len(runs) == 2:
        return Step(_binary(runs[0], runs[1], impl, cost))
    return Step(_variadic(runs, impl, cost))


def _addition(operation: _Operation) -> Step:
    """``+`` watches how much it copies."""
    return Step(_limited(_plain(operation).run))


def _size(operation: _Operation) -> Step:
    """The size of raw JSON under a schema is its length; no carrier is needed."""
    step = operation.steps[0]
    if step.node is None or step.optional or step.node.nullable:
        return _plain(operation)
    return Step(_counted(step.run, len))


def _conversion(operation: _Operation) -> Step:
    """A conversion of a constant is evaluated when it is compiled, as cel-go's planner does."""
    step = operation.steps[0]
    if len(operation.steps) == 1 and step.is_constant:
        return constant(operation.impl(step.constant))
    return _plain(operation)


def _regex(operation: _Operation) -> Step:
    """A constant pattern is compiled with the program; then cel-go has another message for a wrong text."""
    pattern, impl = operation.steps[1], operation.impl
    if not (pattern.is_constant and isinstance(pattern.constant, str)):
        return _plain(operation)
    compiled(pattern.constant)  # an invalid pattern is an error now, as in cel-go

    def call(text: Any, *others: Any) -> Any:
        if text.__class__ is str:
            return impl(text, *others)
        raise CelError(_NO_OVERLOAD)

    return Step(_variadic(operation.runs(), call, operation.cost))


def _contains(operation: _Operation) -> Step:
    """``in`` where the container is not a constant list: it may be a carrier."""
    impl, (element, container) = operation.impl, operation.steps
    if (node := container.node) is not None and node.kind == "map" and not container.optional:
        within = partial(schema_aware.contains_key, node=node)  # of a map under a schema, only one member is entered
        return Step(_binary(element.value(), container.run, within, operation.cost))

    def contains(value: Any, container: Any) -> Any:
        if container.__class__ is list or container.__class__ is dict:
            return impl(value, container)
        return schema_aware.contains(container, value)

    operation.impl = contains
    return _plain(operation)


_FUNCTIONS: Final[dict[str, Callable[[_Operation], Step]]] = {
    "_+_": _addition,
    "@in": _contains,
    "size": _size,
    **dict.fromkeys(("matches", "find", "findAll"), _regex),
    **dict.fromkeys(_CONVERSIONS, _conversion),
}
"""The functions whose arguments are evaluated first, like any, and which need more than :func:`_plain` does."""


def _counted(run: Run, impl: Callable[[Any], Any]) -> Run:
    def call(frame: Frame) -> Any:
        frame[0] += 1
        try:
            return impl(run(frame))
        except BudgetExceeded:
            frame[0] -= 1  # the function was not called
            raise

    return call


def _unary(run: Run, impl: Callable[[Any], Any], cost: Cost | None) -> Run:
    if cost is None:
        return _counted(run, impl)

    def call(frame: Frame) -> Any:
        arg: Any = None
        try:
            arg = run(frame)
            result = impl(arg)
        except BudgetExceeded:
            raise
        except CelError as error:
            frame[0] += _charge(cost, (error if arg is None else arg,), error)
            raise
        frame[0] += cost((arg,), result)
        return result

    return call


def _charge(cost: Cost, args: tuple[Any, ...], result: Any) -> int:
    """The cost of a call that failed: an error is of size 1."""
    try:
        return cost(args, result)
    except (AttributeError, TypeError):
        return 1


def _binary(first: Run, second: Run, impl: Callable[[Any, Any], Any], cost: Cost | None) -> Run:
    """An error of the first argument ends the call before it costs anything, one of the second does not."""
    if cost is None:

        def call(frame: Frame) -> Any:
            a = first(frame)
            frame[0] += 1
            return impl(a, second(frame))

        return call

    def call_costed(frame: Frame) -> Any:
        a = first(frame)
        b, failure = logic.attempt(second, frame)
        if failure is None:
            try:
                result = impl(a, b)
            except BudgetExceeded:
                raise
            except CelError as error:
                failure = error
            else:
                frame[0] += cost((a, b), result)
                if frame[0] > frame[1]:
                    raise over_limit()  # cel-go stops here and charges no more
                return result
        frame[0] += _charge(cost, (a, b), failure)
        raise failure

    return call_costed


def _limited(add: Run) -> Run:
    def run(frame: Frame) -> Any:
        result = add(frame)
        if isinstance(result, list):
            frame[COPIED] += len(result)
        elif result.__class__ is str or result.__class__ is bytes:
            frame[COPIED] += len(result) // 8  # a pointer, as an element of a list is, has 8 bytes
        if frame[COPIED] > COPY_LIMIT:
            raise over_limit()
        return result

    return run


def _variadic(runs: Sequence[Run], impl: Callable[..., Any], cost: Cost | None) -> Run:
    """Any number of arguments: an error ends the call before it costs anything, except one of the last argument."""
    leading, last = runs[:-1], runs[-1] if runs else None

    def call(frame: Frame) -> Any:
        args = [run(frame) for run in leading]
        try:
            if last is not None:
                args.append(CelError(""))  # replaced by the argument, unless evaluating that fails
                args[-1] = last(frame)
            result = impl(*args)
        except BudgetExceeded:
            raise
        except CelError as error:
            frame[0] += 1 if cost is None else _charge(cost, tuple(args), error)
            raise
        frame[0] += 1 if cost is None else cost(tuple(args), result)
        return result

    return call


def _equality(expected: bool) -> Callable[[Compiler, Call, int], Step]:
    def build(compiler: Compiler, expr: Call, _base: int) -> Step:
        first, second = map(compiler.value, expr.args)

        def run(frame: Frame) -> bool:
            a = first(frame)
            b, failure = logic.attempt(second, frame)
            frame[0] += _equality_cost(a, b, is_equal=expected)
            if failure is not None:
                raise failure
            if a.__class__ in _PRIMITIVES:
                return equal(a, b) is expected
            comparison = Comparison()
            try:
                return comparison.equal(a, b) is expected
            except BudgetExceeded:
                raise
            except CelError:
                if expected:
                    raise
                return True  # values that cannot be compared are not equal
            finally:
                frame[COPIED] += comparison.steps.count
                if frame[COPIED] > COPY_LIMIT:
                    raise over_limit()

        return Step(run)

    return build


def _equality_cost(a: Any, b: Any, *, is_equal: bool) -> int:
    """A tenth of the shorter operand's length, rounded up; a value of a Kubernetes library costs 1 with ``==``."""
    if a.__class__ in _PRIMITIVES and a.__class__ is not str:
        return 0 if _length(b) == 0 else 1
    if is_equal and hasattr(a, "cel_type") and a.__class__ is not Empty:
        return 1
    return -(-min(_length(a), _length(b)) // 10)


def _length(value: Any) -> int:
    return len(value.raw) if value.__class__ is Struct else size_of(value)


def _membership(compiler: Compiler, expr: Call, _base: int) -> Step:
    reference = compiler.reference(expr)
    assert reference is not None
    step = compiler.compile(expr.args[1])
    if step.is_constant and reference.overloads[0].id == "in_list" and len(reference.overloads) == 1:
        if not step.constant:
            compiler.compile(expr.args[0])  # not evaluated, but an error in planning it counts
            return constant(False)
        if all(isinstance(element, (bool, int, float, str)) for element in step.constant):
            return Step(_set_membership(compiler.value(expr.args[0]), step.constant))
    return _strict_call(compiler, reference, expr.args)


def _set_membership(run: Run, elements: list[Any]) -> Run:
    """``x in [1, 2]``: look up in a set; cel-go charges nothing."""
    strings = frozenset(element for element in elements if element.__class__ is str)
    others = [element for element in elements if element.__class__ is not str]

    def member(frame: Frame) -> bool:
        value = run(frame)
        if value.__class__ is str:
            return value in strings
        return any(equal(element, value) for element in others)

    return member


def _lazy(chosen: Callable[[Opt], Any]) -> Callable[[Compiler, Sequence[Expr]], Step]:
    """``a.or(b)``, ``a.orValue(b)``: b is evaluated only if a is empty, and the call costs nothing."""

    def build(compiler: Compiler, args: Sequence[Expr]) -> Step:
        first, second = map(compiler.value, args)

        def run(frame: Frame) -> Any:
            optional = first(frame)
            if optional.__class__ is not Opt:
                raise CelError(_NO_OVERLOAD)
            return chosen(optional) if optional.present else second(frame)

        return Step(run)

    return build


_LAZY: Final = {
    "optional_or_optional": _lazy(lambda optional: optional),
    "optional_orValue_value": _lazy(lambda optional: optional.value),
}

_OPERATORS: Final[dict[str, Form]] = {
    "_&&_": logic.logical(decisive=False),
    "_||_": logic.logical(decisive=True),
    "_?_:_": logic.conditional,
    "_==_": _equality(expected=True),
    "_!=_": _equality(expected=False),
    "_[_]": attributes.compile_index,
    "_[?_]": attributes.compile_index,
    "_?._": attributes.compile_index,
    "@in": _membership,
    "@not_strictly_false": logic.not_strictly_false,
}
