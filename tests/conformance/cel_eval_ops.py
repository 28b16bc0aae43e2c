"""Operations that evaluate CEL: single rules, expressions over typed variables, library functions, costs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from tests.conformance.cel_describe import describe
from tests.conformance.compare import first
from webhook.cel import LATEST, Environment
from webhook.cel.errors import BudgetExceeded, CelError, CompileFailure
from webhook.cel.program import PER_CALL_LIMIT, RUNTIME_BUDGET, Budget, Program, build
from webhook.cel.syntax.parser import parse
from webhook.cel.types import BOOL, DYN
from webhook.cel.typing.checker import Checked, check
from webhook.cel.values import value as values
from webhook.cel.values.nodes import node_of
from webhook.cel.values.schema_aware import contains, schema_aware_value

Case = dict[str, Any]


def _equal(what: str, wanted: Any, got: Any) -> str | None:
    return None if _same(wanted, got) else f"{what}\n        wanted {wanted!r}\n        got    {got!r}"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    if a == b:
        return isinstance(a, bool) is isinstance(b, bool)
    return isinstance(a, (int, float)) and isinstance(b, (str, int, float)) and str(a) == str(b)


def cel_rule(case: Case) -> str | None:
    """One rule at the root of a schema: the outcome, the text of a run-time error, the cost."""
    given, expect = case["in"], case["expect"]
    env = Environment(LATEST).with_schema("self", given["schema"], is_root=given["isRoot"])
    env = env.with_schema("oldSelf", given["schema"], is_root=given["isRoot"])
    budget = Budget(given.get("costBudget", RUNTIME_BUDGET), given.get("perCallLimit", PER_CALL_LIMIT))
    bindings = {"self": given["obj"], "oldSelf": given.get("oldObj")}
    try:
        program = env.compile(given["rule"], expect=BOOL)
        if "oldSelf" in program.variables and bindings["oldSelf"] is None:
            return _equal("skipped", expect.get("skipped"), True)
        error = None if program.evaluate(bindings, budget) else f"failed rule: {given['rule'].strip()}"
    except CelError as failure:
        error = _error_text(failure, given["rule"].strip())
    except CompileFailure as failure:
        error = f"rule compile error: {failure.stage}: {failure}"
    wanted = [found["detail"] for found in case["actual"].get("errors", ())]
    cost = case["actual"].get("cost")
    flags = case.get("flags", ())
    cost_known = cost is not None and "actual-cost-depends-on-map-order" not in flags
    return first(
        None if expect["valid"] is (error is None) else f"valid: {expect['valid']}, but got {error}",
        _contains(expect.get("errorContains", ""), error or ""),
        _equal("error", wanted[0] if wanted else None, error) if wanted and "ERROR:" not in wanted[0] else None,
        _equal("cost", cost, budget.spent) if cost_known else None,
    )


def _error_text(failure: CelError, rule: str) -> str:
    if isinstance(failure, BudgetExceeded):
        if failure.message.startswith("operation"):
            text = "no further validation rules will be run due to call cost exceeds limit for rule"
            return f"'{failure.message}': {text}: {rule}"
        return failure.message
    if failure.message.startswith("no such overload"):
        text = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{failure.message}': {text}: {rule}"
    return f"{failure.message} evaluating rule: {rule}"


def _contains(wanted: str, got: str) -> str | None:
    return None if wanted in got else f"error\n        wanted …{wanted}…\n        got    {got}"


def cel_vars(case: Case) -> str | None:
    """An expression over variables that are ``dyn`` for the checker and know their schemas at run time."""
    given = case["in"]
    env = _Unvalidated(LATEST).extend(dict.fromkeys(given["vars"], DYN))
    bindings = {}
    for name, raw in given["vars"].items():
        schema = given["schemas"].get(name)
        node = None if schema is None else node_of(schema)
        bindings[name] = raw if node is None or raw is None else schema_aware_value(node.value(raw), node)
    return _evaluate(case, env, bindings, _compile_unvalidated)


class _Unvalidated(Environment):
    """As the test's environment, which lets the elements of a literal be of several types."""

    def check(self, source: str) -> Checked:
        return check(parse(source), self.declarations(), source)


def _compile_unvalidated(env: Environment, source: str) -> Program:
    return build(env.check(source), env)


def cel_vars_typed(case: Case) -> str | None:
    given = case["in"]
    env = Environment(LATEST)
    for name, schema in given["schemas"].items():
        env = env.with_schema(name, schema)
    return _evaluate(case, env, given["vars"])


def expression(case: Case) -> str | None:
    """An expression without variables, with every library."""
    return _evaluate(case, Environment(LATEST), {})


def expression_cost(case: Case) -> str | None:
    return _evaluate(case, Environment(LATEST), {})


def _evaluate(
    case: Case,
    env: Environment,
    bindings: dict[str, Any],
    compile_expression: Callable[[Environment, str], Program] = Environment.compile,
) -> str | None:
    expect, actual = case["expect"], case["actual"]
    budget = Budget()
    try:
        value = compile_expression(env, case["in"]["expr"]).evaluate(bindings, budget)
    except CompileFailure as failure:
        return _refused(expect, failure)
    except CelError as failure:
        return _failed(expect, failure)
    if "error" in expect or "compileErrors" in expect or "programError" in expect or "compileError" in expect:
        return f"error\n        wanted {expect}\n        got    value {describe(value)}"
    wanted = expect.get("value")
    if not isinstance(wanted, dict) or wanted.keys() != {"type", "value"}:
        wanted = {"type": "bool", "value": wanted}
    is_cost_known = actual.get("cost") is not None and "cost-differs-in-this-cel-go" not in case.get("flags", ())
    return first(
        _equal("value", wanted, describe(value)),
        _equal("cost", actual["cost"], budget.spent) if is_cost_known else None,
    )


def _refused(expect: dict[str, Any], failure: CompileFailure) -> str | None:
    messages = [issue.message for issue in failure.issues]
    if "compileErrors" in expect:
        wanted = expect["compileErrors"]
        broken = next((index for index, text in enumerate(wanted) if text.startswith("Syntax error: ")), None)
        end = None if broken is None else broken + 1  # ours ends with the first one
        return _equal("compile errors", wanted[:end], messages[:end])
    if "programError" in expect:
        return _equal("program error", expect["programError"], str(failure))
    if "compileErrorPatterns" in expect:
        missed = [p for p in expect["compileErrorPatterns"] if not any(re.search(p, m) for m in messages)]
        return f"no message like {missed}: {messages}" if missed else None
    return None if expect.get("compileError") else f"does not compile: {failure}"


def _failed(expect: dict[str, Any], failure: CelError) -> str | None:
    if expect.get("errorMatch") == "regexp" or expect.get("errorMatch") == "pattern":
        return None if re.search(expect["error"], failure.message) else f"error {failure.message}, wanted {expect}"
    if expect.get("errorMatch") == "contains":
        return _contains(expect["error"], failure.message)
    return _equal("error", expect.get("error", "no error"), failure.message)


def equality(case: Case) -> str | None:
    left, right = (
        schema_aware_value(node_of(side["schema"]).value(side["value"]), node_of(side["schema"]))
        for side in _sides(case)
    )
    try:
        got: Any = values.equal(left, right)
    except CelError as failure:
        got = failure.message
    return _equal("equal", case["expect"]["equal"], got)


def _sides(case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    return case["in"]["lhs"], case["in"]["rhs"]


def lister(case: Case) -> str | None:
    given = case["in"]
    node = node_of(given["schema"])
    items, addition = (schema_aware_value(given[name], node) for name in ("items", "addition"))
    return first(
        _equal("added", case["expect"]["added"], list(items + addition)),
        _equal("contains", True, all(contains(items, value) for value in items)),
        _equal("contains", False, any(contains(items, value) for value in given["notContains"])),
    )


def mapper(case: Case) -> str | None:
    given = case["in"]
    held = schema_aware_value(given["obj"], node_of(given["schema"]))
    return first(
        _equal("contains", True, all(contains(held, key) for key in given["obj"])),
        _equal("contains", False, any(contains(held, key) for key in given["notContains"])),
    )


OPS = {
    "cel-rule": cel_rule,
    "cel-vars": cel_vars,
    "cel-vars-typed": cel_vars_typed,
    "expr": expression,
    "equality": equality,
    "lister": lister,
    "mapper": mapper,
}
