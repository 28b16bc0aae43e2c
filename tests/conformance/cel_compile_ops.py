"""Operations that compile CEL without running it: types, environments by version, escaping, estimated costs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.conformance.compare import differs, first
from webhook.cel import LATEST, Environment
from webhook.cel.errors import CelError, CompileFailure
from webhook.cel.overload import Overload, free
from webhook.cel.program import Program
from webhook.cel.types import ANY, BOOL, DYN, STRING, Type, list_of, map_of, object_of
from webhook.cel.typing import schematypes
from webhook.cel.values.nodes import escape, unescape
from webhook.schema.crd.rules import Costs, RuleContext

Case = dict[str, Any]
_ANTLR = re.compile(r"Syntax error: .*", re.DOTALL)  # the rest is ANTLR's wording, and its recovery's next errors


def _environment(case: Case, rule: Mapping[str, Any] | None = None) -> Environment:
    given = case["in"]
    env = Environment(LATEST, stored=given.get("env", "stored") == "stored")
    env = env.with_schema("self", given["schema"], is_root=given["isRoot"])
    if env.stored:
        env = env.extend(functions=[free("fakeFunction", "fakeFunction", (STRING,), STRING, str.upper)])
    optional = bool(rule and rule.get("optionalOldSelf"))
    return env.with_schema(
        "oldSelf", given["schema"], is_root=given["isRoot"], optional=optional, type_name="selfType#"
    )


def _compile(env: Environment, source: str, expect: Type) -> Program | str:
    """The program; or the text that the API server has for what is wrong, without its prefix."""
    try:
        return env.compile(source, expect=expect)
    except CompileFailure as failure:
        return f"{failure.stage}: {failure}" if failure.stage else f"must evaluate to a {expect}"


def cel_compile(case: Case) -> str | None:
    """Each rule of a schema: its error or estimated costs, and whether it is a transition rule."""
    rules = case["in"]["schema"]["x-kubernetes-validations"]
    got = [_compiled_rule(case, rule) for rule in rules]
    wanted = [{key: _plain(value) for key, value in one.items()} for one in case["actual"]["rules"]]
    return differs("rules", wanted, got)


def _compiled_rule(case: Case, rule: Mapping[str, Any]) -> dict[str, Any]:
    result = {"error": None, "maxCardinality": 0, "maxCost": 0, "usesOldSelf": False}
    result |= {"messageExpressionError": None, "messageExpressionMaxCost": 0}
    if not rule["rule"].strip():
        return result
    env = _environment(case, rule)
    compiled = _compile(env, rule["rule"], BOOL)
    if isinstance(compiled, str):
        text = "cel expression must evaluate to a bool" if compiled.startswith("must") else compiled
        return result | {"error": _plain(f"RuleInvalid: {text}")}
    declared = env.sizes("self")
    result["maxCardinality"] = declared.occurrences if declared else None
    result |= {"maxCost": env.estimate(rule["rule"]).max, "usesOldSelf": "oldSelf" in compiled.variables}
    if rule.get("messageExpression"):
        message = _compile(env, rule["messageExpression"], STRING)
        if isinstance(message, str):
            separator = " " if message.startswith(("must", "compilation")) else ""
            return result | {"messageExpressionError": _plain(f"messageExpression{separator}{message}")}
        result["messageExpressionMaxCost"] = env.estimate(rule["messageExpression"]).max
    return result


def _plain(value: Any) -> Any:
    return _ANTLR.sub("Syntax error", value) if isinstance(value, str) else value


def cel_cost(case: Case) -> str | None:
    (rule,) = case["in"]["schema"]["x-kubernetes-validations"]
    env = _environment(case)
    cost = env.estimate(rule["rule"]).max
    declared = env.sizes("self")
    actual = case["actual"]
    if "maxCardinality" not in actual:
        return differs("cost", actual["cost"], cost)
    got = declared.occurrences if declared else None
    return first(
        differs("cost", actual["cost"], cost),
        differs("cardinality", actual["maxCardinality"], got),
    )


def max_elements(case: Case) -> str | None:
    declared = schematypes.declare(case["in"]["schema"], name="self")
    return differs("elements", case["actual"]["maxElements"], None if declared is None else declared.max_elements)


def max_cardinality(case: Case) -> str | None:
    top, *below = case["in"]["schemas"]
    context = RuleContext(top)
    for schema in below:
        context = context.child(schema)
    return differs("cardinality", case["actual"]["maxCardinality"], context.cardinality)


def crd_total_cost(case: Case) -> str | None:
    costs = Costs()
    for index, cost in enumerate(case["in"]["costs"]):
        costs.add(str(index), cost)
    got = {"total": costs.total, "mostExpensive": [cost for cost, _ in costs.expensive]}
    return differs("total", case["expect"], got)


def escape_op(case: Case) -> str | None:
    given, expect = case["in"], case["expect"]
    if "escaped" in given:
        return differs("unescaped", expect.get("unescaped"), unescape(given["escaped"]))
    escaped = escape(given["unescaped"])
    back = None if escaped is None else unescape(escaped)
    return first(
        differs("escaped", expect.get("escaped"), escaped),
        differs("and back", given["unescaped"] if expect["escapable"] else None, back),
    )


def _constant(function: str, value: Any) -> Overload:
    return free(function, function, (), BOOL, lambda: value)


_LIBRARY_0 = {"test": True}
_LIBRARY_1 = {"test": False, "testV1": True}
_LIBRARY_1_SINCE = (1, 28)

# the variables that the upstream test declares: type, value, the version each came with
_WIDGET = object_of("Widget", {"x": STRING})
_GADGET = object_of("Gadget", {"__namespace__": STRING})
_DECLARED: dict[str, tuple[Type, Any, tuple[int, int]]] = {
    "fizz": (STRING, "buzz", (1, 28)),
    "widget": (_WIDGET, {"x": "buzz"}, (1, 28)),
    "gadget": (_GADGET, {"namespace": "buzz"}, (1, 28)),
}
_REMOVED = (1, 29)  # the version that takes a variable away again, in the cases so called


def env_version(case: Case) -> str | None:
    given = case["in"]
    major, minor = map(int, given["version"].split("."))
    env = Environment((major, minor), stored=given["env"] == "stored").extend({"authorizer": DYN})
    removed = "removed" in case["name"] and env.at_least(_REMOVED)
    for name, (of, _, since) in _DECLARED.items():
        if env.at_least(since) and not removed:
            env = env.extend({name: of})
    functions = _LIBRARY_1 if env.at_least(_LIBRARY_1_SINCE) else _LIBRARY_0
    env = env.extend(functions=(_constant(name, value) for name, value in functions.items()))
    try:
        program = env.compile(given["expr"])
        values = {name: value for name, (_, value, _) in _DECLARED.items()}
        # an authorizer is decided outside, so that one is compiled only
        valid = "authorizer" in program.variables or program.evaluate(values) is True
    except (CompileFailure, CelError):
        valid = False
    return differs("valid", case["expect"]["valid"], valid)


# authentication configuration and webhook match conditions: apiserver/pkg/{authentication,authorization}/cel

_GROUPS = list_of(STRING)
_EXTRA = map_of(STRING, _GROUPS)
_USER = object_of("kubernetes.UserInfo", {"username": STRING, "uid": STRING, "groups": _GROUPS, "extra": _EXTRA})
_SCOPES = {"claims": {"claims": map_of(STRING, ANY)}, "user": {"user": _USER}}
_REQUIREMENT = object_of("kubernetes.SelectorRequirement", {"key": STRING, "operator": STRING, "values": _GROUPS})
_SELECTOR = {"rawSelector": STRING, "requirements": list_of(_REQUIREMENT)}
_RESOURCE = object_of(
    "kubernetes.ResourceAttributes",
    {
        **dict.fromkeys(("namespace", "verb", "group", "version", "resource", "subresource", "name"), STRING),
        "fieldSelector": object_of("kubernetes.FieldSelectorAttributes", _SELECTOR),
        "labelSelector": object_of("kubernetes.LabelSelectorAttributes", _SELECTOR),
    },
)
_REVIEW = object_of(
    "kubernetes.SubjectAccessReviewSpec",
    {
        "resourceAttributes": _RESOURCE,
        "nonResourceAttributes": object_of("kubernetes.NonResourceAttributes", {"path": STRING, "verb": STRING}),
        "user": STRING,
        "groups": _GROUPS,
        "extra": _EXTRA,
        "uid": STRING,
    },
)


def authn_compile(case: Case) -> str | None:
    given = case["in"]
    expect = BOOL if given["accessor"].endswith("Condition") else None
    return _auth(Environment(LATEST).extend(_SCOPES[given["scope"]]), case, expect, "")


def authz_compile(case: Case) -> str | None:
    return _auth(Environment(LATEST).extend({"request": _REVIEW}), case, BOOL, " but got ")


def _auth(env: Environment, case: Case, expect: Type | None, but_got: str) -> str | None:
    source = case["in"]["expr"]
    error = None
    try:
        env.compile(source, expect=expect)
    except CompileFailure as failure:
        found = f"{but_got}{env.check(source).result}" if but_got and not failure.stage else ""
        error = f"{failure.stage}: {failure}" if failure.stage else f"{failure}{found}"
    return differs("error", _plain(case["actual"].get("error")), _plain(error))


OPS = {
    "cel-compile": cel_compile,
    "cel-cost": cel_cost,
    "max-elements": max_elements,
    "max-cardinality": max_cardinality,
    "crd-total-cost": crd_total_cost,
    "escape": escape_op,
    "env-version": env_version,
    "authn-compile": authn_compile,
    "authz-compile": authz_compile,
}
