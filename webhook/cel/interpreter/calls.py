"""Closures for calls: operators, equality, logic, functions with one or several overloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from webhook.cel.cost.runtime import call_cost, size_of
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.interpreter import attributes, logic
from webhook.cel.interpreter.frame import COPIED, COPY_LIMIT, Frame, Run, Step, constant, over_limit
from webhook.cel.library.regex import compiled
from webhook.cel.overload import Cost, Overload, dispatcher
from webhook.cel.syntax.ast import Call, Expr
from webhook.cel.values import schema_aware
from webhook.cel.values.schema_aware import Struct
from webhook.cel.values.value import Opt, equal

if TYPE_CHECKING:
    from webhook.cel.interpreter.compiler import Compiler

__all__ = ["CONVERSIONS", "compile_call", "is_open"]

_NO_OVERLOAD = "no such overload"
CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
"""The functions that cel-go's planner evaluates when their argument is a constant."""
_REGEX = {"matches": 1, "find": 1, "findAll": 1}
"""Functions whose pattern, if constant, is compiled with the program, by the position of the pattern."""
_PRIMITIVES = frozenset({bool, int, float, str}) | {type(None)}


def compile_call(compiler: Compiler, expr: Call, base: int) -> Step:
    special = _SPECIAL.get(expr.function)
    if special is not None:
        return special(compiler, expr, base)
    reference = compiler.reference(expr)
    assert reference is not None, "every call that was checked has a reference"
    overloads = reference.overloads
    args = expr.args if expr.target is None or reference.namespaced else (expr.target, *expr.args)
    if overloads[0].id in _LAZY:
        return _LAZY[overloads[0].id](compiler, args)
    return _call(compiler, reference.name, overloads, args)


def _call(compiler: Compiler, function: str, overloads: Sequence[Overload], args: Sequence[Expr]) -> Step:
    steps = [compiler.compile(arg) for arg in args]
    impl, cost = _implementation(compiler, function, overloads)
    if function == "@in":
        impl = _among(impl)
    if function == "size" and steps[0].node is not None and not steps[0].optional and not steps[0].node.nullable:
        return Step(_counted(steps[0].run, len))
    has_pattern = function in _REGEX and steps[1].is_constant and isinstance(steps[1].constant, str)
    if has_pattern:
        compiled(steps[1].constant)  # a pattern that is none is found now, as cel-go does
        impl = _of_text(impl)
    if len(steps) == 1 and function in CONVERSIONS and steps[0].is_constant:
        return constant(impl(steps[0].constant))
    runs = [step.value() for step in steps]
    if len(runs) == 1:
        return Step(_unary(runs[0], impl, cost))
    if len(runs) == 2 and not has_pattern:
        run = _binary(runs[0], runs[1], impl, cost)
        return Step(_limited(run) if function == "_+_" else run)
    return Step(_variadic(runs, impl, cost))


def _of_text(impl: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a compiled pattern, for which cel-go has another message."""

    def call(text: Any, *others: Any) -> Any:
        if text.__class__ is str:
            return impl(text, *others)
        raise CelError(_NO_OVERLOAD)

    return call


def _implementation(
    compiler: Compiler, function: str, overloads: Sequence[Overload]
) -> tuple[Callable[..., Any], Cost | None]:
    if len(overloads) == 1:  # its arguments are checked: what the schema allows to be null may be null
        return overloads[0].impl, overloads[0].cost
    declared = compiler.functions[function]
    everything = [signature.overload for signature in (*declared.free, *declared.member)]
    return dispatcher(everything), call_cost(function)


def _among(impl: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def member(value: Any, container: Any) -> Any:
        if container.__class__ is list or container.__class__ is dict:
            return impl(value, container)
        return schema_aware.contains(container, value)

    return member


def is_open(of: Any) -> bool:
    """Whether a value of the type may be of another type at run time than an overload asks for (null fits many)."""
    return of.kind in ("dyn", "any", "param", "null") or any(map(is_open, of.params))


def _counted(run: Run, impl: Callable[[Any], Any]) -> Run:
    def call(frame: Frame) -> Any:
        frame[0] += 1
        try:
            return impl(run(frame))
        except BudgetExceeded:
            frame[0] -= 1  # never called
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
            frame[0] += charge(cost, (error if arg is None else arg,), error)
            raise
        frame[0] += cost((arg,), result)
        return result

    return call


def charge(cost: Cost, args: tuple[Any, ...], result: Any) -> int:
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
                    raise over_limit()  # cel-go stops there, and charges no more
                return result
        frame[0] += charge(cost, (a, b), failure)
        raise failure

    return call_costed


def _limited(add: Run) -> Run:
    def run(frame: Frame) -> Any:
        result = add(frame)
        if isinstance(result, list):
            frame[COPIED] += len(result)
        elif result.__class__ is str or result.__class__ is bytes:
            frame[COPIED] += len(result) // 8  # as many as a pointer has
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
                args.append(CelError(""))  # in whose place the argument comes, if it is no error
                args[-1] = last(frame)
            result = impl(*args)
        except BudgetExceeded:
            raise
        except CelError as error:
            frame[0] += 1 if cost is None else charge(cost, tuple(args), error)
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
            frame[0] += equality_cost(a, b, is_equal=expected)
            if failure is not None:
                raise failure
            try:
                return equal(a, b) is expected
            except CelError:
                if expected:
                    raise
                return True  # != says only that the values are not equal

        return Step(run)

    return build


def equality_cost(a: Any, b: Any, *, is_equal: bool) -> int:
    """A tenth of the shorter operand's length, rounded up; a value of a Kubernetes library costs 1 with ``==``."""
    if a.__class__ in _PRIMITIVES and a.__class__ is not str:
        return 0 if _size(b) == 0 else 1
    if is_equal and hasattr(a, "cel_type"):
        return 1
    return -(-min(_size(a), _size(b)) // 10)


def _size(value: Any) -> int:
    return len(value.raw) if value.__class__ is Struct else size_of(value)


def _membership(compiler: Compiler, expr: Call, _base: int) -> Step:
    reference = compiler.reference(expr)
    assert reference is not None
    step = compiler.compile(expr.args[1])
    if step.is_constant and reference.overloads[0].id == "in_list" and len(reference.overloads) == 1:
        if not step.constant:
            compiler.compile(expr.args[0])  # never evaluated, but what cannot be planned is an error here, too
            return constant(False)
        if all(element.__class__ in _PRIMITIVES or isinstance(element, int) for element in step.constant):
            return Step(_set_membership(compiler.value(expr.args[0]), step.constant))
    return _call(compiler, reference.name, reference.overloads, expr.args)


def _set_membership(run: Run, elements: list[Any]) -> Run:
    """``x in [1, 2]``: a look-up in a set, which costs nothing."""
    strings = frozenset(element for element in elements if element.__class__ is str)
    others = [element for element in elements if element.__class__ is not str]

    def member(frame: Frame) -> bool:
        value = run(frame)
        if value.__class__ is str:
            return value in strings
        return any(equal(element, value) for element in others)

    return member


def _optional_or(compiler: Compiler, args: Sequence[Expr]) -> Step:
    return _lazy(compiler, args, lambda optional: optional)


def _optional_or_value(compiler: Compiler, args: Sequence[Expr]) -> Step:
    return _lazy(compiler, args, lambda optional: optional.value)


def _lazy(compiler: Compiler, args: Sequence[Expr], chosen: Callable[[Opt], Any]) -> Step:
    """``a.or(b)``, ``a.orValue(b)``: b is evaluated only if a is empty, and the call costs nothing."""
    first, second = map(compiler.value, args)

    def run(frame: Frame) -> Any:
        optional = first(frame)
        if optional.__class__ is not Opt:
            raise CelError(_NO_OVERLOAD)
        return chosen(optional) if optional.present else second(frame)

    return Step(run)


_LAZY = {"optional_or_optional": _optional_or, "optional_orValue_value": _optional_or_value}

_SPECIAL: dict[str, Callable[[Compiler, Call, int], Step]] = {
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
