"""Operations on the function libraries alone: values, compile errors, and costs without constant folding."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tests.conformance.cel_describe import describe
from tests.conformance.compare import differs, first
from webhook.cel import LATEST, Environment
from webhook.cel.cost.estimate import estimate
from webhook.cel.cost.runtime import LIST_CREATE, MAP_CREATE, call_cost
from webhook.cel.cost.sizes import Bounds
from webhook.cel.errors import CelError, CompileFailure
from webhook.cel.interpreter.compiler import COST, Compiler, Frame, Run, Step
from webhook.cel.interpreter.plan import FORMS, Plan
from webhook.cel.library.authorizer import Authorizer, Decision
from webhook.cel.library.strings import JSON_PATCH
from webhook.cel.program import PER_CALL_LIMIT
from webhook.cel.syntax.ast import Call, Comprehension, Const, Expr
from webhook.cel.syntax.parser import parse
from webhook.cel.types import Type
from webhook.cel.typing.checker import check
from webhook.cel.typing.declarations import Function

Case = dict[str, Any]
AUTHORIZER = Authorizer(lambda _question: Decision(allowed=True))


def cel_eval(case: Case) -> str | None:
    """A library's function: its value, its error, or why the call does not compile."""
    expect = case["expect"]
    try:
        value = Environment(LATEST).compile(case["in"]["expr"]).evaluate({})
    except CompileFailure as failure:
        messages = [issue.message for issue in failure.issues]
        patterns = expect.get("compileErrorPatterns", ["(?!)"])
        missed = [p for p in patterns if not any(re.search(p, message) for message in messages)]
        return f"no message like {missed}: {messages}" if missed else None
    except CelError as failure:
        wanted = expect.get("error", "(?!)")
        found = re.search(wanted, failure.message) if expect["errorMatch"] == "pattern" else wanted in failure.message
        return None if found else f"error {failure.message!r}, wanted {expect}"
    return differs("value", expect.get("value"), describe(value))


def cel_eval_cost(case: Case) -> str | None:
    """The cost of a call whose arguments are not folded away, and what it is estimated to be before."""
    expect = case["expect"]
    env = Environment(LATEST).extend({"authorizer": Authorizer.cel_type}, functions=JSON_PATCH)
    source = case["in"]["expr"]
    declarations = env.declarations()
    patch = {each.function: Function.of(each.function, (each,)) for each in JSON_PATCH}
    declarations = replace(declarations, functions={**declarations.functions, **patch})
    checked = check(parse(source), declarations, source)  # lists of mixed types allowed
    compiler = _Unfolded(checked, declarations.functions, {}, FORMS)
    run = compiler.value(checked.expr)
    plan = Plan(run, tuple(compiler.globals), compiler.local_slots)
    frame = plan.frame({"authorizer": AUTHORIZER}, PER_CALL_LIMIT, None)
    value = run(frame)
    bounds = estimate(checked, _text_is_short)
    opaque = case["actual"]["value"]["type"].startswith("kubernetes.authorization.")
    return first(
        None if opaque else differs("value", case["actual"]["value"], describe(value)),
        differs("cost", expect.get("cost", case["actual"]["cost"]), frame[COST]),
        differs("estimate", [expect["estimatedMin"], expect["estimatedMax"]], [bounds.min, bounds.max]),
    )


def _text_is_short(_path: tuple[str, ...], of: Type) -> Bounds | None:
    """What the upstream test assumes of every string and bytes."""
    return Bounds(0, 12) if of.kind in ("string", "bytes") else None


class _Unfolded(Compiler):
    """The tables of costs were made without constant folding: here a literal list is made each time."""

    def compile(self, expr: Expr, base: int = 1) -> Step:
        step = super().compile(expr, base)
        if isinstance(expr, Comprehension) and expr.macro in _COLLECTING:
            return Step(_making_first(_COLLECTING[expr.macro], step.value()))
        if not step.is_constant or isinstance(expr, Const):
            return step
        value = step.constant
        if not isinstance(expr, Call):
            return Step(_charging(LIST_CREATE if isinstance(value, list) else MAP_CREATE, value))
        overloads = self.checked.references[expr].overloads
        cost = call_cost(expr.function, overloads[0].id if len(overloads) == 1 else "")
        args = tuple(self.value(arg)([0, 0, None]) for arg in expr.args)
        return Step(_charging(1 if cost is None else cost(args, value), value))


_COLLECTING = {
    **dict.fromkeys(("map", "filter", "transformList"), LIST_CREATE),
    **dict.fromkeys(("transformMap", "transformMapEntry"), MAP_CREATE),
}


def _making_first(cost: int, run: Run) -> Run:
    """The empty list or map that such a macro begins with, which its closure does not make."""

    def make(frame: Frame) -> Any:
        frame[0] += cost
        return run(frame)

    return make


def _charging(cost: int, value: Any) -> Run:
    def run(frame: Frame) -> Any:
        frame[0] += cost
        return value

    return run


OPS = {"cel-eval": cel_eval, "cel-eval-cost": cel_eval_cost}
