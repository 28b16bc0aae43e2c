"""Operations on ValidatingAdmissionPolicy: expressions and budgets, variables, decisions, conditions, type checks."""

from __future__ import annotations

from typing import Any

from tests.conformance.cel_describe import describe
from tests.conformance.compare import differs, first
from tests.conformance.native_inputs import attributes_of, decider, evaluation_of, match_resources
from webhook.admission.decision import GroupVersionKind
from webhook.cel import LATEST, Environment
from webhook.cel.errors import BudgetExceeded
from webhook.cel.library.authorizer import Authorizer, ResourceCheck
from webhook.cel.overload import free
from webhook.cel.program import PER_CALL_LIMIT, RUNTIME_BUDGET, Budget
from webhook.cel.types import BOOL, NULL, STRING
from webhook.vap.attributes import GroupVersionResource
from webhook.vap.compiled import ConditionError, conditions_hold
from webhook.vap.context import Equivalent, MemoryContext
from webhook.vap.environments import admission_environment, bindings_of, namespace_value, with_variables
from webhook.vap.expressions import EvaluationScope, VariableSet, compile_expression
from webhook.vap.models import ParamKind, ValidatingPolicy, ValidatingSpec, Validation, Variable
from webhook.vap.validating.typecheck import kinds_to_check, type_warnings
from webhook.vap.validating.validator import Annotation, PolicyDecision, ValidationSource, annotate, conclude, failed

Case = dict[str, Any]
RESULTS = {
    "expression": (BOOL,),
    "matchCondition": (BOOL,),
    "messageExpression": (STRING,),
    "auditAnnotation.valueExpression": (STRING, NULL),
}


def vap_compile(case: Case) -> str | None:
    given = case["in"]
    stored = given["env"] == "stored"
    env = admission_environment(LATEST, stored=stored, params=given["hasParams"], authorizer=given["hasAuthorizer"])
    if stored:
        env = env.extend(functions=[free("test", "test", (), BOOL, lambda: True)])
    compiled = compile_expression(env, given["expr"], RESULTS[given["role"]])
    return differs("error", case["actual"].get("error"), compiled.error or None)


def _scope(case: Case, variables: VariableSet, budget: Budget) -> EvaluationScope:
    given = case["in"]
    attributes = attributes_of(given["attributes"])
    context = MemoryContext()
    matched = Equivalent(attributes.resource, attributes.kind)
    namespace = namespace_value(given.get("namespaceObject"))
    bindings = bindings_of(attributes, matched, context, given.get("params"), namespace)
    if given.get("authorizer"):
        decide = decider(given["authorizer"])
        own = bindings["authorizer.requestResource"].question
        bindings |= {"authorizer": Authorizer(decide), "authorizer.requestResource": ResourceCheck(decide, own)}
    return EvaluationScope(bindings, variables, budget)


def _environment(given: Case) -> Environment:
    major, minor = map(int, given.get("version", "1.37").split("."))
    stored = given.get("envType", "StoredExpressions") == "StoredExpressions"
    authorizer = "authorizer" in given
    return admission_environment((major, minor), stored=stored, params=given["hasParamKind"], authorizer=authorizer)


def vap_eval(case: Case) -> str | None:
    given, actual = case["in"], case["actual"]
    env = _environment(given)
    budget = Budget(given.get("costBudget", RUNTIME_BUDGET), given.get("perCallLimit", PER_CALL_LIMIT))
    scope = _scope(case, VariableSet(), budget)
    results, error = [], None
    try:
        for source in given["exprs"]:
            found = scope.evaluate(compile_expression(env, source, (BOOL,)))
            results.append({"value": describe(found.value)} if found.error is None else {"error": found.error})
    except BudgetExceeded as exceeded:
        results, error = [], exceeded.message
    remaining = -1 if error else budget.remaining if "costBudget" not in given else given["costBudget"] - budget.spent
    return first(
        differs("results", actual["results"], results),
        differs("error", actual.get("error"), error),
        differs("remaining", actual["remaining"], remaining) if "remaining" in actual else None,
    )


def vap_composition(case: Case) -> str | None:
    given, actual = case["in"], case["actual"]
    env = admission_environment(LATEST, params="params" in given)
    variables = VariableSet()
    for variable in given["variables"]:
        variables.add(env, variable["Name"], variable["Expression"])
    budget = Budget(given["costBudget"])
    compiled = compile_expression(with_variables(env, variables.types), given["expr"])
    try:
        found = _scope(case, variables, budget).evaluate(compiled)
    except BudgetExceeded as exceeded:
        return differs("error", actual.get("error"), exceeded.message)
    if found.error is not None:
        return differs("error", actual.get("error"), found.error)
    return first(
        differs("error", actual.get("error"), None),
        differs("value", actual.get("value"), describe(found.value)),
        differs("cost", actual["remaining"], given["costBudget"] - budget.spent) if "remaining" in actual else None,
    )


_SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"


def vap_decisions(case: Case) -> str | None:
    """Of evaluations that are given; as the table's stand-in for a filter, each group of them costs 1."""
    decisions, annotations = _decide(case["in"])
    wanted = [{key: value for key, value in one.items() if key != "Elapsed"} for one in case["actual"]["decisions"]]
    wanted_audit = [
        {key: value for key, value in one.items() if key != "Elapsed"} for one in case["actual"]["auditAnnotations"]
    ]
    got = [
        {"Action": d.action, "Evaluation": d.evaluation, "Message": d.message, "Reason": d.reason} for d in decisions
    ]
    got_audit = [{"Action": a.action, "Error": a.error, "Key": a.key, "Value": a.value} for a in annotations]
    return first(differs("decisions", wanted, got), differs("audit", wanted_audit, got_audit))


def _decide(given: Case) -> tuple[list[PolicyDecision], list[Annotation]]:
    ignore = given.get("failurePolicy") == "Ignore"
    matcher = given.get("matcher")
    if matcher and matcher["error"]:
        return [failed(matcher["error"]["s"], ignore=ignore)], []
    if matcher and not matcher["matches"]:
        return [], []
    if given["throwError"] or given["costBudget"] <= 0:
        return [failed("test error" if given["throwError"] else _SPENT, ignore=ignore)], []
    accessors = [item["ExpressionAccessor"] for item in given.get("evaluations", ())]
    said = [ValidationSource(item["Expression"], item["Message"], item["Reason"]) for item in accessors]
    overspent = _SPENT if given["costBudget"] <= 1 else ""
    messages = [] if overspent else [evaluation_of(item) for item in given.get("messageEvaluations", ())]
    evaluations = [evaluation_of(item) for item in given.get("evaluations", ())]
    decisions = conclude(said, evaluations, messages, ignore=ignore, overspent=overspent)
    audit = [
        annotate(accessor["Key"], accessor["ValueExpression"], evaluation_of(item), ignore=ignore)
        for item in given.get("auditEvaluations", ())
        if (accessor := item["ExpressionAccessor"])
    ]
    return decisions, audit


def match_conditions(case: Case) -> str | None:
    given, actual = case["in"], case["actual"]
    evaluations = [evaluation_of(item) for item in given["evaluations"]]
    ignore = given.get("failurePolicy") == "Ignore"
    if given["throwError"]:
        matches, error = False, None if ignore else "test error"
    else:
        error = None
        try:
            matches = conditions_hold(evaluations, ignore=ignore)
        except ConditionError as failure:
            matches, error = False, str(failure)
    return first(differs("matches", actual["matches"], matches), differs("error", actual.get("error"), error))


_KINDS = {
    GroupVersionResource("apps", "v1", "deployments"): GroupVersionKind("apps", "v1", "Deployment"),
    GroupVersionResource("", "v1", "pods"): GroupVersionKind("", "v1", "Pod"),
    GroupVersionResource("example.com", "v1alpha1", "reproducers"): GroupVersionKind(
        "example.com", "v1alpha1", "Reproducer"
    ),
}


def _kinds_for(resource: GroupVersionResource) -> list[GroupVersionKind]:
    return [_KINDS[resource]] if resource in _KINDS else []


def types_to_check(case: Case) -> str | None:
    given = case["in"]["policy"]["spec"].get("matchConstraints") or {}
    kinds = kinds_to_check(match_resources(given).resourceRules, _kinds_for)
    got = [{"Group": kind.group, "Kind": kind.kind, "Version": kind.version} for kind in kinds]
    return differs("types", case["expect"]["types"], got)


def typecheck(case: Case) -> str | None:
    spec, schema = case["in"]["policy"]["spec"], case["in"].get("schema")
    params = spec.get("paramKind")
    policy = ValidatingPolicy.model_construct(
        spec=ValidatingSpec.model_construct(
            matchConstraints=match_resources(spec.get("matchConstraints") or {}),
            paramKind=ParamKind(**params) if params else None,
            variables=[Variable(**item) for item in spec.get("variables", ())],
            validations=[Validation(**item) for item in spec.get("validations", ())],
        )
    )
    found = type_warnings(policy, _kinds_for, lambda _: schema)
    return differs("warnings", case["expect"]["warnings"], [{"fieldRef": w.field, "warning": w.text} for w in found])


OPS = {
    "vap-compile": vap_compile,
    "vap-eval": vap_eval,
    "vap-eval-budget": vap_eval,
    "vap-composition": vap_composition,
    "vap-decisions": vap_decisions,
    "match-conditions": match_conditions,
    "vap-types-to-check": types_to_check,
    "vap-typecheck": typecheck,
}
