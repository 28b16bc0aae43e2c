"""Closures for ``&&``, ``||``, ``?:`` and the condition of a loop: some of them absorb errors, some do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.interpreter.compiler import Compiler, Frame, Run, Step
from webhook.cel.syntax.ast import Call

_NO_OVERLOAD: Final = "no such overload"


def logical(decisive: bool) -> Callable[[Compiler, Call, int], Step]:
    """``&&`` (decided by false) and ``||`` (by true): the deciding value wins over errors before and after it."""

    def build(compiler: Compiler, expr: Call, _base: int) -> Step:
        terms = [compiler.value(term) for term in expr.terms()]

        def run(frame: Frame) -> bool:
            failure = None
            for term in terms:
                try:
                    value = term(frame)
                except BudgetExceeded:
                    raise
                except CelError as error:
                    failure = failure or error
                    continue
                if value is decisive:
                    return value is True
                if value.__class__ is not bool:
                    failure = failure or CelError(_NO_OVERLOAD)
            if failure is not None:
                raise failure
            return not decisive

        return Step(run)

    return build


def conditional(compiler: Compiler, expr: Call, _base: int) -> Step:
    condition = compiler.value(expr.args[0])
    # cel-go resolves a branch that is an attribute without observing it: its variable costs nothing.
    then, other = (compiler.compile(arg, 0) for arg in expr.args[1:])
    node = then.node
    if then.node is not other.node or then.optional is not other.optional:
        then, other, node = Step(then.value()), Step(other.value()), None
    run_then, run_other = then.run, other.run

    def run(frame: Frame) -> Any:
        chosen = condition(frame)
        if chosen is True:
            return run_then(frame)
        if chosen is False:
            return run_other(frame)
        raise CelError(_NO_OVERLOAD)

    return Step(run, node, node is not None and then.optional)


def not_strictly_false(compiler: Compiler, expr: Call, _base: int) -> Step:
    inner = compiler.value(expr.args[0])

    def run(frame: Frame) -> bool:
        frame[0] += 1
        return attempt(inner, frame)[0] is not False

    return Step(run)


def attempt(run: Run, frame: Frame) -> tuple[Any, CelError | None]:
    """The value and None; or the error, twice."""
    try:
        return run(frame), None
    except BudgetExceeded:
        raise
    except CelError as error:
        return error, error
